/**
 * Declares a node type with an Effect Schema per port. Ports, checks, JSON Schema, decoding and
 * encoding follow from the declaration.
 *
 * Guarantees: a handler gets decoded inputs only. The schema of each port encodes what the handler
 * returns to JSON. Leaves out: checking that outputs are declared and small enough; `Attempt` does
 * that for all node types.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Record from "effect/Record"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import { fromNumber } from "../domain/Credits.ts"
import type { Json, JsonObject } from "../domain/Json.ts"
import { handlerMessageLength } from "../domain/Limits.ts"
import type {
  Calls,
  InputPort,
  NodeExample,
  NodeType,
  OutputPort,
  Ports,
} from "../domain/NodeType.ts"
import type { RetryPolicy } from "../domain/NodePolicy.ts"
import { problemsOfType } from "../domain/NodePolicy.ts"
import { bracketed, quoted } from "../domain/Quote.ts"
import type { NodeSettings } from "../domain/Workflow.ts"
import type { CurrentNode } from "./CurrentNode.ts"
import { isNodeError, NodeError } from "./CurrentNode.ts"
import type { Executable } from "./NodeTypes.ts"
import { form, mark } from "./NodeTypes.ts"

/** A schema that a port may have: no services needed to decode or encode. */
export type PortSchema = Schema.Codec<unknown, unknown>

/** One schema per port. `Schema.optionalKey` and decoding defaults make an input optional. */
export type PortFields = { readonly [name: string]: PortSchema }

type Clauses = ReadonlyArray<string>

type Decoded<F extends PortFields> = Schema.Struct<F>["Type"]

/** Names of ports that depend on a node's settings. */
export interface DynamicPorts {
  readonly inputs?: ReadonlyArray<string>
  readonly outputs?: ReadonlyArray<string>
}

/** A declaration of a node type. Only `key`, `inputs`, `outputs` and `run` are required. */
export interface Declaration<I extends PortFields, O extends PortFields, M extends string, R> {
  readonly key: string
  /** 1 by default. An engine may have several versions of a type; see {@link NodeType}. */
  readonly version?: number
  /** Nobody should add nodes of it: true, or what to use in its place. */
  readonly deprecated?: boolean | string
  readonly name?: string
  readonly description?: string
  readonly category?: string
  /** The name of a picture of lucide's: `credit-card`. */
  readonly icon?: string
  /** More about it: the address of a page, or a text in Markdown. */
  readonly docs?: string
  readonly inputs: I
  readonly outputs: O
  /** Inputs to which several edges may lead. Their schema is that of an array. */
  readonly multiple?: ReadonlyArray<keyof I & string>
  /**
   * Inputs whose literals the handler gets as they are, without expressions being computed. The
   * function of an input returns every reason why a start refuses a literal; see {@link InputPort}.
   */
  readonly raw?: { readonly [P in keyof I & string]?: (literal: Json) => Clauses }
  /** Raw inputs that hold JavaScript; see {@link InputPort}. */
  readonly scripts?: { readonly [P in keyof I & string]?: InputPort["scriptOf"] }
  /** Inputs whose literals may name secrets; see {@link InputPort}. */
  readonly secrets?: ReadonlyArray<keyof I & string>
  /** The default mode first. */
  readonly modes?: ReadonlyArray<M>
  readonly join?: NodeType["join"]
  readonly role?: NodeType["role"]
  /** For a loop: what nodes that lie in it see of it. Its handler starts runs of them. */
  readonly body?: PortFields
  /** See {@link NodeType}. */
  readonly waitsForSignal?: boolean
  /** See {@link NodeType}. */
  readonly calls?: Calls
  /** See {@link NodeType}. */
  readonly signalsOf?: NodeType["signalsOf"]
  /** What follows a crash during an attempt; `at-least-once` by default. */
  readonly delivery?: NodeType["delivery"]
  /**
   * `none`: the handler only computes. It is then called before what it depends on is stored, and
   * again after a crash. `reads`: it looks at the outside world. `writes`, the default: it changes
   * something there.
   */
  readonly effects?: NodeType["effects"]
  /** What a start refuses of inputs that do not fit each other; see {@link NodeType}. */
  readonly problemsOfInputs?: NodeType["problemsOfInputs"]
  /** What a node with some inputs puts out. */
  readonly example?: NodeExample
  /** The retries of nodes whose `data` has none. Without it, such a node has one attempt. */
  readonly retry?: Partial<RetryPolicy>
  /** How long one attempt of a node may take, if the node's `data` does not say it. */
  readonly timeoutMillis?: number
  /** Further ports of a node with these settings; their values are any JSON. */
  readonly ports?: (settings: NodeSettings) => DynamicPorts
  /** Expected cost of one execution in credits, from the literals and the mode. */
  readonly credits?: number | ((literals: JsonObject, mode: M) => number)
  /**
   * The handler. A declared port that is absent from the result was not taken. Failures and defects
   * fail the node with their message.
   */
  readonly run: (inputs: Decoded<I>, mode: M) => Effect.Effect<Decoded<O>, unknown, R>
}

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

