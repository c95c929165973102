/**
 * Whether the JavaScript of a graph is well formed, which only the evaluator can tell.
 *
 * Guarantees: each definition that runs share is looked at once. Leaves out: what an expression
 * does.
 */
import { Effect } from "effect"
import type { AccountId } from "../../domain/Id.ts"
import { graphsCached } from "../../domain/Limits.ts"
import type { Definition } from "../../domain/Run.ts"
import { isShared } from "../../domain/Run.ts"
import { bracketed, quoted } from "../../domain/Quote.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { NodePlan } from "../../graph/internal/NodePlan.ts"
import { scriptsOf } from "../../graph/internal/NodePlan.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { problemInText } from "../../graph/internal/ScriptNames.ts"
import type { Evaluator, Script } from "../../ports/Evaluator.ts"
import { BoundedMap } from "../BoundedMap.ts"

/** JavaScript of a graph, and where it stands. */
interface Found {
  readonly script: Script
  readonly nodeId: string
  readonly port: string
  /** What a sentence calls the text. */
  readonly where: string
  /** Where in its text it begins, in characters from 1. */
  readonly column: number
}

/** The expressions of a node. */
function* expressionsOf({ isUnused, literals, node, settings }: NodePlan): Iterable<Found> {
  const nodeId = node.id
  if (literals === undefined || isUnused || settings.disabled) return
  const all = { input: literals.inputs, "default of output": literals.fallback }
  for (const [what, ports] of Object.entries(all)) {
    for (const [port, { expressions }] of ports) {
      for (const { column, meaning, needs, place, text } of expressions) {
        if (meaning._tag !== "Script") continue
        const where = `${what} ${quoted(port)}${bracketed(place)}`
        yield { script: { text, names: needs.names }, nodeId, port, where, column }
      }
    }
  }
}

const foundIn = (plan: NodePlan): ReadonlyArray<Found> => [
  ...expressionsOf(plan),
  ...scriptsOf(plan).map(([port, { at, ...script }]) => ({
    script,
    nodeId: plan.node.id,
    port,
    where: `input ${quoted(port)}`,
    column: at + 1,
  })),
]

const problemAt = ({ script, ...found }: Found, at: number, reason: string) =>
  problemInText({ ...found, text: script.text, isBody: script.isBody === true }, at, reason)

/** Names what is checked: of one definition, starts may override different inputs. */
const keyOf = ({ id }: Definition, { inner, nodes }: Graph): string =>
  [...nodes, ...inner].reduce((key, { node, overrides }) => {
    const ports = Object.keys(overrides)
    return ports.length === 0 ? key : `${key} ${JSON.stringify([node.id, ports])}`
  }, id)

/** Looks at the JavaScript of graphs. Mutable. */
export class ScriptCheck {
  readonly #evaluator: Evaluator
  readonly #known = new BoundedMap<string, ReadonlyArray<Problem>>(graphsCached)

  constructor(evaluator: Evaluator) {
    this.#evaluator = evaluator
  }

  /** The problems of the JavaScript of a definition. */
  readonly problemsOf = Effect.fnUntraced(
    { self: this },
    function* (account: AccountId, definition: Definition, graph: Graph) {
      if (!graph.hasScripts) return none
      const key = isShared(definition) ? keyOf(definition, graph) : ""
      const known = this.#known.get(key)
      if (known !== undefined) return known
      const scripts = [...graph.nodes, ...graph.inner].flatMap(foundIn)
      const { absent, check } = this.#evaluator
      const [first] = scripts
      if (first === undefined) return none
      if (absent !== undefined) return [problemAt(first, 0, absent)]
      const faults = yield* check(
        account,
        scripts.map(({ script }) => script),
      )
      const problems = scripts.flatMap((found, place) => {
        const fault = faults[place]
        return fault === undefined ? [] : [problemAt(found, fault.at ?? 0, fault.message)]
      })
      if (key !== "") this.#known.set(key, problems)
      return problems
    },
  )
}

const none: ReadonlyArray<Problem> = []
