/**
 * A run that is started in an editor and shown on its canvas.
 *
 * Guarantees: what is drawn is saved before it is started, and nothing is started that is not.
 */
import { useMemo, useState } from "react"
import { useRun, useRuns } from "../../Hooks.ts"
import type { NodeState } from "../../model/CanvasBox.ts"
import type { WorkflowEditing } from "../../model/editing/WorkflowEditing.ts"
import type { Pins } from "../PinnedRun.ts"
import { hasEnded } from "../../model/LiveRun.ts"
import { sentenceOf } from "../FailureText.tsx"
import { useSurroundings } from "../Surroundings.ts"

interface EditorRunOptions {
  readonly workflowId: string
  readonly editing: WorkflowEditing
  /** The run to show at first. */
  readonly runId: string | undefined
  readonly onRun: ((runId: string) => void) | undefined
  readonly pins: Pins
  /** The run whose values the inspector shows at first. */
  readonly pinnedRunId: string | undefined
}

const noStates: Readonly<Record<string, NodeState>> = {}

/** Starts runs, and follows the one that is shown. */
export const useEditorRun = (options: EditorRunOptions) => {
  const { editing, onRun, pinnedRunId, pins, runId, workflowId } = options
  const { client, messages } = useSurroundings()
  const [shown, show] = useState(runId)
  const [last, setLast] = useState(pinnedRunId ?? runId)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState("")
  const { error, nodes, run } = useRun(shown)
  const { items } = useRuns({ workflowId, limit: 1 })
  const states = useMemo(
    () =>
      shown === undefined
        ? noStates
        : Object.fromEntries(Object.values(nodes).map(({ nodeId, status }) => [nodeId, status])),
    [nodes, shown],
  )
  const act = (action: () => Promise<unknown>): void => {
    setBusy(true)
    setProblem("")
    void action()
      .catch((cause: unknown) => setProblem(sentenceOf(cause)))
      .finally(() => setBusy(false))
  }
  const begin = async (values: Record<string, never>) => {
    await editing.save()
    if (editing.read().saving !== "saved") throw new Error(messages.saveFirst)
    const pinned = Object.keys(pins).length === 0 ? {} : { pinnedOutputs: pins }
    const { id } = await client.runs.start({
      workflowId,
      // What is drawn here, whatever is published.
      version: "draft",
      values,
      ...pinned,
    })
    follow(id)
  }
  const follow = (id: string) => {
    show(id)
    setLast(id)
    onRun?.(id)
  }
  return {
    /** The run on the canvas; nothing while the graph is edited. */
    runId: shown,
    /** The run whose values the inspector shows: the last one of the workflow, at first. */
    lastRunId: last ?? items[0]?.id,
    run,
    states,
    isBusy,
    isOpen: shown !== undefined && (run === undefined || !hasEnded(run)),
    problem: problem === "" && error !== undefined ? sentenceOf(error) : problem,
    follow,
    start: (values: Record<string, never>) => act(() => begin(values)),
    stop: () => act(async () => shown === undefined || (await client.runs.cancel(shown))),
    leave: () => {
      show(undefined)
      setProblem("")
    },
  }
}

/** A run in an editor. */
export type EditorRun = ReturnType<typeof useEditorRun>
