/**
 * Calls a server over HTTP, and reads its event streams.
 *
 * Guarantees: only a request with the answer 429 is repeated, after the time that the server says.
 * An error answer rejects with a `MillraceError`.
 */
import type { ErrorCode } from "../MillraceError.ts"
import { invalid, MillraceError } from "../MillraceError.ts"
import type {
  Answer,
  OperationName,
  TransportCall,
  Transport,
  WireEvent,
  WireLiveEvent,
  WireWorkflowEvent,
} from "../Transport.ts"
import { textOf } from "../Transport.ts"
import { eventsOf } from "./EventStream.ts"
import type { ConsoleOperationName } from "./Routes.ts"
import { consoleRoutes, routes } from "./Routes.ts"
import { sleep } from "./Sleep.ts"

/** Which server to call, with which key, and how often to repeat. */
export interface ClientOptions {
  /** Address of the server, without `/api/v1`. */
  readonly url: string | URL
  /** A key of the account: the text that was shown when it was made. */
  readonly apiKey: string
  /** How often a request is repeated after 429; 3 by default. */
  readonly retries?: number
  /** With a longer `Retry-After`, the call rejects with the 429; 60 by default. */
  readonly longestWaitSeconds?: number
  /** Sends requests; the platform's `fetch` by default. */
  readonly fetch?: (request: Request) => Promise<Response>
}

const noTransaction =
  "client: a server takes part in no transaction of this process: use an engine on that database"

const sentenceOf = (text: string): string | undefined => {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown }
    return typeof error === "string" ? error : undefined
  } catch {
    return undefined
  }
}

/** The error for an answer, even if the answer does not come from Millrace. */
const errorOf = async (response: Response): Promise<MillraceError> => {
  const { headers, status } = response
  const message = sentenceOf(await response.text()) ?? `The answer was ${status}`
  const code = (headers.get("x-error-code") ?? "unexpected_answer").toUpperCase() as ErrorCode
  const seconds = headers.get("retry-after")
  return new MillraceError(code, message, {
    status,
    // Each begins with a capital letter; a clause within one does not.
    problems: code === "INVALID_GRAPH" ? message.split(/; (?=\p{Lu})/u) : [],
    requestId: headers.get("x-request-id"),
    retryAfterSeconds: seconds === null ? null : Number(seconds),
  })
}

/** A call of an operation of any interface. */
interface AnyCall extends Omit<TransportCall, "operation"> {
  readonly operation: OperationName | ConsoleOperationName
}

const allRoutes = { ...routes, ...consoleRoutes }

