/**
 * Calls a server over HTTP, and reads its event streams.
 *
 * Guarantees: only a request with the answer 429 is repeated, after the time that the server says.
 * An error answer rejects with a `MillraceError`.
 */
import type { ErrorCode } from "../MillraceError.ts"
import { invalid, MillraceError } from "../MillraceError.ts"
import type { TransportCall, Transport, WireEvent } from "../Transport.ts"
import { textOf } from "../Transport.ts"
import { eventsOf } from "./EventStream.ts"
import { routes } from "./Routes.ts"
import { sleep } from "./Sleep.ts"

/** Which server to call, with which key, and how often to repeat. */
export interface ClientOptions {
  /** Address of the server, without `/api/v1`. */
  readonly url: string | URL
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

/** The request of a call. */
const requestOf = (base: string, apiKey: string, call: TransportCall): Request => {
  const { body, headers, id = "", nodeId = "", operation, query, signal, valueId = "" } = call
  const [method = "", path = ""] = routes[operation].split(" ")
  const search = new URLSearchParams(textOf(query)).toString()
  const known = new Headers(textOf(headers))
  known.set("authorization", `Bearer ${apiKey}`)
  if (body !== undefined) known.set("content-type", "application/json")
  const text = body === undefined ? null : JSON.stringify(body)
  const init = { method, headers: known, body: text, signal: signal ?? null }
  const own = path
    .replace(":valueId", () => encodeURIComponent(valueId))
    .replace(":nodeId", () => encodeURIComponent(nodeId))
    .replace(":id", () => encodeURIComponent(id))
  const address = base + own
  return new Request(search === "" ? address : `${address}?${search}`, init)
}

const wireEventsOf = async function* (body: ReadableStream<Uint8Array>): AsyncGenerator<WireEvent> {
  for await (const { data, event, id } of eventsOf(body)) {
    yield { id, event, data: JSON.parse(data) as unknown } as WireEvent
  }
}

/** Calls the operations of a server. */
export const httpTransport = (options: ClientOptions): Transport => {
  const { apiKey, longestWaitSeconds = 60, retries = 3 } = options
  const base = `${String(options.url).replace(/\/+$/, "")}/api/v1`
  const send = options.fetch ?? ((request: Request) => fetch(request))

  const ask = async (call: TransportCall): Promise<Response> => {
    for (let left = retries; ; left--) {
      const response = await send(requestOf(base, apiKey, call))
      call.signal?.throwIfAborted()
      if (response.ok) return response
      const error = await errorOf(response)
      const seconds = error.retryAfterSeconds ?? Number.POSITIVE_INFINITY
      if (error.status !== 429 || left <= 0 || seconds > longestWaitSeconds) throw error
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
      return status === 204 || body === null ? undefined : wireEventsOf(body)
    },
  }
}
