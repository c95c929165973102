/**
 * The inputs of a node about to execute: what was bound to it, with the values of its expressions.
 *
 * Plain paths are read at once. JavaScript is computed when the attempt begins, so a node whose
 * expressions are paths starts as if it had none.
 *
 * Guarantees: the same stored run gives the same inputs. Expressions see the outputs of nodes
 * before theirs, the run's values, its id and its start, and nothing else. Leaves out: calling the
 * evaluator; `Attempt` does.
 */
import { Result } from "effect"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { freeze, problemOf } from "../../domain/Json.ts"
import { expressionJsonLength } from "../../domain/Limits.ts"
import type { LargeValue } from "../../domain/LargeValue.ts"
import { largeIn, replaceLarge, largeJson } from "../../domain/LargeValue.ts"
import { quoted } from "../../domain/Quote.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Bound } from "../../graph/internal/Bindings.ts"
import type { Literal, PlacedExpression } from "../../graph/internal/Literal.ts"
import { Filler, shortened } from "../../graph/internal/Literal.ts"
import type { GraphNode } from "../../graph/Graph.ts"
import type { PlainPath } from "../../graph/internal/PlainPath.ts"
import { settled } from "../../graph/internal/SettledLiteral.ts"
import { secretOf } from "../../graph/internal/SecretNames.ts"
import { missingPart, readPath } from "../../graph/internal/PlainPath.ts"
import type { Evaluated, ScriptCall } from "../../ports/Evaluator.ts"

/** What the expressions of a node see. */
export interface Scope {
  /** What a node put out, by port; `undefined` for one that was skipped. */
  readonly outputOf: (nodeId: string) => JsonObject | undefined
  readonly input: Json | undefined
  readonly values: JsonObject
  readonly run: { readonly id: string; readonly startedAt: string }
}

/** A run's own values in the scope of its expressions. */
export const runScope = (id: string, startedAt: Timestamp): Scope["run"] => ({
  id,
  startedAt: new Date(startedAt).toISOString(),
})

/** Why the inputs of a node cannot be computed. */
export interface NoInputs {
  readonly error: string
  readonly isRetryable: boolean
}

/** What the expressions of a node gave. */
export interface Given {
  readonly inputs: Result.Result<JsonObject, NoInputs>
  /** What the node puts out if it fails; `undefined` if its drawing says. */
  readonly fallback: Result.Result<JsonObject, string> | undefined
  /** The secrets among the inputs, which hold their expressions; `undefined` for none. */
  readonly secrets?: SecretInputs | undefined
}

/** Inputs with secrets. */
export interface SecretInputs {
  readonly names: ReadonlyArray<string>
  /** The inputs with these values in the place of the expressions. */
  readonly reveal: (values: ReadonlyMap<string, string>) => Given["inputs"]
  /** Literals of the inputs with secrets, in which everything else is constant, by port. */
  readonly drawn: () => JsonObject
}

/** What is left to compute before a node's handler can be called. */
export interface Scripts {
  readonly calls: ReadonlyArray<ScriptCall>
  readonly finish: (answers: ReadonlyArray<Evaluated>) => Given
}

/** Large values that expressions use and that have to be read first. */
export interface MissingValues {
  readonly missing: ReadonlyArray<LargeValue>
  readonly finish: (loaded: ReadonlyMap<string, Json>) => Given | Scripts
}

const refuse = (error: string, isRetryable = false): Result.Result<never, NoInputs> =>
  Result.fail({ error, isRetryable })

/** An expression, as the sentence that tells its failure begins. */
const named = (what: string, port: string, text: string): string =>
  `${what} ${quoted(port)}: {{ ${shortened(text)} }}: `

const rootOf = ({ root }: PlainPath, scope: Scope): Json | undefined => {
  switch (root._tag) {
    case "Node":
      return scope.outputOf(root.id)
    case "Input":
      return scope.input
    case "Values":
      return scope.values
    case "Run":
      return scope.run
    case "Secrets":
      return undefined
  }
}

/** JSON texts of what is in scope, each made once. */
class ScopeTexts {
  readonly #scope: Scope
  readonly #texts = new Map<string, string | undefined>()

  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** The scope of an expression as JSON text; a clause if it is too large. */
  of({ needs }: PlacedExpression): Result.Result<string, string> {
    const roots = ["input", "run", "values"] as const
    const nodes = needs.nodes.flatMap((id) =>
      this.#entry(id, `node ${id}`, () => this.#scope.outputOf(id)),
    )
    const others = roots.flatMap((name) =>
      needs.roots.has(name) ? this.#entry(name, name, () => this.#scope[name]) : [],
    )
    const text = `{${[`"nodes":{${nodes.join(",")}}`, ...others].join(",")}}`
    if (text.length <= expressionJsonLength) return Result.succeed(text)
    return Result.fail(
      `what it uses has ${text.length} characters as JSON; JavaScript takes at most ` +
        `${expressionJsonLength}, and plain paths have no bound`,
    )
  }

