/**
 * Calls the operations of an engine in the same process, without requests, addresses or JSON text.
 *
 * Guarantees: it calls the same operations as the HTTP handlers, and reads arguments by the same
 * schemas. An answer shares no object with the engine. Leaves out: API keys, their limits and the
 * bounds of bodies, because the caller is the application itself.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { Api } from "@millrace/api/Api"
import { plainJson } from "@millrace/api/PlainJson"
import { Presence, StoredRevision } from "@millrace/api/PresenceWire"
import { RunEvent, RunSnapshot } from "@millrace/api/RunEventWire"
import { pageOf } from "@millrace/api/PageQuery"
import { NodeRun, RunItem, RunRead } from "@millrace/api/RunWire"
import type {
  TransportCall,
  OperationName,
  Transport,
  WireEvent,
  WireLiveEvent,
  WireWorkflowEvent,
} from "@millrace/api/Transport"
import { textOf } from "@millrace/api/Transport"
import type { AccountId } from "@millrace/core/domain/Id"
import { RunId } from "@millrace/core/domain/Id"
import { Effect, Schema, Stream } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import type { Refusal } from "./Errors.ts"
import * as Form from "./Form.ts"
import * as AnswerWriter from "./internal/AnswerWriter.ts"
import type { Operation } from "./internal/Operation.ts"
import { Operations } from "./internal/Operations.ts"
import type { LiveItem } from "./internal/RunStream.ts"
import { items, liveItems, workflowItems } from "./internal/RunStream.ts"

export { Operations } from "./internal/Operations.ts"

/** Runs an effect that needs the operations, until the signal is aborted. */
export type Execute = <A>(
  effect: Effect.Effect<A, Refusal, Operations>,
  signal: AbortSignal | undefined,
) => Promise<A>

/** Makes a function that writes answers of this form as copies. */
const writerOf = (schema: Schema.Top) =>
  AnswerWriter.make(schema, (value) => plainJson(value, "answer"))

/** Reads the arguments of a call, and writes its answer. */
interface Codec {
  readonly read: (account: AccountId, call: TransportCall) => Effect.Effect<never, Refusal>
  readonly write: (value: unknown) => unknown
}

const partsOf = ({ headers, params, payload, query }: HttpApiEndpoint.Top) => {
  const parts = [
    [
      "params",
      "path",
      params,
      ({ id, name, nodeId, triggerId, valueId, version }: TransportCall) => ({
        id,
        name,
        nodeId,
        triggerId,
        valueId,
        version,
      }),
    ],
    ["query", "query", query, (call: TransportCall) => textOf(call.query)],
    ["headers", "headers", headers, (call: TransportCall) => textOf(call.headers)],
    [
      "payload",
      "body",
      payload.get("application/json")?.schemas[0],
      ({ body }: TransportCall) => body ?? {},
    ],
  ] as const
  return parts.flatMap(([part, root, schema, of]) =>
    schema === undefined
      ? []
      : [{ part, of, read: Form.reader(schema as Schema.Codec<unknown>, root) }],
  )
}

const bytesOf = (body: unknown) => () => new TextEncoder().encode(JSON.stringify(body))

const makeCodec = (endpoint: HttpApiEndpoint.Top): Codec => {
  const parts = partsOf(endpoint)
  const [success] = endpoint.success
  return {
    read: Effect.fnUntraced(function* (account, call) {
      const { body, client } = call
      const input: Record<string, unknown> = { account, client, bytes: bytesOf(body) }
      for (const { of, part, read } of parts) input[part] = yield* Effect.fromResult(read(of(call)))
      return input as never
    }),
    write: writerOf(success!),
  }
}

const codecs = new Map<OperationName, Codec>()

const partsOfName = (operation: OperationName) =>
  operation.split(".") as [keyof (typeof Api)["groups"], string]

/** The codec of an operation. It is made with the first call. */
const codecOf = (operation: OperationName): Codec => {
  const [group, name] = partsOfName(operation)
  const endpoints: Readonly<Record<string, HttpApiEndpoint.Top>> = Api.groups[group].endpoints
  const codec = codecs.get(operation) ?? makeCodec(endpoints[name]!)
  codecs.set(operation, codec)
  return codec
}

const writeRun = writerOf(Schema.toCodecJson(RunRead))
const writeNode = writerOf(Schema.toCodecJson(NodeRun))
const writeSnapshot = writerOf(Schema.toCodecJson(RunSnapshot))
const writeEvent = writerOf(Schema.toCodecJson(RunEvent))

const wireEventOf = (item: RunSnapshot | NodeRun | RunEvent): WireEvent => {
  if ("run" in item) return { event: "snapshot", data: writeSnapshot(item) } as WireEvent
  if ("nodeId" in item) return { event: "node", data: writeNode(item) } as WireEvent
  return { id: String(item.sequence), event: item.type, data: writeEvent(item) } as WireEvent
}

const writePage = writerOf(Schema.toCodecJson(pageOf(RunItem)))
const writeItem = writerOf(Schema.toCodecJson(RunItem))

const liveEventOf = (item: Exclude<LiveItem, "silence">): WireLiveEvent =>
  "items" in item
    ? ({ event: "page", data: writePage(item) } as WireLiveEvent)
    : ({ event: "run", data: writeItem(item) } as WireLiveEvent)

const writePresence = writerOf(Schema.toCodecJson(Presence))
const writeStored = writerOf(Schema.toCodecJson(StoredRevision))

