/**
 * Edges that may bring two values to an input that takes one.
 *
 * Such edges are legal, because they may be the arms of a branch. Two edges count as arms if they
 * come from different outputs of one node. Guarantees: a bounded number of steps, so in a very
 * large drawing some edges may go unnamed. Leaves out: whether a node ever takes two of its
 * outputs.
 */
import { edgesFollowed } from "../../domain/Limits.ts"
import { quoted } from "../../domain/Quote.ts"
import type { Reading } from "../Graph.ts"
import { groupBy } from "./Adjacency.ts"
import { type Problem, problemOfNode } from "./Problem.ts"

/** The outputs on the way to an edge, by node. */
type Way = ReadonlyMap<number, ReadonlySet<string>>

/** Follows edges back. Mutable. */
class Ways {
  #left = edgesFollowed
  readonly #edges: Reading["edges"]
  readonly #into: ReturnType<typeof groupBy>
  readonly #known = new Map<number, Way>()

  constructor({ edges, plans }: Reading) {
    this.#edges = edges
    this.#into = groupBy(plans.length, edges.targets)
  }

  get isSpent(): boolean {
    return this.#left <= 0
  }

  /** True if at most one of two edges carries a value, as far as the drawing tells. */
  areArms(first: number, second: number): boolean {
    const [one, other] = [this.#to(first), this.#to(second)]
    for (const [node, outputs] of one) {
      this.#left -= 1
      const others = other.get(node)
      if (others !== undefined && ![...outputs].some((each) => others.has(each))) return true
    }
    return false
  }

  #to(edge: number): Way {
    const known = this.#known.get(edge)
    if (known !== undefined) return known
    const way = new Map<number, Set<string>>()
    const open = [edge]
    for (const each of open) {
      this.#left -= 1
      const source = this.#edges.sources[each]!
      if (source < 0) continue
      const outputs = way.get(source)
      if (outputs !== undefined) {
        outputs.add(this.#edges.outputs[each]!)
        continue
      }
      way.set(source, new Set([this.#edges.outputs[each]!]))
      const { edges, start } = this.#into
      for (const before of edges.subarray(start[source], start[source + 1])) open.push(before)
    }
    this.#known.set(edge, way)
    return way
  }
}

/** The first two edges of several that are no arms of one branch; `undefined` for none. */
const firstPair = (ways: Ways, edges: ReadonlyArray<number>) => {
  for (const [place, second] of edges.entries()) {
    for (const first of edges.slice(0, place)) {
      if (ways.isSpent) return undefined
      if (!ways.areArms(first, second)) return [first, second] as const
    }
  }
  return undefined
}

/** The inputs for one value at which several edges end, with their edges. */
function* sharedInputs({ edges, plans }: Reading) {
  const into = groupBy(plans.length, edges.targets)
  for (const [index, plan] of plans.entries()) {
    if (plan === undefined || plan.isUnused || plan.settings.disabled) continue
    const ending = Array.from(into.edges.subarray(into.start[index], into.start[index + 1]))
    for (const [input, several] of Map.groupBy(ending, (edge) => edges.inputs[edge]!)) {
      const isOverride = Object.hasOwn(plan.overrides, input)
      const takesOne = plan.ports.inputs.get(input)?.multiple === false
      if (several.length > 1 && takesOne && !isOverride) yield { plan, input, several }
    }
  }
}

/** A warning for each input that may get two values. */
export const conflictsOf = (reading: Reading): ReadonlyArray<Problem> => {
  const ways = new Ways(reading)
  return Array.from(sharedInputs(reading)).flatMap(({ input, plan, several }) => {
    const pair = firstPair(ways, several)
    if (pair === undefined) return []
    const [first, second] = pair.map((edge) => quoted(reading.edges.ids[edge]!))
    const reason =
      `edges ${first} and ${second} end at input ${quoted(input)}, which takes one value; ` +
      "the node fails if both carry one"
    return [problemOfNode(plan.node.id, reason, { port: input })]
  })
}
