/**
 * A host that edits a workflow without a canvas: the table of nodes, the inspector, and the
 * problems. What it shows is in the part of the address behind `#`.
 */
import type { Workflow, WorkflowValidation } from "@millrace/api/PromiseClient"
import { createClient } from "@millrace/api/PromiseClient"
import type { Theme } from "@millrace/react"
import { Millrace, useNodeTypes, useWorkflow } from "@millrace/react"
import { useCallback, useEffect, useState } from "react"
import { createRoot } from "react-dom/client"
import { Inspector } from "../../../src/internal/editor/Inspector.tsx"
import { NodesTable } from "../../../src/internal/editor/NodesTable.tsx"
import { ProblemsBar, useProblems } from "../../../src/internal/editor/ProblemsBar.tsx"
import { applied } from "../../../src/model/editing/Change.ts"
import type { Command } from "../../../src/model/editing/Command.ts"
import { changeOf } from "../../../src/model/editing/Command.ts"
import type { WorkflowDocument } from "../../../src/model/editing/Document.ts"
import { documentOf } from "../../../src/model/editing/Document.ts"
import type { FieldPlace } from "../../../src/model/editing/PlacedProblems.ts"

/** What a test wants to see. */
export interface ShownEditor {
  readonly apiKey: string
  readonly workflowId: string
  readonly nodeId?: string
  readonly lastRunId?: string
  readonly theme?: Theme
  readonly nonce: string
}

const shown = JSON.parse(decodeURIComponent(location.hash.slice(1))) as ShownEditor
const { apiKey, lastRunId, nonce, theme = "light", workflowId } = shown
const client = createClient({ url: location.origin, apiKey })

/** What tests look at. */
const told = window as unknown as {
  document_: WorkflowDocument
  onCommand: (command: Command) => void
}

const useDraft = (workflow: Workflow) => {
  const [document, setDocument] = useState(() => documentOf(workflow))
  const [validation, setValidation] = useState<WorkflowValidation>()
  const onCommand = useCallback(
    (command: Command) => setDocument((before) => applied(before, changeOf(before, command))),
    [],
  )
  useEffect(() => {
    Object.assign(told, { document_: document, onCommand })
    const { edges, nodes } = document
    const stop = new AbortController()
    const { signal } = stop
    void client.workflows
      .validate(workflowId, { nodes, edges }, { signal })
      .then(setValidation, () => {})
    return () => stop.abort()
  }, [document, onCommand])
  return { document, validation, onCommand }
}

const Editor = ({ workflow }: { readonly workflow: Workflow }) => {
  const { data: nodeTypes = [] } = useNodeTypes()
  const { document, onCommand, validation } = useDraft(workflow)
  const [selected, select] = useState(shown.nodeId)
  const [focusOn, setFocusOn] = useState<FieldPlace>()
  const problems = useProblems(document, validation, nodeTypes)
  const jump = (place: FieldPlace) => {
    select(place.nodeId)
    setFocusOn({ ...place })
  }
  const both = { document, nodeTypes, onCommand, problems, validation }
  return (
    <div className="editor">
      <NodesTable
        {...both}
        onEdit={(nodeId) => jump({ nodeId })}
        onSelect={select}
        selected={selected}
      />
      <div>
        <Inspector
          {...both}
          focusOn={focusOn}
          lastRunId={lastRunId}
          nodeId={selected}
          onSave={() => client.workflows.update(workflowId, { ...document })}
          workflowId={workflowId}
        />
      </div>
      <ProblemsBar onJump={jump} problems={problems} />
    </div>
  )
}

const App = () => {
  const { data } = useWorkflow(workflowId)
  return data === undefined ? null : <Editor workflow={data} />
}

createRoot(document.getElementById("root")!).render(
  <Millrace client={client} locale="en" nonce={nonce} theme={theme}>
    <App />
  </Millrace>,
)