  #entry(key: string, name: string, valueOf: () => Json | undefined): ReadonlyArray<string> {
    if (!this.#texts.has(name)) this.#texts.set(name, JSON.stringify(valueOf()))
    const text = this.#texts.get(name)
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`]
  }
}

/** A literal whose expressions are being computed. Scripts have their places among the calls. */
interface Open {
  readonly what: "input" | "default of output"
  readonly port: string
  readonly literal: Literal
  readonly values: Array<Json | undefined>
  readonly scripts: Array<{ readonly place: number; readonly call: number }>
  readonly secrets: Array<{ readonly place: number; readonly name: string }>
}

/** Computes the literals of one node. Mutable. */
class Inputs {
  readonly #node: GraphNode
  readonly #bound: Bound
  readonly #scope: Scope
  readonly #texts: ScopeTexts
  readonly #calls: Array<ScriptCall> = []
  readonly #open: Array<Open> = []
  #inputError: NoInputs | undefined
  /** Why the default output cannot be computed, if it cannot. */
  #fallbackError: string | undefined

  constructor(node: GraphNode, bound: Bound, scope: Scope) {
    this.#node = node
    this.#bound = bound
    this.#scope = scope
    this.#texts = new ScopeTexts(scope)
  }

  begin(): Given | Scripts {
    for (const [port, literal] of this.#bound.literals) this.#read("input", port, literal)
    if (this.#node.policy.onError === "default") {
      for (const [port, literal] of this.#node.literals?.fallback ?? []) {
        this.#read("default of output", port, literal)
      }
    }
    if (this.#calls.length === 0) return this.#fill()
    return { calls: this.#calls, finish: (answers) => this.#finish(answers) }
  }

  /** Reads what is plain, and prepares what is not. */
  #read(what: Open["what"], port: string, literal: Literal): void {
    const open: Open = { what, port, literal, values: [], scripts: [], secrets: [] }
    this.#open.push(open)
    for (const [place, expression] of literal.expressions.entries()) {
      const { meaning, text } = expression
      const fail = (clause: string) => this.#fail(what, named(what, port, text) + clause)
      const secret = secretOf(expression)
      if (secret !== undefined) {
        // What is recorded is the expression.
        open.values[place] = `{{ ${text} }}`
        open.secrets.push({ place, name: secret })
      } else if (meaning._tag === "Constant") open.values[place] = meaning.value
      else if (meaning._tag === "Path") {
        const value = readPath(meaning.path, rootOf(meaning.path, this.#scope))
        if (Result.isFailure(value)) fail(value.failure)
        else open.values[place] = value.success
      } else {
        const scope = this.#texts.of(expression)
        if (Result.isFailure(scope)) {
          fail(scope.failure)
          continue
        }
        open.scripts.push({ place, call: this.#calls.length })
        this.#calls.push({ text, names: expression.needs.names, scope: scope.success })
      }
    }
  }

  #fail(what: Open["what"], error: string, isRetryable = false): void {
    if (what === "input") this.#inputError ??= { error, isRetryable }
    else this.#fallbackError ??= error
  }

  #finish(answers: ReadonlyArray<Evaluated>): Given {
    for (const { literal, port, scripts, values, what } of this.#open) {
      for (const { call, place } of scripts) {
        const answer = answers[call]!
        const name = named(what, port, literal.expressions[place]!.text)
        if (answer._tag === "Failed") {
          this.#fail(what, name + answer.message, answer.isRetryable)
          continue
        }
        const value = parsed(answer.json)
        if (Result.isFailure(value)) this.#fail(what, name + value.failure)
        else values[place] = value.success
      }
    }
    return this.#fill()
  }

  #fill(): Given {
    const secrets = this.#open.flatMap((open) => open.secrets.map(({ name }) => name))
    const given = { inputs: this.#inputs(), fallback: this.#fallback() }
    if (secrets.length === 0) return given
    const reveal = (values: ReadonlyMap<string, string>) => this.#inputs(values)
    const drawn = () => this.#drawn()
    return { ...given, secrets: { names: [...new Set(secrets)], reveal, drawn } }
  }

  #drawn(): JsonObject {
    const entries = this.#open.flatMap(({ literal, port, secrets, values, what }) => {
      if (what !== "input" || secrets.length === 0) return []
      const kept = new Set(secrets.map(({ place }) => place))
      return [[port, settled(literal, values, kept)] as const]
    })
    return Object.fromEntries(entries)
  }

  #inputs(secret?: ReadonlyMap<string, string>): Given["inputs"] {
    if (this.#inputError !== undefined) return Result.fail(this.#inputError)
    const filler = new Filler()
    const filled = new Map<string, Json | undefined>()
    for (const { literal, port, secrets, values, what } of this.#open) {
      if (what !== "input") continue
      const all = [...values]
      for (const { name, place } of secrets) all[place] = secret?.get(name) ?? all[place]
      const value = filler.fill(literal, all)
      if (Result.isFailure(value)) return refuse(`input ${quoted(port)}: ${value.failure}`)
      if (value.success === undefined && this.#node.ports.inputs.get(port)?.required === true) {
        return refuse(this.#missing(port, literal))
      }
      filled.set(port, value.success)
    }
    const inputs = Object.entries(this.#bound.inputs).flatMap(([port, value]) => {
      const given = filled.has(port) ? filled.get(port) : value
      return given === undefined ? [] : [[port, given] as const]
    })
    return Result.succeed(Object.fromEntries(inputs))
  }

  /** A required input whose literal is one expression without a value. */
  #missing(port: string, { expressions: [expression] }: Literal): string {
    const { meaning, text } = expression!
    const what =
      meaning._tag === "Path"
        ? missingPart(meaning.path, rootOf(meaning.path, this.#scope))
        : "it gives undefined"
    return `${named("input", port, text)}a value is required, and ${what}`
  }

  #fallback(): Given["fallback"] {
    const { literals, policy } = this.#node
    const filler = new Filler()
    if (policy.onError !== "default" || (literals?.fallback.size ?? 0) === 0) return undefined
    if (this.#fallbackError !== undefined) return Result.fail(this.#fallbackError)
    const output: Record<string, Json> = { ...policy.fallback }
    for (const { literal, port, values, what } of this.#open) {
      if (what === "input") continue
      const value = filler.fill(literal, values)
      if (Result.isFailure(value)) return Result.fail(`${what} ${quoted(port)}: ${value.failure}`)
      if (value.success === undefined) delete output[port]
      else output[port] = value.success
    }
    return Result.succeed(output)
  }
}

const parsed = (json: string | undefined): Result.Result<Json | undefined, string> => {
  if (json === undefined) return Result.succeed(undefined)
  const value = JSON.parse(json) as Json
  const problem = problemOf(value)
  return problem === undefined ? Result.succeed(freeze(value)) : Result.fail(problem)
}

/** What the expressions of a node give, or what is left to compute for them. */
export const givenTo = (node: GraphNode, bound: Bound, scope: Scope): Given | Scripts =>
  new Inputs(node, bound, scope).begin()

/** The parts of a scope that an expression reads, so far as they may be large values. */
const readBy = ({ meaning, needs }: PlacedExpression, scope: Scope): ReadonlyArray<Json> => {
  const all = (ids: ReadonlyArray<string>): ReadonlyArray<JsonObject> =>
    ids.map(scope.outputOf).filter((output) => output !== undefined)
  if (meaning._tag === "Script") {
    return [...all(needs.nodes), ...(needs.roots.has("input") ? [scope.input ?? null] : [])]
  }
  if (meaning._tag !== "Path") return []
  const { root, steps } = meaning.path
  if (root._tag === "Input") return [scope.input ?? null]
  if (root._tag !== "Node") return []
  const [output] = all([root.id])
  const port = steps[0]?.key
  if (output === undefined || port === undefined) return output === undefined ? [] : [output]
  return Object.hasOwn(output, port) ? [output[port]!] : []
}

/** As {@link givenTo}, for a run with large values: if expressions use some, those are missing. */
export const givenOrMissing = (
  node: GraphNode,
  bound: Bound,
  scope: Scope,
): Given | Scripts | MissingValues => {
  const literals = [...bound.literals.values(), ...(node.literals?.fallback.values() ?? [])]
  const missing = literals.flatMap(({ expressions }) =>
    expressions.flatMap((each) => readBy(each, scope).flatMap(largeIn)),
  )
  if (missing.length === 0) return givenTo(node, bound, scope)
  const finish: MissingValues["finish"] = (loaded) => {
    const whole = <A extends Json | undefined>(json: A): A =>
      json === undefined
        ? json
        : (replaceLarge(json, (value) => loaded.get(value.id) ?? largeJson(value)) as A)
    return givenTo(node, bound, {
      ...scope,
      outputOf: (id) => whole(scope.outputOf(id)),
      input: whole(scope.input),
    })
  }
  return { missing, finish }
}