/** Where requests go, and what they carry. */
interface Target {
  readonly url: string | URL
  /** `/api/v1`, or that of the console. */
  readonly prefix: string
  /** The headers that say who calls. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>
  readonly credentials?: RequestInit["credentials"] | undefined
  readonly retries?: number | undefined
  readonly longestWaitSeconds?: number | undefined
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined
}

/** The request of a call. */
const requestOf = async ({ credentials, headers: who, prefix, url }: Target, call: AnyCall) => {
  const { body, headers, operation, query, signal } = call
  const { id = "", name = "", nodeId = "", triggerId = "", valueId = "", version = "" } = call
  const [method = "", path = ""] = allRoutes[operation].split(" ")
  const search = new URLSearchParams(textOf(query)).toString()
  const known = new Headers({ ...textOf(headers), ...(await who()) })
  if (body !== undefined) known.set("content-type", "application/json")
  const text = body === undefined ? null : JSON.stringify(body)
  const init = {
    method,
    headers: known,
    body: text,
    signal: signal ?? null,
    ...(credentials === undefined ? {} : { credentials }),
  }
  const own = path
    .replace(":valueId", () => encodeURIComponent(valueId))
    .replace(":version", () => encodeURIComponent(version))
    .replace(":triggerId", () => encodeURIComponent(triggerId))
    .replace(":nodeId", () => encodeURIComponent(nodeId))
    .replace(":name", () => encodeURIComponent(name))
    .replace(":id", () => encodeURIComponent(id))
  const address = String(url).replace(/\/+$/, "") + prefix + own
  return new Request(search === "" ? address : `${address}?${search}`, init)
}

const wireEventsOf = async function* <E>(body: ReadableStream<Uint8Array>): AsyncGenerator<E> {
  for await (const { data, event, id } of eventsOf(body)) {
    yield { ...(id === undefined ? {} : { id }), event, data: JSON.parse(data) as unknown } as E
  }
}

const nothing = async function* (): AsyncGenerator<never> {}

/** Calls the operations of the console, too. */
export interface ConsoleTransport extends Transport {
  readonly call: (call: AnyCall) => Promise<Answer>
}

const transportTo = (target: Target): ConsoleTransport => {
  const { longestWaitSeconds = 60, retries = 3 } = target
  const send = target.fetch ?? ((request: Request) => fetch(request))

  const ask = async (call: AnyCall): Promise<Response> => {
    for (let left = retries; ; left--) {
      const response = await send(await requestOf(target, call))
      call.signal?.throwIfAborted()
      if (response.ok) return response
      const error = await errorOf(response)
      const seconds = error.retryAfterSeconds ?? Number.POSITIVE_INFINITY
      // Whoever says `whenFull: "refuse"` wants to know at once.
      const isToWait = error.status === 429 && error.code !== "RUNS_FULL"
      if (!isToWait || left <= 0 || seconds > longestWaitSeconds) throw error
      await sleep(seconds * 1_000, call.signal)
    }
  }

  return {
    call: async (call) => {
      if (call.client !== undefined) throw invalid(noTransaction)
      const response = await ask(call)
      const { headers, status } = response
      const body: unknown = status === 204 ? undefined : await response.json()
      const isReplay = headers.get("idempotent-replayed") === "true"
      return { body, etag: headers.get("etag") ?? undefined, isReplay }
    },
    events: async (id, after, signal, view) => {
      const headers = after === 0 ? {} : { "last-event-id": String(after) }
      const query = { view }
      const { body, status } = await ask({ operation: "runs.events", id, headers, query, signal })
      return status === 204 || body === null ? undefined : wireEventsOf<WireEvent>(body)
    },
    live: async (query, signal) => {
      const { body } = await ask({ operation: "runs.live", query, signal })
      return body === null ? nothing() : wireEventsOf<WireLiveEvent>(body)
    },
    liveWorkflow: async (id, signal) => {
      const { body } = await ask({ operation: "workflows.live", id, signal })
      return body === null ? nothing() : wireEventsOf<WireWorkflowEvent>(body)
    },
  }
}

/** Calls the operations of a server with an API key. */
export const httpTransport = ({ apiKey, ...options }: ClientOptions): Transport =>
  transportTo({
    ...options,
    prefix: "/api/v1",
    headers: async () => ({ authorization: `Bearer ${apiKey}` }),
  })

/** Which console to call, and as whom. */
export interface ConsoleClientOptions {
  /** Address of the server or the mounted engine, without `/api/console/v1`. */
  readonly url: string | URL
  /** The token of a session, asked for before every request; absent: the browser's cookie. */
  readonly token?: () => Promise<string>
  /** Whether `fetch` sends the cookie; `same-origin` by default. */
  readonly credentials?: NonNullable<RequestInit["credentials"]>
  /** The account in which an operator acts. */
  readonly account?: () => string | undefined
  /** Sends requests; the platform's `fetch` by default. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** Calls the operations of a console with a session. */
export const consoleTransport = ({ account, token, ...options }: ConsoleClientOptions) =>
  transportTo({
    ...options,
    prefix: "/api/console/v1",
    headers: async () => {
      const acting = account?.()
      return {
        ...(token === undefined ? {} : { authorization: `Bearer ${await token()}` }),
        ...(acting === undefined ? {} : { "x-millrace-account": acting }),
      }
    },
  })
