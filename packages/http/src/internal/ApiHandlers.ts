/**
 * The operations over HTTP. The route of an endpoint admits the request, reads it, calls the
 * operation, and sets the headers of the answer or the refusal.
 *
 * Guarantees: the schemas of an endpoint are compiled once. Checks run in this order: key and
 * limits, or token; path, headers and query; body. Leaves out: the operations themselves, and
 * errors that no operation knows, which `ErrorMiddleware` answers.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { Api } from "@millrace/api/Api"
import { ConsoleApi } from "@millrace/api/ConsoleApi"
import type { Schema, SchemaAST, Scope } from "effect"
import { Effect, Stream } from "effect"
import type { HttpRouter as Router } from "effect/http"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { HttpApiEndpoint } from "effect/http-api"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { BasePath } from "../Addresses.ts"
import type { Refusal } from "../Errors.ts"
import { refuse } from "../Errors.ts"
import * as AnswerWriter from "./AnswerWriter.ts"
import * as AdminOperations from "./AdminOperations.ts"
import * as Authorization from "./Authorization.ts"
import { reader } from "./Body.ts"
import * as ConsoleAuthenticator from "./ConsoleAuthenticator.ts"
import * as ConsoleOperations from "./ConsoleOperations.ts"
import type {
  Admit,
  Caller,
  Input,
  Operation,
  OperationAnswer,
  OperationRequest,
} from "./Operation.ts"
import { Operations } from "./Operations.ts"
import * as RequestForm from "./RequestForm.ts"
import { CurrentRequest } from "./RequestId.ts"
import * as RunStream from "./RunStream.ts"
import * as SessionReach from "./SessionReach.ts"
import * as SessionWatch from "./SessionWatch.ts"
import { StreamSlots } from "./StreamSlots.ts"

type Answer = HttpServerResponse.HttpServerResponse
type Request = HttpServerRequest.HttpServerRequest
type Services = Request | Router.RouteContext | HttpServerRequest.ParsedSearchParams | Scope.Scope

const arrived = Effect.gen(function* (): Effect.fn.Return<OperationRequest, never, Services> {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { params } = yield* HttpRouter.RouteContext
  const query = yield* HttpServerRequest.ParsedSearchParams
  return { request, params, query, notes: yield* CurrentRequest }
})

/** Nothing in what a workflow put out runs in the origin of the server. */
const fileHeaders = ({ bytes, name }: NonNullable<OperationAnswer<unknown>["file"]>) => ({
  "content-disposition": `attachment; filename="${name}"`,
  "content-length": String(bytes),
  "content-security-policy": "sandbox",
  "x-content-type-options": "nosniff",
})

const headersOf = (
  { cookie, etag, file, isReplay, location }: OperationAnswer<unknown>,
  base: string,
): Headers => ({
  ...(file === undefined ? {} : fileHeaders(file)),
  ...(cookie === undefined ? {} : { "set-cookie": cookie }),
  ...(etag === undefined ? {} : { etag }),
  ...(location === undefined ? {} : { location: location.replace(/^\/api\/v1/, base) }),
  ...(isReplay === true ? { "idempotent-replayed": "true" } : {}),
})

type Headers = Readonly<Record<string, string>>

/** The status that a schema declares of itself. */
const statusOf = ({ annotations, context }: SchemaAST.AST): number | undefined =>
  ({ ...context?.annotations, ...annotations })["httpApiStatus"]

/** Writes the answers of an endpoint. */
const writerOf = ({ success }: HttpApiEndpoint.Top) => {
  const [schema = HttpApiSchema.NoContent] = success
  const status = statusOf(schema.ast)
  if ("contentType" in schema) {
    const contentType = String(schema.contentType)
    return (value: unknown, headers: Headers): Answer =>
      HttpServerResponse.stream(value as Stream.Stream<Uint8Array>, { contentType, headers })
  }
  if (HttpApiSchema.isNoContent(schema.ast)) {
    return (_: unknown, headers: Headers): Answer =>
      HttpServerResponse.empty({ status: status ?? 204, headers })
  }
  const write = AnswerWriter.make(schema)
  return (value: unknown, headers: Headers): Answer =>
    HttpServerResponse.jsonUnsafe(write(value), { status: status ?? 200, headers })
}

/** Reads the body of an endpoint; `undefined` if it has none. */
const readerOf = ({ payload }: HttpApiEndpoint.Top) => {
  const schema = payload.get("application/json")?.schemas[0]
  return schema === undefined ? undefined : reader(schema as Schema.Codec<unknown>)
}

/** Handles an operation that answers once. */
const handlerOf = (endpoint: HttpApiEndpoint.Top, run: Operation, base: string) => {
  const read = readerOf(endpoint)
  const write = writerOf(endpoint)
  return Effect.fnUntraced(function* (input: object, { request }: OperationRequest) {
    const body = read === undefined ? undefined : yield* read(request)
    const whole = { ...input, payload: body?.body, bytes: () => body?.bytes }
    const answer = yield* run(whole as never)
    return write(answer.value, headersOf(answer, base))
  })
}

const streamHeaders = { "cache-control": "no-store", "x-accel-buffering": "no" }

