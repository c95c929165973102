/**
 * How far a run has come: which nodes ended, and which can be decided next.
 *
 * Guarantees: each node is decided at most once, as soon as none of its in-edges is open and all
 * whose outputs its expressions use have ended. The decision depends on recorded outputs only, not
 * on the order of their arrival; so it is the same live, after a crash and on another machine.
 * O(nodes + edges) over a whole run, without recursion. Leaves out: executing, retrying, limits on
 * what executes at once.
 *
 * The state of an edge is derived, never stored: open until its source has ended, then live where
 * the source left a value on the edge's output, else dead.
 */
import { Result } from "effect"
import type { JsonObject } from "../../domain/Json.ts"
import { quoted } from "../../domain/Quote.ts"
import { isNodeTerminal, type NodeRun, type NodeRunStatus } from "../../domain/Run.ts"
import { inputsOf } from "./Bindings.ts"
import type { Graph } from "../Graph.ts"
import { skipReasonOf } from "./SkipReason.ts"

/**
 * What becomes of a node: it executes; it is skipped, with a sentence for its log; or it is
 * disabled and passes its input on, recorded as SKIPPED with this output.
 */
export type Decision =
  | { readonly _tag: "Run"; readonly index: number }
  | { readonly _tag: "Skip"; readonly index: number; readonly reason: string }
  | { readonly _tag: "Pass"; readonly index: number; readonly output: JsonObject }

/** The progress of one run. Mutable, for one owner. */
export class Frontier {
  readonly #graph: Graph
  readonly #status: Array<NodeRunStatus>
  readonly #outputs: Array<JsonObject | null>
  /** In-edges of each node whose source has not ended. */
  readonly #open: Array<number>
  /** Nodes whose last open in-edge closed since the last call of {@link advance}. */
  #ready: Array<number> = []
  /** Nodes without open in-edges, by a node that has not ended and whose outputs they use. */
  #held: Map<number, Array<number>> | undefined
  #remaining: number

  private constructor(graph: Graph) {
    const { inStart, nodes } = graph
    const count = nodes.length
    this.#graph = graph
    this.#status = nodes.map(() => "PENDING")
    this.#outputs = nodes.map(() => null)
    this.#open = nodes.map((_, n) => inStart[n + 1]! - inStart[n]!)
    for (let n = 0; n < count; n++) if (this.#open[n] === 0) this.#ready.push(n)
    this.#remaining = count
  }

  /** The beginning of a run. */
  static make(graph: Graph): Frontier {
    return new Frontier(graph)
  }

  /**
   * Where a run stood, from its node runs in any order. What had ended counts; everything else,
   * also what was executing, is decided again. Node runs of unknown nodes do not count.
   */
  static restore(graph: Graph, nodeRuns: ReadonlyArray<NodeRun>): Frontier {
    const frontier = new Frontier(graph)
    for (const { nodeId, output, status } of nodeRuns) {
      const index = graph.indexOf.get(nodeId)
      if (index !== undefined && isNodeTerminal(status)) frontier.finish(index, status, output)
    }
    return frontier
  }

  /** True when every node has ended. */
  get finished(): boolean {
    return this.#remaining === 0
  }

  /** Nodes that have not ended. */
  get remaining(): number {
    return this.#remaining
  }

  /** PENDING until decided, RUNNING until ended. */
  statusOf(index: number): NodeRunStatus {
    return this.#status[index]!
  }

  /** What a node left on its outputs; `null` before it ended and when it left nothing. */
  outputOf(index: number): JsonObject | null {
    return this.#outputs[index]!
  }

  /**
   * Decides every node that can be decided and has not been. Skips and passes take effect at once
   * and decide what follows from them in the same call. The answer goes wave by wave, each wave in
   * the order of ordinals.
   */
  advance(): ReadonlyArray<Decision> {
    const decisions: Array<Decision> = []
    while (this.#ready.length > 0) {
      const wave = this.#ready.toSorted((a, b) => a - b)
      this.#ready = []
      for (const index of wave) {
        if (this.#status[index] !== "PENDING" || this.#holds(index)) continue
        const decision = this.#decide(index)
        decisions.push(decision)
        if (decision._tag === "Run") this.#status[index] = "RUNNING"
        else this.finish(index, "SKIPPED", decision._tag === "Pass" ? decision.output : null)
      }
    }
    return decisions
  }

  /**
   * Records a node's end, with what it left on its outputs by port (`null`: nothing). A failed or
   * canceled node leaves nothing, whatever is given. A node that has ended stays as it is. To end
   * a node in a state that is not terminal is a defect.
   */
  finish(index: number, status: NodeRunStatus, output: JsonObject | null): void {
    const graph = this.#graph
    if (!isNodeTerminal(status)) {
      throw new Error(`Node "${graph.nodes[index]!.id}" cannot end as ${status}`)
    }
    if (isNodeTerminal(this.#status[index]!)) return
    this.#status[index] = status
    this.#outputs[index] = status === "COMPLETED" || status === "SKIPPED" ? output : null
    this.#remaining--
    for (let at = graph.outStart[index]!; at < graph.outStart[index + 1]!; at++) {
      const target = graph.edgeTarget[graph.outEdges[at]!]!
      if (--this.#open[target]! === 0) this.#ready.push(target)
    }
    if (this.#held !== undefined) this.#ready.push(...(this.#held.get(index) ?? []))
  }

  /**
   * True for a node that waits for one whose outputs it uses. Only a pinned output between the two
   * can let it come first: what is before a pinned node is executed beside what is behind it.
   */
  #holds(index: number): boolean {
    const used = this.#graph.uses.get(index)?.find((each) => !isNodeTerminal(this.#status[each]!))
    if (used === undefined) return false
    this.#held ??= new Map()
    this.#held.set(used, [...(this.#held.get(used) ?? []), index])
    return true
  }

  /** A disabled node follows the rules of an enabled one; where that executes, it passes on. */
  #decide(index: number): Decision {
    const reason = skipReasonOf(this.#graph, this, index)
    if (reason !== undefined) return { _tag: "Skip", index, reason }
    const wire = this.#graph.nodes[index]!.passThrough
    return wire === undefined ? { _tag: "Run", index } : this.#pass(index, wire)
  }

  #pass(index: number, wire: readonly [string, string] | null): Decision {
    const id = quoted(this.#graph.nodes[index]!.id)
    const skip = (why: string): Decision => ({
      _tag: "Skip",
      index,
      reason: `Skipped: ${id} is disabled${why}`,
    })
    if (wire === null) return skip("")
    const [input, output] = wire
    const inputs = inputsOf(this.#graph, this, index)
    if (Result.isFailure(inputs)) return skip(`. ${inputs.failure}`)
    if (!Object.hasOwn(inputs.success, input)) return skip(" and has nothing to pass on")
    return { _tag: "Pass", index, output: { [output]: inputs.success[input]! } }
  }
}