const workflowEventOf = (item: Presence | StoredRevision): WireWorkflowEvent =>
  "people" in item
    ? ({ event: "presence", data: writePresence(item) } as WireWorkflowEvent)
    : ({ event: "revision", data: writeStored(item) } as WireWorkflowEvent)

/** Items as they come, as events. The stream ends when its reader stops. */
const streamOf = <Item extends object, Event>(
  execute: Execute,
  source: Stream.Stream<Item | "silence", Refusal, Operations>,
  eventOf: (item: Item) => Event,
  signal: AbortSignal | undefined,
): ReadableStream<Event> => {
  const left = new AbortController()
  const either = signal === undefined ? left.signal : AbortSignal.any([left.signal, signal])
  return new ReadableStream<Event>({
    start: (controller) => {
      const told = Stream.runForEach(source, (item) =>
        Effect.sync(() => item === "silence" || controller.enqueue(eventOf(item))),
      )
      execute(told, either).then(
        () => left.signal.aborted || controller.close(),
        (error: unknown) => controller.error(error),
      )
    },
    cancel: () => left.abort(),
  })
}

/** The JSON in a stream of bytes. */
const jsonOf = (bytes: Stream.Stream<unknown, unknown, unknown>) =>
  Effect.map(
    Stream.mkString(Stream.decodeText(bytes as Stream.Stream<Uint8Array, Refusal>)),
    (text): unknown => JSON.parse(text),
  )

/** Calls the operations of an engine for one account. */
export const make = (account: AccountId, execute: Execute): Transport => ({
  call: async (call) => {
    const [group, name] = partsOfName(call.operation)
    const { read, write } = codecOf(call.operation)
    const answered = Operations.use(({ groups }) => {
      const operations = groups[group] as Readonly<Record<string, Operation>>
      return Effect.flatMap(read(account, call), operations[name]!)
    })
    const whole = Effect.flatMap(answered, ({ value, ...beside }) =>
      Stream.isStream(value)
        ? Effect.map(jsonOf(value), (json) => ({ ...beside, value: json }))
        : Effect.succeed({ ...beside, value: write(value) }),
    )
    const { value: body, ...beside } = await execute(whole, call.signal)
    return { ...beside, body }
  },
  events: async (id, after, signal, view) => {
    const operation = "runs.events"
    const headers = after === 0 ? {} : { "last-event-id": String(after) }
    const call = { operation, id, headers, query: { view } } as const
    const input = codecOf(operation).read(account, call)
    const found = Operations.use(({ follow }) => Effect.flatMap(input, follow))
    const { value: source } = await execute(found, signal)
    return source === undefined
      ? undefined
      : streamOf(execute, Stream.unwrap(items(source)), wireEventOf, signal)
  },
  live: async (query, signal) => {
    const input = codecOf("runs.live").read(account, { operation: "runs.live", query })
    const found = Operations.use(({ live }) => Effect.flatMap(input, live))
    return streamOf(execute, Stream.unwrap(Effect.map(found, liveItems)), liveEventOf, signal)
  },
  liveWorkflow: async (id, signal) => {
    const input = codecOf("workflows.live").read(account, { operation: "workflows.live", id })
    const found = Operations.use(({ open }) => Effect.flatMap(input, open))
    const source = Stream.unwrap(Effect.map(found, workflowItems))
    return streamOf(execute, source, workflowEventOf, signal)
  },
  wait: async (id, signal) => {
    const ended = Operations.use(({ wait }) => wait(account, RunId.make(id)))
    return writeRun(await execute(ended, signal)) as typeof RunRead.Encoded
  },
})

type AdminGroups = (typeof AdminApi)["groups"]

/** An operation of operators: `webhooks.test`. */
export type AdminOperationName = {
  [G in keyof AdminGroups]: `${G}.${keyof AdminGroups[G]["endpoints"] & string}`
}[keyof AdminGroups]

/** A call of an operation of operators. Its body is JSON; unknown fields are refused. */
export interface AdminCall {
  readonly operation: AdminOperationName
  /** The identifiers in its address, by name. */
  readonly params?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Reads the parts of a call. */
const readAdmin = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top, call: AdminCall) {
  const input: Record<string, unknown> = { query: {} }
  const body = endpoint.payload.get("application/json")?.schemas[0]?.annotate({ closed: true })
  const parts = [
    ["params", "path", endpoint.params, call.params],
    ["payload", "body", body, call.body],
  ] as const
  for (const [part, root, schema, given] of parts) {
    if (schema === undefined) continue
    const read = Form.reader(schema as Schema.Codec<unknown>, root)
    input[part] = yield* Effect.fromResult(read(plainJson(given ?? {}, root)))
  }
  return input as never
})

/** Calls the operations of operators. Who may call them is left to the caller. */
export const makeAdmin =
  (execute: Execute) =>
  async (call: AdminCall): Promise<unknown> => {
    const [group, name] = call.operation.split(".") as [keyof AdminGroups, string]
    const endpoints: Readonly<Record<string, HttpApiEndpoint.Top>> =
      AdminApi.groups[group].endpoints
    const endpoint = endpoints[name]!
    const answered = Operations.use(({ admin }) => {
      const operations = admin[group] as unknown as Readonly<Record<string, Operation>>
      return Effect.flatMap(readAdmin(endpoint, call), operations[name]!)
    })
    const [success] = endpoint.success
    return writerOf(success!)((await execute(answered, undefined)).value)
  }
