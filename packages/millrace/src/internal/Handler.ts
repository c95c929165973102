/**
 * Turns a declared handler into an executable of the engine: an effect from JSON to JSON.
 *
 * Guarantees: cancellation aborts the handler's signal, and nothing waits for a handler that
 * ignores the signal. Leaves out: checking that outputs are declared and are JSON; the engine does
 * that.
 */
import { fromNumber } from "@millrace/core/domain/Credits"
import type { JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import type { NodeType, Ports } from "@millrace/core/domain/NodeType"
import type { TypePolicy } from "@millrace/core/domain/NodePolicy"
import { problemsOfType } from "@millrace/core/domain/NodePolicy"
import * as Core from "@millrace/core/engine/CurrentNode"
import { deprecatedOf, sentenceOf, toNodeError } from "@millrace/core/engine/NodeDefinition"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { form, mark } from "@millrace/core/engine/NodeTypes"
import * as CallbackEffect from "@millrace/core/ports/CallbackEffect"
import { isModule, onThread } from "@millrace/host/Blocking"
import type { EngineThreads } from "@millrace/host/Threads"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { NodeContext, NodeLog, NodeOptions, Time } from "../Declaration.ts"
import { NodeError } from "../NodeError.ts"
import type { Check } from "./OptionCheck.ts"
import { expected, fields, isFunction, isObject, listOf, text } from "./OptionCheck.ts"
import type { Port, PortSchema, PortSchemas, SchemaResult } from "../Port.ts"
import { check, clausesOf, make } from "../Port.ts"

/** A port of a declaration, in the order of its ports. */
interface NamedPort extends Port {
  readonly name: string
}

const portOf = (type: string, name: string, schema: PortSchema): NamedPort => {
  try {
    return { ...make(schema), name }
  } catch (error) {
    const message = `Node type "${type}": port "${name}": ${sentenceOf(error)}`
    throw new TypeError(message, { cause: error })
  }
}

const namedPorts = (type: string, schemas: PortSchemas): ReadonlyArray<NamedPort> =>
  Object.entries(schemas).map(([name, schema]) => portOf(type, name, schema))

const portsOf = (
  inputs: ReadonlyArray<NamedPort>,
  outputs: ReadonlyArray<NamedPort>,
  { multiple = [], raw = [], secrets = [] }: Pick<AnyOptions, "multiple" | "raw" | "secrets">,
): Ports => ({
  inputs: new Map(
    inputs.map((port) => [
      port.name,
      {
        name: port.name,
        required: port.required,
        multiple: multiple.includes(port.name),
        schema: port.readSchema,
        check: (value) => check(port, value),
        ...(port.convertsTypes ? { convertsTypes: true } : {}),
        ...(raw.includes(port.name) ? { isRaw: true } : {}),
        ...(secrets.includes(port.name) ? { takesSecrets: true } : {}),
      },
    ]),
  ),
  outputs: new Map(
    outputs.map(({ name, required, writeSchema: schema }) => [name, { name, required, schema }]),
  ),
})

type Awaitable<A> = A | PromiseLike<A>

const isPromise = <A>(value: Awaitable<A>): value is PromiseLike<A> =>
  typeof (value as Partial<PromiseLike<A>> | undefined)?.then === "function"

/** Goes on with a value: at once, or when its promise is fulfilled. */
const andThen = <A, B>(value: Awaitable<A>, next: (value: A) => Awaitable<B>): Awaitable<B> =>
  isPromise(value) ? value.then(next) : next(value)

const valueOf = (result: SchemaResult): unknown =>
  result.issues === undefined ? result.value : undefined

/** The validated values, or a failure with the problems of all ports. */
const valuesOf = (
  ports: ReadonlyArray<NamedPort>,
  results: ReadonlyArray<SchemaResult>,
  side: "input" | "output",
): JsonObject => {
  if (results.some(({ issues }) => issues !== undefined)) {
    const problems = ports.flatMap(({ name }, index) => {
      const clauses = clausesOf(results[index]!)
      return clauses.length === 0 ? [] : [`${side} "${name}": ${clauses.join(", ")}`]
    })
    throw new NodeError(problems.join("; "), { retryable: false })
  }
  const values = ports.map(({ name }, index) => [name, valueOf(results[index]!)] as const)
  const isWhole = values.every(([, value]) => value !== undefined)
  const present = isWhole ? values : values.filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as JsonObject
}

/**
 * Validates values with the schemas of their ports. A port whose value is `undefined` is dropped.
 */
const through = (
  ports: ReadonlyArray<NamedPort>,
  values: JsonObject,
  direction: "read" | "write",
): Awaitable<JsonObject> => {
  const results = ports.map((port) =>
    port[direction](Object.hasOwn(values, port.name) ? values[port.name] : undefined),
  )
  const side = direction === "read" ? "input" : "output"
  return results.some(isPromise)
    ? Promise.all(results.map(async (each) => each)).then((all) => valuesOf(ports, all, side))
    : valuesOf(ports, results as ReadonlyArray<SchemaResult>, side)
}

const returnedEffect =
  "the handler returned an Effect, which nothing runs; return Effect.runPromise(...) of it"

/** The validated outputs. Returns anything but declared ports as it is: the engine refuses that. */
const written = (ports: ReadonlyArray<NamedPort>, returned: unknown): Awaitable<JsonObject> => {
  if (Effect.isEffect(returned)) throw new NodeError(returnedEffect, { retryable: false })
  const values = returned ?? {}
  if (!isJsonObject(values)) return values as JsonObject
  const isDeclared = (name: string) => ports.some((port) => port.name === name)
  if (!Object.keys(values).every(isDeclared)) {
    return Object.fromEntries(Object.entries(values).filter(([name]) => !isDeclared(name)))
  }
  return through(ports, values, "write")
}

/** A signal that is made when the handler asks for it, because few do. */
class Cancelation {
  #controller: AbortController | undefined
  #isAborted = false
  #isOver = false

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isAborted) this.#controller.abort()
    return this.#controller.signal
  }

  /** Ends the handler. False if it has ended before. */
  end(): boolean {
    const isFirst = !this.#isOver
    this.#isOver = true
    return isFirst
  }

  abort(): void {
    this.#isAborted = true
    this.#controller?.abort()
  }
}

