/**
 * One expression, computed against a run that there was: what an editor shows while somebody types.
 *
 * Guarantees: the run is only read. The same rules hold as in a run: what an expression may use,
 * and for how long. Leaves out: whose run it is.
 */
import { Effect, Result } from "effect"
import type { AccountId } from "../../domain/Id.ts"
import type { Json } from "../../domain/Json.ts"
import { liveRow } from "../../domain/LargeValue.ts"
import { CurrentLimits } from "../../domain/Limits.ts"
import { nearestHint } from "../../domain/Nearest.ts"
import { listed, quoted } from "../../domain/Quote.ts"
import type { Run, RunRecord } from "../../domain/Run.ts"
import { boundOf } from "../../graph/internal/Bindings.ts"
import { Frontier } from "../../graph/internal/Frontier.ts"
import type { Graph, GraphNode } from "../../graph/Graph.ts"
import type { Literal } from "../../graph/internal/Literal.ts"
import { readLiteral } from "../../graph/internal/Literal.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { problemOfNode } from "../../graph/internal/Problem.ts"
import { withScope } from "../../graph/internal/Scope.ts"
import type { Evaluator } from "../../ports/Evaluator.ts"
import { NodeError } from "../CurrentNode.ts"
import type { ValueSource } from "./CurrentValues.ts"
import type { GraphCache } from "../GraphCache.ts"
import type { Given, MissingValues, Scripts } from "./Inputs.ts"
import { givenOrMissing, runScope } from "./Inputs.ts"
import { RunValues } from "./RunValues.ts"

/** A text with expressions, and where it would stand. */
export interface TextInNode {
  readonly nodeId: string
  /** The input; absent: any but `input`. */
  readonly port?: string | undefined
  readonly text: string
}

/** What a text with expressions gives. */
export interface TextValue {
  /** Absent: it has none. */
  readonly value?: Json
  /** Why it has none; with node and port, and with the column where that is known. */
  readonly problems: ReadonlyArray<Problem>
}

const anyPort = "value"

/** The node with no other literal than this one. */
const nodeWith = (node: GraphNode, port: string, literal: Literal): GraphNode => ({
  ...node,
  policy: { ...node.policy, onError: "fail" },
  literals: { inputs: new Map([[port, literal]]), fallback: new Map() },
  isUnused: false,
  settings: { ...node.settings, disabled: false },
})

const scopeOf = ({ nodeRuns, run }: RunRecord, graph: Graph, index: number) => {
  const frontier = Frontier.restore(graph, nodeRuns.map(liveRow))
  const bound = boundOf(graph, frontier, index)
  return {
    outputOf: (id: string) => frontier.outputOf(graph.indexOf.get(id)!) ?? undefined,
    input: Result.isSuccess(bound) ? bound.success.input : undefined,
    values: run.values,
    run: runScope(run.id, run.startedAt ?? run.createdAt),
  }
}

const finished = (
  evaluator: Evaluator,
  account: AccountId,
  { definitionId }: Run,
  { calls: scripts, finish }: Scripts,
): Effect.Effect<Given> =>
  Effect.map(evaluator.evaluate({ account, definitionId, scripts }), finish)

/** Reads the large values that expressions use. */
const read = Effect.fnUntraced(function* (
  source: ValueSource | undefined,
  run: Run,
  { finish, missing }: MissingValues,
): Effect.fn.Return<Given | Scripts | NodeError> {
  if (source === undefined) return new NodeError({ message: "the store keeps no large values" })
  const values = new RunValues(source, { run, limits: yield* CurrentLimits, hasLarge: true })
  const loaded = yield* Effect.result(values.load(missing))
  values.close()
  return Result.isFailure(loaded) ? loaded.failure : finish(loaded.success)
})

/** Computes a text with expressions as if it stood at a node of the run. */
export const evaluateText = Effect.fnUntraced(function* (
  {
    evaluator,
    graphs,
    values,
  }: {
    readonly evaluator: Evaluator
    readonly values: ValueSource | undefined
    readonly graphs: GraphCache["Service"]
  },
  account: AccountId,
  record: RunRecord,
  { nodeId, port: given, text }: TextInNode,
): Effect.fn.Return<TextValue> {
  const { definition, run } = record
  const port = given ?? anyPort
  const refuse = (reason: string): TextValue => ({
    problems: [problemOfNode(nodeId, reason, { port })],
  })
  const compiled = graphs.compile(definition, run.inputOverrides)
  if (Result.isFailure(compiled)) return { problems: compiled.failure }
  const graph = compiled.success
  const index = graph.indexOf.get(nodeId)
  if (index === undefined) {
    return refuse(`the run has no such node${nearestHint(nodeId, graph.indexOf.keys())}`)
  }
  const { inputs } = graph.nodes[index]!.ports
  if (given !== undefined && !inputs.has(given)) {
    const hint = nearestHint(given, inputs.keys()) || `; it has ${listed(inputs.keys())}`
    return refuse(`has no input ${quoted(given)}${hint}`)
  }
  const literal = readLiteral(text)
  if (literal === undefined) return { value: text, problems: [] }
  const { around, wirings } = graphs.read(definition, run.inputOverrides)
  const problems: Array<Problem> = []
  const drawn = nodeWith(graph.nodes[index]!, port, literal)
  const plan = withScope(drawn, wirings[index]!, around, problems)
  if (problems.length > 0) return { problems }
  const node = { ...drawn, literals: plan.literals }
  const scope = scopeOf(record, graph, index)
  const bound = { inputs: { [port]: text }, literals: plan.literals!.inputs, input: scope.input }
  const first = givenOrMissing(node, bound, scope)
  const begun = "missing" in first ? yield* read(values, run, first) : first
  if ("_tag" in begun) return refuse(begun.message)
  const { inputs: computed } =
    "calls" in begun ? yield* finished(evaluator, account, run, begun) : begun
  if (Result.isFailure(computed)) return refuse(computed.failure.error)
  const value = computed.success[port]
  return value === undefined ? { problems: [] } : { value, problems: [] }
})
