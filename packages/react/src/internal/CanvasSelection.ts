/**
 * What is selected on a canvas.
 *
 * Guarantees: changes of nodes and of edges that come together are one selection. The owner may
 * hold the selection, or one node of it, or nothing at all.
 */
import type { EdgeChange, NodeChange } from "@xyflow/react"
import { useMemo, useRef, useState } from "react"
import type { Selection } from "../model/editing/Clipboard.ts"

/** Nothing is selected. */
export const nothingSelected: Selection = { nodeIds: new Set(), edgeIds: new Set() }

/** Selects a loop that is collapsed or expanded, so nothing is selected that nobody sees. */
export const collapse = (
  { toggleLoop }: { readonly toggleLoop: (loopId: string) => void },
  { select }: Pick<ReturnType<typeof useSelection>, "select">,
  loopId: string,
): void => {
  select({ nodeIds: new Set([loopId]), edgeIds: nothingSelected.edgeIds })
  toggleLoop(loopId)
}

interface SelectionOptions {
  readonly selection?: Selection | undefined
  readonly onSelection?: ((selection: Selection) => void) | undefined
  readonly selected?: string | undefined
  readonly onSelect?: ((nodeId: string | undefined) => void) | undefined
}

type Change = NodeChange | EdgeChange

const after = (ids: ReadonlySet<string>, changes: ReadonlyArray<Change>): ReadonlySet<string> => {
  const next = new Set(ids)
  for (const change of changes) {
    if (change.type !== "select") continue
    if (change.selected) next.add(change.id)
    else next.delete(change.id)
  }
  return next
}

const isSame = (left: ReadonlySet<string>, right: ReadonlySet<string>): boolean =>
  left.size === right.size && [...left].every((id) => right.has(id))

/** The selection of a canvas, and what changes it. */
export const useSelection = (options: SelectionOptions) => {
  const { onSelect, onSelection, selected } = options
  const [own, setOwn] = useState(nothingSelected)
  const single = useMemo(
    () =>
      selected === undefined
        ? nothingSelected
        : { nodeIds: new Set([selected]), edgeIds: nothingSelected.edgeIds },
    [selected],
  )
  const isSingle = onSelect !== undefined
  const selection = options.selection ?? (isSingle ? single : own)
  const latest = useRef(selection)
  latest.current = selection
  const select = (next: Selection) => {
    const { edgeIds, nodeIds } = latest.current
    if (isSame(nodeIds, next.nodeIds) && isSame(edgeIds, next.edgeIds)) return
    latest.current = next
    setOwn(next)
    onSelection?.(next)
    if (isSame(nodeIds, next.nodeIds)) return
    const added = [...next.nodeIds].find((id) => !nodeIds.has(id))
    onSelect?.(added ?? [...next.nodeIds][0])
  }
  const take = (key: keyof Selection) => (changes: ReadonlyArray<Change>) => {
    if (changes.some(({ type }) => type === "select"))
      select({ ...latest.current, [key]: after(latest.current[key], changes) })
  }
  return { selection, select, takeNodes: take("nodeIds"), takeEdges: take("edgeIds") }
}