const logOf = ({ log }: Core.CurrentNode["Service"]): NodeLog => {
  const line = (level: keyof NodeLog) => (message: string, data?: unknown) =>
    log(level, message, data as JsonObject)
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") }
}

/**
 * What a handler is given. The getter of `signal` is one function for all contexts: V8 would make a
 * hidden class for each context that has a getter of its own, which costs more than all the rest.
 * The property is the context's own, so that a copy by `{ ...context }` has it.
 */
class HandlerContext implements NodeContext<PortSchemas, string> {
  static readonly #signal = {
    enumerable: true,
    get(this: HandlerContext) {
      return this.#cancelation.signal
    },
  }

  declare readonly signal: AbortSignal
  readonly inputs: JsonObject
  readonly mode: string
  readonly runId: string
  readonly nodeId: string
  readonly attempt: number
  readonly idempotencyKey: string
  readonly log: NodeLog
  readonly credits: { readonly add: (amount: number) => void }
  readonly #cancelation: Cancelation

  constructor(current: Core.CurrentNode["Service"], inputs: JsonObject, cancelation: Cancelation) {
    this.inputs = inputs
    this.mode = current.mode
    this.runId = current.runId
    this.nodeId = current.nodeId
    this.attempt = current.attempt
    this.idempotencyKey = current.idempotencyKey
    this.log = logOf(current)
    this.credits = { add: (amount) => Effect.runSync(current.charge(amount)) }
    this.#cancelation = cancelation
    Object.defineProperty(this, "signal", HandlerContext.#signal)
  }
}

const failureOf = (current: Core.CurrentNode["Service"], error: unknown): Core.NodeError => {
  if (!(error instanceof NodeError)) return toNodeError(error)
  const { code, retryable, retryAfter } = error
  const message = sentenceOf(error)
  if (code !== undefined) current.log("error", message, { code })
  return new Core.NodeError({
    message,
    ...(retryable === undefined ? {} : { retryable }),
    ...(retryAfter === undefined ? {} : { retryAfterMillis: millisOf(retryAfter) }),
  })
}

const millisOf = (time: Time): number => Duration.toMillis(Duration.fromInputUnsafe(time))

const policyOf = ({ retry, timeout, type }: AnyOptions): TypePolicy => {
  const { attempts, factor, initial, jitter, max } = retry ?? {}
  const given = {
    attempts,
    factor,
    jitter,
    initialMillis: initial === undefined ? undefined : millisOf(initial),
    maxMillis: max === undefined ? undefined : millisOf(max),
  }
  const policy: TypePolicy = {
    retry: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    timeoutMillis: timeout === undefined ? undefined : millisOf(timeout),
  }
  const problems = problemsOfType(policy)
  if (problems.length > 0) throw new TypeError(`Node type "${type}": ${problems.join("; ")}`)
  return policy
}

const typeOf = (options: AnyOptions, ports: Ports): NodeType => {
  const { credits = 0, modes = [], type } = options
  return {
    key: type,
    version: options.version ?? 1,
    ...deprecatedOf(options),
    name: options.title ?? type,
    description: options.description ?? "",
    category: options.category ?? "other",
    ...(options.icon === undefined ? {} : { icon: options.icon }),
    ...(options.docs === undefined ? {} : { docs: options.docs }),
    modes,
    join: "any",
    role: "step",
    delivery: options.delivery ?? "at-least-once",
    effects: options.effects ?? "writes",
    ...(options.example === undefined ? {} : { example: options.example }),
    policy: policyOf(options),
    portsOf: () => ports,
    estimate: ({ inputs, mode }) =>
      fromNumber(
        typeof credits === "number" ? credits : credits({ inputs, mode: mode ?? modes[0] ?? "" }),
      ),
  }
}