/** The clauses of an issue, one per problem: `[2][name]: expected a string`. */
const clausesOf = (issue: SchemaIssue.Issue): ReadonlyArray<string> =>
  issuesOf(issue).issues.map((each) => {
    const message = each.message.replace(/\s+/g, " ").trim()
    const path = bracketed(each.path!)
    return path === "" ? message : `${path}: ${message}`
  })

const all = { errors: "all" } as const

const jsonSchemaOf = (schema: PortSchema): JsonObject => {
  const document = Schema.toJsonSchemaDocument(schema)
  const own = document.schema as JsonObject
  const definitions = document.definitions as JsonObject
  return Object.keys(definitions).length === 0 ? own : { ...own, $defs: definitions }
}

const isOptional = (schema: PortSchema): boolean =>
  SchemaAST.isOptional(SchemaAST.toEncoded(schema.ast))

/** Which inputs are special, by name. */
interface Special {
  readonly multiple: ReadonlySet<string>
  readonly secrets: ReadonlySet<string>
  readonly raw: { readonly [port: string]: InputPort["problemsOfLiteral"] }
  readonly scripts: { readonly [port: string]: InputPort["scriptOf"] }
}

const inputPort = (
  name: string,
  schema: PortSchema,
  { multiple, raw, scripts, secrets }: Special,
): InputPort => {
  const problemsOfLiteral = raw[name]
  const scriptOf = scripts[name]
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(schema))
  return {
    name,
    required: !isOptional(schema),
    multiple: multiple.has(name),
    schema: jsonSchemaOf(schema),
    ...(secrets.has(name) ? { takesSecrets: true } : {}),
    check: (value) => {
      const result = decode(value, all)
      return Result.isSuccess(result) ? [] : clausesOf(result.failure.issue)
    },
    ...(problemsOfLiteral === undefined ? {} : { isRaw: true, problemsOfLiteral }),
    ...(scriptOf === undefined ? {} : { isRaw: true, scriptOf }),
  }
}

const anyInput = (name: string): InputPort => ({
  name,
  required: false,
  multiple: false,
  schema: {},
  check: () => [],
})

const withDynamic = (ports: Ports, dynamic: DynamicPorts): Ports => {
  const inputs = new Map(ports.inputs)
  const outputs = new Map(ports.outputs)
  for (const name of dynamic.inputs ?? []) inputs.set(name, inputs.get(name) ?? anyInput(name))
  for (const name of dynamic.outputs ?? []) {
    outputs.set(name, outputs.get(name) ?? { name, schema: {} })
  }
  return { inputs, outputs }
}

const portsOf = (inputs: PortFields, outputs: PortFields, special: Special): Ports => ({
  inputs: new Map(
    Object.entries(inputs).map(([name, schema]) => [name, inputPort(name, schema, special)]),
  ),
  outputs: new Map(
    Object.entries(outputs).map(([name, schema]): [string, OutputPort] => [
      name,
      { name, required: !isOptional(schema), schema: jsonSchemaOf(schema) },
    ]),
  ),
})

/** Errors of another realm are no instances of our `Error`, and have a message, too. */
const textOf = (error: unknown): string => {
  if (error instanceof Error) return error.message || error.name
  if (typeof error === "string") return error
  if (typeof error === "function") return "the handler threw a function, which is no error"
  if (typeof error !== "object" || error === null) {
    return `the handler threw ${String(error)}, which is no error`
  }
  const { message } = error as { readonly message?: unknown }
  return typeof message === "string" ? message : "the handler threw an object that is no error"
}

/** The sentence that the record keeps of a failure, whatever was thrown. */
export const sentenceOf = (error: unknown): string => {
  const text = textOf(error)
  return text.trim() === "" ? "failed without a message" : text.slice(0, handlerMessageLength)
}

/** Makes any failure of a handler a {@link NodeError}. */
export const toNodeError = (error: unknown): NodeError =>
  isNodeError(error) ? error : new NodeError({ message: sentenceOf(error) })

/** True for a port that takes any JSON. A codec would walk through all of it and change nothing. */
const isOpaque = ({ ast }: PortSchema): boolean => SchemaAST.isAny(ast) || SchemaAST.isUnknown(ast)

const fromJson = (schema: PortSchema): PortSchema =>
  isOpaque(schema) ? schema : Schema.toCodecJson(schema)

const decoderOf = (fields: PortFields) => {
  const isChecked = (each: PortSchema) => !isOpaque(each) || !SchemaAST.isOptional(each.ast)
  const checked = Record.map(Record.filter(fields, isChecked), fromJson)
  if (Record.isEmptyRecord(checked)) {
    return (inputs: JsonObject): Exit.Exit<object, NodeError> => Exit.succeed({ ...inputs })
  }
  const decode = Schema.decodeUnknownResult(Schema.Struct(checked))
  return (inputs: JsonObject): Exit.Exit<object, NodeError> => {
    const result = decode(inputs, all)
    if (Result.isSuccess(result)) return Exit.succeed({ ...inputs, ...(result.success as object) })
    const message = `input ${clausesOf(result.failure.issue).join("; ")}`
    return Exit.fail(new NodeError({ message, retryable: false }))
  }
}

