/**
 * What of a past run can be pinned in a drawing: the outputs of nodes that have completed.
 *
 * Guarantees: pure. Leaves out: whether the outputs still fit; a start says that, node by node.
 */
import type { Run } from "@millrace/api/PromiseClient"

/** Outputs by node and port, for `pinnedOutputs` of a start. */
export type Pins = Readonly<Record<string, NonNullable<Run["nodes"][string]["output"]>>>

/** What of a run can be pinned. */
export interface PinnedRun {
  readonly pins: Pins
  /** Nodes whose outputs are too large to travel with a start: they are executed. */
  readonly tooLarge: ReadonlyArray<string>
}

/** They hand on the values of a start, put out nothing, or wait for somebody to decide anew. */
const neverPinned: ReadonlySet<string> = new Set([
  "request",
  "response",
  "note",
  "wait_signal",
  "approval",
])

/** What of the nodes of a run can be pinned in a drawing that has these nodes. */
export const pinnedRunOf = (
  nodes: Run["nodes"],
  drawn: ReadonlyArray<{ readonly id: string; readonly type: string }>,
): PinnedRun => {
  const done = drawn.flatMap(({ id, type }) => {
    const node = Object.hasOwn(nodes, id) ? nodes[id] : undefined
    const isSame = node?.nodeType === type && node.status === "COMPLETED"
    return node === undefined || !isSame || neverPinned.has(type) ? [] : [node]
  })
  const isLarge = (node: (typeof done)[number]) =>
    node.largeValues?.some(({ at }) => at.startsWith("/output")) === true
  return {
    pins: Object.fromEntries(
      done.flatMap((node) =>
        node.output === null || isLarge(node) ? [] : [[node.nodeId, node.output]],
      ),
    ),
    tooLarge: done.filter(isLarge).map(({ nodeId }) => nodeId),
  }
}

/** The pins without those of some nodes. */
export const withoutPins = (pins: Pins, nodeIds: Iterable<string>): Pins => {
  const gone = new Set(nodeIds)
  return Object.fromEntries(Object.entries(pins).filter(([nodeId]) => !gone.has(nodeId)))
}
