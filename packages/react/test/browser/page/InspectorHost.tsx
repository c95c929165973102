/**
 * A host that edits a workflow without a canvas: the table of nodes, the inspector, and the
 * problems.
 */
import type { Workflow, WorkflowValidation } from "@millrace/api/PromiseClient"
import { useNodeTypes, useWorkflow } from "@millrace/react"
import { useCallback, useEffect, useState } from "react"
import { useSurroundings } from "../../../src/internal/Surroundings.ts"
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
export interface ShownInspector {
  readonly workflowId: string
  readonly nodeId?: string
  readonly lastRunId?: string
}

/** What tests look at. */
const told = window as unknown as {
  document_: WorkflowDocument
  onCommand: (command: Command) => void
}

const useDraft = (workflow: Workflow) => {
  const { client } = useSurroundings()
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
      .validate(workflow.id, { nodes, edges }, { signal })
      .then(setValidation, () => {})
    return () => stop.abort()
  }, [client, document, onCommand, workflow.id])
  return { document, validation, onCommand }
}

interface EditorProps extends ShownInspector {
  readonly workflow: Workflow
}

const Editor = ({ lastRunId, nodeId, workflow }: EditorProps) => {
  const { client } = useSurroundings()
  const { data: nodeTypes = [] } = useNodeTypes()
  const { document, onCommand, validation } = useDraft(workflow)
  const [selected, select] = useState(nodeId)
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
          onSave={() => client.workflows.update(workflow.id, { ...document })}
          workflowId={workflow.id}
        />
      </div>
      <ProblemsBar onJump={jump} problems={problems} />
    </div>
  )
}

/** Shows the workflow once it is read. */
export const InspectorHost = (shown: ShownInspector) => {
  const { data } = useWorkflow(shown.workflowId)
  return data === undefined ? null : <Editor {...shown} workflow={data} />
}
