/**
 * The typed client: every operation as a function, every error as a tagged class.
 *
 * Guarantees: made from the same definition as the server; a request that was refused because the
 * key has no requests left is repeated when the server says so, and nothing else is repeated.
 * Leaves out: promises; see `PromiseClient`.
 */
import type { Redacted } from "effect"
import { Effect, Option, Stream } from "effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import type { Page } from "./internal/Pages.ts"
import { Api } from "./Api.ts"
import type { StreamedEvent } from "./RunEventWire.ts"
import { isEnd } from "./RunEventWire.ts"

/** How often a request is sent again after 429 by default. */
export const defaultRetries = 3

/** With a longer `Retry-After` than this, a request is not sent again, by default. */
export const defaultLongestWaitSeconds = 60

/** The server's address, the API key, and how long to wait after 429. */
export interface ClientOptions {
  /** Address of the server, without `/api/v1`. */
  readonly baseUrl: string | URL
  readonly apiKey: string | Redacted.Redacted
  /** How often a request is sent again after 429; 3 by default. */
  readonly retries?: number | undefined
  /** With a longer `Retry-After`, the call fails with the 429; 60 by default. */
  readonly longestWaitSeconds?: number | undefined
}

/** Repeats what was refused for now, when the server says that it may come again. */
const patient = (client: HttpClient.HttpClient, options: ClientOptions): HttpClient.HttpClient => {
  const { longestWaitSeconds: longest = defaultLongestWaitSeconds, retries } = options
  return HttpClient.transform(client, (send) =>
    Effect.gen(function* () {
      for (let left = retries ?? defaultRetries; ; left--) {
        const response = yield* send
        const seconds = Number(response.headers["retry-after"])
        const isToWait = response.status === 429 && response.headers["x-error-code"] !== "runs_full"
        if (!isToWait || left <= 0 || !(seconds <= longest)) return response
        yield* Effect.sleep(seconds * 1_000)
      }
    }),
  )
}

/**
 * Makes a client: `client.runs.start({ headers: {}, payload: { workflowId } })`. Needs an
 * `HttpClient`, for example that of `FetchHttpClient.layer`.
 */
export const make = (options: ClientOptions) =>
  HttpApiClient.make(Api, {
    baseUrl: options.baseUrl,
    transformClient: (client) =>
      patient(
        HttpClient.mapRequest(client, HttpClientRequest.bearerToken(options.apiKey)),
        options,
      ),
  })

/** Every operation of the interface, by group and name. */
export type Client = Effect.Success<ReturnType<typeof make>>

/**
 * Every item of a listing, page after page:
 *
 * ```ts
 * items((cursor) => client.runs.list({ query: cursor === undefined ? {} : { cursor } }))
 * ```
 */
export const items = <A, E, R>(
  page: (cursor: string | undefined) => Effect.Effect<Page<A>, E, R>,
): Stream.Stream<A, E, R> =>
  Stream.paginate<string | undefined, A, E, R>(undefined, (cursor) =>
    Effect.map(
      page(cursor),
      ({ items: found, nextCursor }) => [found, Option.fromNullOr(nextCursor)] as const,
    ),
  )

/** How long to wait before a stream that broke off is asked for again. */
const pause = "1 second"

const followed = (client: Client, id: string, after: number, view?: "summary") => {
  type Refused = Effect.Error<ReturnType<Client["runs"]["events"]>>
  let last = after
  let hasEnded = false

  const note = (event: StreamedEvent) => {
    if (event.event === "snapshot" || event.event === "node") return
    last = Number(event.id)
    hasEnded = isEnd(event.event)
  }

  const once = Stream.suspend(() => {
    const query = view === undefined ? {} : { view }
    const headers = last === 0 ? {} : { "last-event-id": String(last) }
    return Stream.unwrap(
      Effect.map(client.runs.events({ params: { id }, query, headers }), (stream) => {
        // Nothing more to come is said without a body.
        if (stream === undefined) hasEnded = true
        // A line that breaks is asked for again.
        return Stream.catch(stream ?? Stream.empty, () => Stream.empty)
      }),
    )
  }).pipe(Stream.tap((event) => Effect.sync(() => note(event))))

  const again: Stream.Stream<StreamedEvent, Refused> = Stream.suspend(() =>
    hasEnded
      ? Stream.empty
      : Stream.concat(Stream.drain(Stream.fromEffect(Effect.sleep(pause))), whole),
  )
  const whole: Stream.Stream<StreamedEvent, Refused> = Stream.concat(once, again)
  return whole
}

const isNoNode = <E extends StreamedEvent>(event: E): event is Exclude<E, { event: "node" }> =>
  event.event !== "node"

/**
 * Follows a run to its end: a snapshot, then every event behind `after`. A stream that breaks off
 * is asked for again, so there may be further snapshots, but every event comes once. Fails as the
 * operation `runs.events` does when it is refused.
 */
export const follow = (client: Client, id: string, after = 0) =>
  Stream.filter(followed(client, id, after), isNoNode)

/** The same with summaries for snapshots, and each node whenever it moves. */
export const followSummary = (client: Client, id: string, after = 0) =>
  followed(client, id, after, "summary")
