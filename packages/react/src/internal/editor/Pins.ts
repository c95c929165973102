/**
 * The outputs of a past run that stand for nodes while a workflow is drawn.
 *
 * Guarantees: they are read once and are no part of the drawing: nothing of them is saved.
 */
import { useMemo, useState } from "react"
import type { WorkflowDocument } from "../../model/editing/Document.ts"
import type { Pins } from "../PinnedRun.ts"
import { pinnedRunOf, withoutPins } from "../PinnedRun.ts"
import { useReading } from "../Reading.ts"
import { useSurroundings } from "../Surroundings.ts"

/** What is pinned in an editor. */
export interface EditorPins {
  readonly pins: Pins
  readonly tooLarge: ReadonlyArray<string>
  /** True if a run was asked for and is there. */
  readonly isRead: boolean
  readonly error: unknown
  readonly unpin: (nodeIds: Iterable<string>) => void
}

const nothing = { pins: {}, tooLarge: [] } as const

/** Reads the run, if one is given. */
export const usePins = (runId: string | undefined, document: WorkflowDocument): EditorPins => {
  const { client } = useSurroundings()
  const [unpinned, setUnpinned] = useState<ReadonlySet<string>>(() => new Set())
  const { data: run, error } = useReading(
    ["pins", runId],
    (options) => client.runs.get(runId!, options),
    { enabled: runId !== undefined, staleTime: Number.POSITIVE_INFINITY },
  )
  const { nodes } = document
  const found = useMemo(
    () => (run === undefined ? nothing : pinnedRunOf(run.nodes, nodes)),
    [run, nodes],
  )
  const pins = useMemo(() => withoutPins(found.pins, unpinned), [found, unpinned])
  return {
    pins,
    tooLarge: found.tooLarge,
    isRead: run !== undefined,
    error,
    unpin: (nodeIds) => setUnpinned((known) => new Set([...known, ...nodeIds])),
  }
}