/** Any declaration, without its types, which matter only where a node type is declared. */
export type AnyOptions = NodeOptions<string, PortSchemas, PortSchemas, string>

const declarations = new WeakMap<object, AnyOptions>()

/** What a node type was declared with, if this copy of the package has declared it. */
export const declarationOf = (executable: Executable<unknown>): AnyOptions | undefined =>
  declarations.get(executable)

const ports = expected("an object with a schema for each port", isObject)
const names = listOf(text)

/** What is wrong with the values of a declaration that the compiler has not seen. */
const checkOfDeclaration = fields({
  type: expected("a text that is not empty", (type) => typeof type === "string" && type !== ""),
  version: expected(
    "a whole number from 1",
    (given) => Number.isSafeInteger(given) && Number(given) >= 1,
  ),
  deprecated: expected(
    "true, false or a text",
    (given) => typeof given === "boolean" || typeof given === "string",
  ),
  title: text,
  description: text,
  category: text,
  icon: expected(
    'the name of a picture, as "credit-card"',
    (icon) => typeof icon === "string" && /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(icon),
  ),
  docs: text,
  inputs: ports,
  outputs: ports,
  multiple: names,
  raw: names,
  secrets: names,
  modes: names,
  credits: expected("a number or a function", (credits) =>
    ["number", "function"].includes(typeof credits),
  ),
  retry: expected("an object", isObject),
  timeout: () => [],
  delivery: expected('"at-least-once" or "at-most-once"', (delivery) =>
    ["at-least-once", "at-most-once"].includes(delivery as string),
  ),
  effects: expected('"none", "reads" or "writes"', (effects) =>
    ["none", "reads", "writes"].includes(effects as string),
  ),
  example: expected("an object", isObject),
  blocking: () => [],
  run: isFunction,
} satisfies { readonly [K in keyof AnyOptions]-?: Check })

const checkDeclaration = (options: AnyOptions): void => {
  const missing = (["type", "inputs", "outputs", "run"] as const).flatMap((name) =>
    options[name] === undefined ? [`${name}: is missing`] : [],
  )
  const clauses = [...checkOfDeclaration(options), ...missing]
  if (clauses.length === 0) return
  throw new TypeError(`Node type ${JSON.stringify(options.type)}: ${clauses.join("; ")}`)
}

/** Makes a declaration executable. */
export const executableOf = <
  T extends string,
  I extends PortSchemas,
  O extends PortSchemas,
  M extends string,
>(
  declaration: NodeOptions<T, I, O, M>,
): Executable<EngineThreads> => {
  const options = declaration as unknown as AnyOptions
  checkDeclaration(options)
  const { blocking, type } = options
  const local = localExecutable(options)
  if (blocking === undefined || isModule(blocking)) {
    const executable = blocking === undefined ? local : onThread(local, blocking)
    declarations.set(executable, options)
    return executable
  }
  const sentence = "expected import.meta.url of the module that exports the node type"
  throw new TypeError(`Node type "${type}": blocking: ${sentence}`)
}

/** A handler without its types. */
export type AnyHandler = (context: NodeContext<PortSchemas, string>) => unknown

/** Calls a handler between two functions that read its inputs and write its outputs. */
export const runnerOf =
  (
    read: (given: JsonObject) => Awaitable<JsonObject>,
    handler: AnyHandler,
    write: (returned: unknown) => Awaitable<JsonObject>,
  ): Executable["run"] =>
  (given, _, current) => {
    const cancelation = new Cancelation()
    const call = (inputs: JsonObject) =>
      current.watched(() => handler(new HandlerContext(current, inputs, cancelation)))
    try {
      const output = andThen(andThen(read(given), call), write)
      return isPromise(output) ? settled(output, current, cancelation) : Exit.succeed(output)
    } catch (error) {
      return Exit.fail(failureOf(current, error))
    }
  }

/** Executes a declaration in the event loop, whatever it says about threads. */
export const localExecutable = (options: AnyOptions): Executable => {
  const inputs = namedPorts(options.type, options.inputs)
  const outputs = namedPorts(options.type, options.outputs)
  return {
    [mark]: form,
    type: typeOf(options, portsOf(inputs, outputs, options)),
    run: runnerOf(
      (given) => through(inputs, given, "read"),
      options.run,
      (values) => written(outputs, values),
    ),
  }
}

/** What becomes of a promise. Its interruption aborts the handler's signal. */
const settled = (
  output: PromiseLike<JsonObject>,
  current: Core.CurrentNode["Service"],
  cancelation: Cancelation,
): Effect.Effect<JsonObject, Core.NodeError> =>
  CallbackEffect.make((done) => {
    output.then(
      (values) => {
        if (cancelation.end()) done(Exit.succeed(values))
      },
      (error: unknown) => {
        if (cancelation.end()) done(Exit.fail(failureOf(current, error)))
      },
    )
    return () => {
      if (!cancelation.end()) return
      cancelation.abort()
      done(Exit.interrupt())
    }
  })
