/**
 * The operations over HTTP: each endpoint reads its request, calls its operation, and dresses the
 * answer or the refusal.
 *
 * Guarantees: nothing of an operation is decided here; bodies are read in one place.
 */
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
import type { Refusal } from "../Errors.ts"
import { addHeaders, refuse } from "../Errors.ts"
import { originalReader } from "./Body.ts"
import type { Caller, GroupName, Input, OperationAnswer } from "./Operation.ts"
import { Operations } from "./Operations.ts"
import * as RunStream from "./RunStream.ts"
import { StreamSlots } from "./StreamSlots.ts"

/** A request: path, query and headers are checked, the body is not read yet. */
interface Arrived {
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Any operation, seen without its types: the table of operations has checked them. */
type Run = (caller: Caller, input: never) => Effect.Effect<OperationAnswer<unknown>, Refusal>

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
  return schema === undefined ? undefined : originalReader(schema as Schema.Codec<unknown>)
}

const handlerOf = (endpoint: HttpApiEndpoint.Top, run: Run, basePath: string) => {
  const read = readerOf(endpoint)
  return Effect.fnUntraced(function* (arrived: Arrived) {
    const caller = yield* callerOf
    const body = read === undefined ? undefined : yield* read(arrived.request)
    const input = { ...arrived, payload: body?.body, bytes: () => body?.bytes }
    const answer = yield* Effect.catch(run(caller, input as never), refuse)
    yield* addHeaders(headersOf(answer, basePath))
    return answer.value
  })
}

const streamHeaders = { "cache-control": "no-store", "x-accel-buffering": "no" }

/** Follows a run. A stream has one of the places that keys and server have. */
const follower = ({ follow }: Operations["Service"]) => {
  const slots = new StreamSlots()
  return Effect.fnUntraced(function* (input: Input<"runs", "events">) {
    const { accountId: account, keyId } = yield* CurrentKey
    const { value: source } = yield* Effect.catch(follow({ account, keyId }, input), refuse)
    if (source === undefined) return HttpServerResponse.empty({ status: 204 })
    yield* Effect.catch(slots.take(keyId), refuse)
    return HttpServerResponse.stream(Stream.encodeText(yield* RunStream.frames(source)), {
      contentType: "text/event-stream",
      headers: streamHeaders,
    })
  })
}

/** What takes the handlers of a group, whichever it is. */
interface Handlers {
  readonly handleRaw: (name: string, handler: unknown) => unknown
}

type Groups = (typeof Api)["groups"]

/** The handlers of a group. Each handler has the type of its operation, which the table checked. */
const layerOf = <G extends GroupName>(group: G) => {
  const build = Effect.fnUntraced(function* (handlers: Handlers) {
    const operations = yield* Operations
    const basePath = yield* BasePath
    const endpoints: Readonly<Record<string, HttpApiEndpoint.Top>> = Api.groups[group].endpoints
    for (const [name, run] of Object.entries<Run>(operations.groups[group])) {
      handlers.handleRaw(name, handlerOf(endpoints[name]!, run, basePath))
    }
    if (group === "runs") handlers.handleRaw("events", follower(operations))
    return handlers
  })
  return HttpApiBuilder.group(Api, group, build as never) as unknown as Layer.Layer<
    HttpApiGroup.ToService<"millrace", Groups[G]>,
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
