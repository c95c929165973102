/**
 * The operations over HTTP. The handler of an endpoint reads the request, calls the operation, and
 * sets the headers of the answer or the refusal.
 *
 * Leaves out: the operations themselves.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import type { AdminAuthorization } from "@millrace/api/AdminAuthorization"
import { Api } from "@millrace/api/Api"
import type { Authorization, RequestForm } from "@millrace/api/Authorization"
import { CurrentKey } from "@millrace/api/Authorization"
import type { Schema } from "effect"
import { Effect, Layer, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { HttpApiBuilder } from "effect/http-api"
import { BasePath } from "../Addresses.ts"
import { addHeaders, refuse } from "../Errors.ts"
import * as AdminOperations from "./AdminOperations.ts"
import { reader } from "./Body.ts"
import type {
  AdminGroupName,
  Operation,
  Caller,
  GroupName,
  Input,
  OperationAnswer,
} from "./Operation.ts"
import { Operations } from "./Operations.ts"
import * as RunStream from "./RunStream.ts"
import { StreamSlots } from "./StreamSlots.ts"

/** A request: path, query and headers are checked, the body is not read yet. */
interface Arrived {
  readonly request: HttpServerRequest.HttpServerRequest
}

const headersOf = ({ etag, isReplay, location }: OperationAnswer<unknown>, basePath: string) => ({
  ...(etag === undefined ? {} : { etag }),
  ...(location === undefined ? {} : { location: basePath + location }),
  ...(isReplay === true ? { "idempotent-replayed": "true" } : {}),
})

const callerOf = Effect.map(CurrentKey, ({ accountId, keyId }): Caller => ({
  account: accountId,
  keyId,
}))

/** The body's reader of an endpoint that has a body. */
const readerOf = ({ payload }: HttpApiEndpoint.Top) => {
  const schema = payload.get("application/json")?.schemas[0]
  return schema === undefined ? undefined : reader(schema as Schema.Codec<unknown>)
}

const handlerOf = <R>(
  endpoint: HttpApiEndpoint.Top,
  run: Operation,
  caller: Effect.Effect<Partial<Caller>, never, R>,
  basePath: string,
) => {
  const read = readerOf(endpoint)
  return Effect.fnUntraced(function* (arrived: Arrived) {
    const who = yield* caller
    const body = read === undefined ? undefined : yield* read(arrived.request)
    const input = { ...arrived, ...who, payload: body?.body, bytes: () => body?.bytes }
    const answer = yield* Effect.catch(run(input as never), refuse)
    yield* addHeaders(headersOf(answer, basePath))
    return answer.value
  })
}

const streamHeaders = { "cache-control": "no-store", "x-accel-buffering": "no" }

/** Follows a run. A stream takes a slot of its key and of the server. */
const follower = ({ follow }: Operations["Service"]) => {
  const slots = new StreamSlots()
  return Effect.fnUntraced(function* (input: Input<"runs", "events">) {
    const { accountId: account, keyId } = yield* CurrentKey
    const { value: source } = yield* Effect.catch(follow({ ...input, account }), refuse)
    if (source === undefined) return HttpServerResponse.empty({ status: 204 })
    yield* Effect.catch(slots.take(keyId), refuse)
    return HttpServerResponse.stream(Stream.encodeText(yield* RunStream.frames(source)), {
      contentType: "text/event-stream",
      headers: streamHeaders,
    })
  })
}

/** The handlers of any group. */
interface Handlers {
  readonly handleRaw: (name: string, handler: unknown) => unknown
}

/** Handles the operations of a group. */
const handleAll = Effect.fnUntraced(function* <R>(
  handlers: Handlers,
  { endpoints }: { readonly endpoints: Readonly<Record<string, HttpApiEndpoint.Top>> },
  operations: object,
  caller: Effect.Effect<Partial<Caller>, never, R>,
) {
  const basePath = yield* BasePath
  for (const [name, run] of Object.entries(operations as Record<string, Operation>)) {
    handlers.handleRaw(name, handlerOf(endpoints[name]!, run, caller, basePath))
  }
  return handlers
})

/** The handlers of a group. Each handler has the type of its operation, which the table checked. */
const layerOf = <G extends GroupName>(group: G) => {
  const build = Effect.fnUntraced(function* (handlers: Handlers) {
    const operations = yield* Operations
    if (group === "runs") handlers.handleRaw("events", follower(operations))
    return yield* handleAll(handlers, Api.groups[group], operations.groups[group], callerOf)
  })
  return HttpApiBuilder.group(Api, group, build as never) as unknown as Layer.Layer<
    HttpApiGroup.ToService<"millrace", (typeof Api)["groups"][G]>,
    never,
    Operations | Authorization | RequestForm
  >
}

/** The handlers of every group. */
export const layer = Layer.mergeAll(
  layerOf("workflows"),
  layerOf("runs"),
  layerOf("deliveries"),
  layerOf("nodeTypes"),
  layerOf("usage"),
)

const layerOfAdmin = <G extends AdminGroupName>(group: G) => {
  const build = (handlers: Handlers) =>
    Effect.flatMap(AdminOperations.make, (groups) =>
      handleAll(handlers, AdminApi.groups[group], groups[group], Effect.succeed({})),
    )
  return HttpApiBuilder.group(AdminApi, group, build as never) as unknown as Layer.Layer<
    HttpApiGroup.ToService<"millrace-admin", (typeof AdminApi)["groups"][G]>,
    never,
    Effect.Services<typeof AdminOperations.make> | AdminAuthorization | RequestForm
  >
}

/** The handlers of every group of operators. */
export const layerAdmin = Layer.mergeAll(
  layerOfAdmin("accounts"),
  layerOfAdmin("keys"),
  layerOfAdmin("credits"),
  layerOfAdmin("audit"),
  layerOfAdmin("webhooks"),
  layerOfAdmin("secrets"),
  layerOfAdmin("quarantine"),
)
