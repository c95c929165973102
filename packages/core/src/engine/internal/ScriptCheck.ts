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
import type { PlacedExpression } from "../../graph/internal/Literal.ts"
import { type Problem, problemOfNode } from "../../graph/internal/Problem.ts"
import type { Evaluator } from "../../ports/Evaluator.ts"
import { BoundedMap } from "../BoundedMap.ts"

/** A JavaScript expression of a graph, and where it stands. */
interface Found extends PlacedExpression {
  readonly nodeId: string
  readonly port: string
  readonly what: string
}

function* scriptsOf(graph: Graph): Iterable<Found> {
  for (const { draft, id: nodeId, literals, settings } of graph.nodes) {
    if (literals === undefined || draft || settings.disabled) continue
    const all = { input: literals.inputs, "default of output": literals.fallback }
    for (const [what, ports] of Object.entries(all)) {
      for (const [port, { expressions }] of ports) {
        for (const each of expressions) {
          if (each.meaning._tag === "Script") yield { ...each, nodeId, port, what }
        }
      }
    }
  }
}

const problemAt = ({ column, nodeId, place, port, what }: Found, at: number, reason: string) => {
  const where = `${what} ${quoted(port)}${bracketed(place)}, column ${column + at}`
  return problemOfNode(nodeId, `${where}: ${reason}`, { port, column: column + at })
}

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
      const known = this.#known.get(definition.id)
      if (known !== undefined) return known
      const scripts = [...scriptsOf(graph)]
      const { absent, check } = this.#evaluator
      const [first] = scripts
      if (first === undefined) return none
      if (absent !== undefined) return [problemAt(first, 0, absent)]
      const asked = scripts.map(({ needs: { names }, text }) => ({ text, names }))
      const faults = yield* check(account, asked)
      const problems = scripts.flatMap((script, place) => {
        const fault = faults[place]
        return fault === undefined ? [] : [problemAt(script, fault.at ?? 0, fault.message)]
      })
      if (isShared(definition)) this.#known.set(definition.id, problems)
      return problems
    },
  )
}

const none: ReadonlyArray<Problem> = []