const encoderOf = (fields: PortFields) => {
  const encoders = new Map(
    Object.entries(fields).flatMap(([name, schema]) =>
      isOpaque(schema) ? [] : [[name, Schema.encodeUnknownResult(Schema.toCodecJson(schema))]],
    ),
  )
  return (outputs: object): Exit.Exit<JsonObject, NodeError> => {
    const encoded: Array<[port: string, value: Json]> = []
    for (const [port, value] of Object.entries(outputs)) {
      if (value === undefined) continue
      const result = encoders.get(port)?.(value, all)
      if (result === undefined) encoded.push([port, value])
      else if (Result.isSuccess(result)) encoded.push([port, result.success])
      else {
        const message = `output ${quoted(port)}: ${clausesOf(result.failure.issue).join("; ")}`
        return Exit.fail(new NodeError({ message, retryable: false }))
      }
    }
    return Exit.succeed(Object.fromEntries(encoded))
  }
}

const noneSpecial: Special = {
  multiple: new Set(),
  secrets: new Set(),
  raw: {},
  scripts: {},
}

/** What a declaration says of its end. */
export const deprecatedOf = ({
  deprecated = false,
}: {
  readonly deprecated?: boolean | string
}): Pick<NodeType, "deprecated"> => {
  if (deprecated === false) return {}
  return { deprecated: deprecated === true ? "" : deprecated }
}

const describeType = <I extends PortFields, O extends PortFields, M extends string, R>(
  declaration: Declaration<I, O, M, R>,
): NodeType => {
  const { credits = 0, key, modes = [], ports: dynamic } = declaration
  const { calls, problemsOfInputs, signalsOf } = declaration
  const policy = { retry: declaration.retry, timeoutMillis: declaration.timeoutMillis }
  const nonsense = problemsOfType(policy)
  if (nonsense.length > 0) throw new Error(`Node type "${key}": ${nonsense.join("; ")}`)
  const fixed = portsOf(declaration.inputs, declaration.outputs, {
    multiple: new Set(declaration.multiple),
    secrets: new Set(declaration.secrets),
    raw: declaration.raw ?? {},
    scripts: declaration.scripts ?? {},
  })
  return {
    key,
    version: declaration.version ?? 1,
    ...deprecatedOf(declaration),
    name: declaration.name ?? key,
    description: declaration.description ?? "",
    category: declaration.category ?? "other",
    ...(declaration.icon === undefined ? {} : { icon: declaration.icon }),
    ...(declaration.docs === undefined ? {} : { docs: declaration.docs }),
    modes,
    join: declaration.join ?? "any",
    role: declaration.role ?? "step",
    ...(declaration.body === undefined
      ? {}
      : { body: portsOf({}, declaration.body, noneSpecial).outputs }),
    ...(declaration.waitsForSignal === true ? { waitsForSignal: true } : {}),
    ...(calls === undefined ? {} : { calls }),
    ...(signalsOf === undefined ? {} : { signalsOf }),
    delivery: declaration.delivery ?? "at-least-once",
    effects: declaration.effects ?? "writes",
    ...(declaration.example === undefined ? {} : { example: declaration.example }),
    ...(problemsOfInputs === undefined ? {} : { problemsOfInputs }),
    policy,
    portsOf: dynamic === undefined ? () => fixed : (node) => withDynamic(fixed, dynamic(node)),
    estimate: (settings) =>
      fromNumber(
        typeof credits === "number"
          ? credits
          : credits(settings.inputs, (settings.mode ?? modes[0] ?? "") as M),
      ),
  }
}

/** Declares a node type: see {@link Declaration}. What the handler requires stays in the type. */
export const define = <
  const I extends PortFields,
  const O extends PortFields,
  const M extends string = string,
  R = never,
>(
  declaration: Declaration<I, O, M, R>,
): Executable<Exclude<R, CurrentNode>> => {
  const type = describeType(declaration)
  const decode = decoderOf(declaration.inputs)
  const encode = encoderOf(declaration.outputs)
  return {
    [mark]: form,
    type,
    // A handler that ends at once stays an `Exit`, which needs no fiber.
    run: ((inputs, settings) => {
      const decoded = decode(inputs)
      if (Exit.isFailure(decoded)) return decoded
      const mode = (settings.mode ?? type.modes[0] ?? "") as M
      const outputs = declaration.run(decoded.value as Decoded<I>, mode)
      return Exit.isExit(outputs) && Exit.isSuccess(outputs)
        ? encode(outputs.value as object)
        : Effect.flatMap(Effect.mapError(outputs, toNodeError), encode)
    }) as Executable<Exclude<R, CurrentNode>>["run"],
  }
}
