/**
 * Which graphs are worth computing before their runs are stored: those whose nodes have no effects,
 * as long as their runs end with that. Leaves out: computing; see `ComputedRun`.
 */
import type { Graph } from "../../graph/Graph.ts"

/** What is known of computing runs of one graph. */
export interface ComputedTries {
  /** True if all of its nodes may be computed within a step. */
  readonly isPlain: boolean
  /** Mutable: how many of its runs, one after the other, did not end when they were computed. */
  vain: number
}

/**
 * True for a graph whose nodes reach nothing outside, and need neither secrets nor JavaScript. What
 * is given to it has no effects any more.
 */
const isPlain = ({ hasScripts, nodes, secrets }: Graph): boolean =>
  !hasScripts && secrets.length === 0 && nodes.every(({ type }) => type.effects === "none")

/** What is known of a graph before any of its runs was computed. */
export const triesOf = (graph: Graph): ComputedTries => ({
  isPlain: isPlain(graph),
  vain: 0,
})
