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
import { sentenceOf, toNodeError } from "@millrace/core/engine/NodeDefinition"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { Duration, Effect } from "effect"
import { isModule, onThread } from "./Blocking.ts"
import type { NodeContext, NodeLog, NodeOptions, Time } from "../Declaration.ts"
import { NodeError } from "../NodeError.ts"
import type { Port, PortSchema, PortSchemas } from "../Port.ts"
import { check, clausesOf, make } from "../Port.ts"

type PortMap = ReadonlyMap<string, Port>

const portOf = (type: string, name: string, schema: PortSchema): Port => {
  try {
    return make(schema)
  } catch (error) {
    const message = `Node type "${type}": port "${name}": ${sentenceOf(error)}`
    throw new TypeError(message, { cause: error })
  }
}

const portMap = (type: string, schemas: PortSchemas): PortMap =>
  new Map(Object.entries(schemas).map(([name, schema]) => [name, portOf(type, name, schema)]))

const portsOf = (
  inputs: PortMap,
  outputs: PortMap,
  { multiple = [], templates = [] }: Pick<AnyOptions, "multiple" | "templates">,
): Ports => ({
  inputs: new Map(
    Array.from(inputs, ([name, port]) => [
      name,
      {
        name,
        required: port.required,
        multiple: multiple.includes(name),
        schema: port.readSchema,
        check: (value) => check(port, value),
        ...(templates.includes(name) ? { problemsOfLiteral: () => [] } : {}),
      },
    ]),
  ),
  outputs: new Map(
    Array.from(outputs, ([name, port]) => [name, { name, schema: port.writeSchema }]),
  ),
})

/**
 * Validates values with the schemas of their ports. A port whose value is `undefined` is dropped.
 */
const through = async (
  ports: PortMap,
  values: JsonObject,
  direction: "read" | "write",
): Promise<JsonObject> => {
  const entries: Array<readonly [string, unknown]> = []
  const problems: Array<string> = []
  for (const [name, port] of ports) {
    const verdict = await port[direction](Object.hasOwn(values, name) ? values[name] : undefined)
    const clauses = clausesOf(verdict)
    const side = direction === "read" ? "input" : "output"
    if (clauses.length > 0) problems.push(`${side} "${name}": ${clauses.join(", ")}`)
    else if (verdict.issues === undefined && verdict.value !== undefined) {
      entries.push([name, verdict.value])
    }
  }
  if (problems.length > 0) throw new NodeError(problems.join("; "), { retryable: false })
  return Object.fromEntries(entries) as JsonObject
}

/** The validated outputs. Returns anything but declared ports as it is: the engine refuses that. */
const written = async (ports: PortMap, returned: unknown): Promise<JsonObject> => {
  const values = returned ?? {}
  if (!isJsonObject(values)) return values as JsonObject
  const undeclared = Object.entries(values).filter(([name]) => !ports.has(name))
  if (undeclared.length > 0) return Object.fromEntries(undeclared)
  return through(ports, values, "write")
}

const logOf = ({ log }: Core.CurrentNode["Service"]): NodeLog => {
  const line = (level: keyof NodeLog) => (message: string, data?: unknown) =>
    log(level, message, data as JsonObject)
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") }
}

const contextOf = (
  current: Core.CurrentNode["Service"],
  inputs: JsonObject,
  signal: AbortSignal,
): NodeContext<PortSchemas, string> => ({
  inputs,
  mode: current.mode,
  runId: current.runId,
  nodeId: current.nodeId,
  attempt: current.attempt,
  signal,
  idempotencyKey: current.idempotencyKey,
  log: logOf(current),
  credits: { add: (amount: number) => Effect.runSync(current.charge(amount)) },
})

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
    name: options.title ?? type,
    description: options.description ?? "",
    category: options.category ?? "other",
    modes,
    join: "any",
    role: "step",
    delivery: options.delivery ?? "at-least-once",
    policy: policyOf(options),
    portsOf: () => ports,
    estimate: ({ inputs, mode }) =>
      fromNumber(
        typeof credits === "number" ? credits : credits({ inputs, mode: mode ?? modes[0] ?? "" }),
      ),
  }
}

/** Any declaration, without its types, which matter only where a node type is declared. */
type AnyOptions = NodeOptions<string, PortSchemas, PortSchemas, string>

/** Makes a declaration executable. */
export const executableOf = <
  T extends string,
  I extends PortSchemas,
  O extends PortSchemas,
  M extends string,
>(
  declaration: NodeOptions<T, I, O, M>,
): Executable => {
  const options = declaration as unknown as AnyOptions
  const { blocking, type } = options
  const local = localExecutable(options)
  if (blocking === undefined) return local
  if (isModule(blocking)) return onThread(local, blocking)
  const expected = "expected import.meta.url of the module that exports the node type"
  throw new TypeError(`Node type "${type}": blocking: ${expected}`)
}

const localExecutable = (options: AnyOptions): Executable => {
  const inputs = portMap(options.type, options.inputs)
  const outputs = portMap(options.type, options.outputs)
  return {
    type: typeOf(options, portsOf(inputs, outputs, options)),
    run: (given) =>
      Core.CurrentNode.use((current) =>
        Effect.tryPromise({
          try: async (signal) => {
            const read = await through(inputs, given, "read")
            const context = contextOf(current, read, signal)
            return written(outputs, await current.watched(() => options.run(context)))
          },
          catch: (error) => failureOf(current, error),
        }),
      ),
  }
}