/** Streams, in slots of their key or account, and of the server. They end with their session. */
const streams = (slots: StreamSlots, watch?: SessionWatch.WatchSession) =>
  Effect.fnUntraced(function* <E, R>(
    call: Caller,
    open: Effect.Effect<Stream.Stream<string>, E, R>,
  ) {
    yield* slots.take(call.session?.id ?? call.keyId ?? call.account)
    const frames = Stream.encodeText(yield* open)
    const { over, session } = call
    const watched = watch === undefined || session === undefined || over !== undefined
    const end = watched ? (over ?? Effect.never) : yield* watch(session.id)
    return HttpServerResponse.stream(Stream.interruptWhen(frames, end), {
      contentType: "text/event-stream",
      headers: streamHeaders,
    })
  })

type OpenStream = ReturnType<typeof streams>

/** Follows a run. */
const follower = ({ follow }: Operations["Service"], open: OpenStream) =>
  Effect.fnUntraced(function* (input: object) {
    const call = input as Input<"runs", "events">
    const { value: source } = yield* follow(call)
    if (source === undefined) return HttpServerResponse.empty({ status: 204 })
    return yield* open(call, RunStream.frames(source))
  })

/** Watches runs. */
const watcher =
  ({ live }: Operations["Service"], open: OpenStream) =>
  (input: object) => {
    const call = input as Input<"runs", "live">
    return open(call, Effect.map(live(call), RunStream.liveFrames))
  }

/** Has a workflow open. */
const opener =
  ({ open: openWorkflow }: Operations["Service"], open: OpenStream) =>
  (input: object) => {
    const call = input as Input<"workflows", "live">
    return open(call, Effect.map(openWorkflow(call), RunStream.workflowFrames))
  }

/** The operations whose answers are streams. */
const streamed = (
  operations: Operations["Service"],
  watch?: SessionWatch.WatchSession,
): Readonly<Record<string, Handler>> => {
  const open = streams(new StreamSlots(), watch)
  return {
    "runs.events": follower(operations, open),
    "runs.live": watcher(operations, open),
    "workflows.live": opener(operations, open),
  }
}

type Handler = (
  input: object,
  arrived: OperationRequest,
) => Effect.Effect<Answer, Refusal, Services>

/** What the route of an endpoint does. */
const routeOf = (group: string, endpoint: HttpApiEndpoint.Top, admit: Admit, handle: Handler) => {
  const readParts = RequestForm.make(endpoint)
  const { identifier } = endpoint
  return Effect.gen(function* () {
    const request = yield* arrived
    const caller = yield* admit(request, group, identifier)
    const parts = yield* Effect.fromResult(readParts(request))
    return yield* handle({ ...caller, ...parts }, request)
  }).pipe(Effect.catch(refuse))
}

/** The endpoints and operations of groups. */
interface Groups {
  readonly [group: string]: { readonly endpoints: Readonly<Record<string, HttpApiEndpoint.Top>> }
}

/** Adds a route for each endpoint. Each operation has the type that the table checked. */
const addAll = Effect.fnUntraced(function* (
  groups: Groups,
  operations: Readonly<Record<string, object>>,
  admit: Admit,
  special: Readonly<Record<string, Handler>>,
  prefix = "/api/v1",
) {
  const router = yield* HttpRouter.HttpRouter
  const base = (yield* BasePath) + prefix
  for (const [group, { endpoints }] of Object.entries(groups)) {
    for (const [name, endpoint] of Object.entries(endpoints)) {
      const run = (operations[group] as Record<string, Operation>)[name]!
      const handle = special[`${group}.${name}`] ?? handlerOf(endpoint, run, base)
      const path = endpoint.path as Router.PathInput
      yield* router.add(endpoint.method as "GET", path, routeOf(group, endpoint, admit, handle))
    }
  }
})

/** The routes of every operation of an account. */
export const layer = HttpRouter.use(() =>
  Effect.gen(function* () {
    const operations = yield* Operations
    const admit = yield* Authorization.make
    yield* addAll(Api.groups, operations.groups, admit, streamed(operations))
  }),
)

/** The routes of all operations for operators. `admit` checks their token. */
export const layerAdmin = (admit: Admit) =>
  HttpRouter.use(() =>
    Effect.flatMap(AdminOperations.make, (groups) => addAll(AdminApi.groups, groups, admit, {})),
  )

/** The routes of everything that sessions open. */
export const layerConsole = HttpRouter.use(() =>
  Effect.gen(function* () {
    const operations = yield* Operations
    const admit = yield* ConsoleAuthenticator.make
    const check = yield* SessionReach.make
    const own = yield* ConsoleOperations.make
    const special = Object.fromEntries(
      Object.entries(streamed(operations, yield* SessionWatch.make)).map(([name, handle]) => {
        const [group = "", operation = ""] = name.split(".")
        const checked: Handler = (input, request) =>
          Effect.andThen(check(group, operation, input), handle(input, request))
        return [name, checked]
      }),
    )
    const { admin, groups } = operations
    const { accounts, audit, credits, quarantine, types, webhooks } = admin
    const all = { ...groups, ...own, accounts, audit, credits, quarantine, types, webhooks }
    const checked = SessionReach.within(check, all)
    yield* addAll(ConsoleApi.groups, checked, admit, special, "/api/console/v1")
  }),
)
