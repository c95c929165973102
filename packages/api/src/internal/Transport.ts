/**
 * Requests of the promise client: addresses, the key, and patience.
 *
 * Guarantees: a request that was refused because the key has no requests left is repeated when the
 * server says so; nothing else is. An answer that is an error rejects with an `ApiError`.
 */
import { ofResponse } from "./ApiError.ts"

/** Where the server is, who calls, and how patient the caller is. */
export interface ClientOptions {
  /** Address of the server, without `/api/v1`. */
  readonly url: string | URL
  readonly apiKey: string
  /** How often a request is sent again after 429; 3 where nothing is said. */
  readonly retries?: number
  /** A longer `Retry-After` rejects with the 429; 60 where nothing is said. */
  readonly longestWaitSeconds?: number
  /** Sends requests; the platform's `fetch` where nothing is said. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** What a request is made of besides method and path. */
export interface Parts {
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  /** Aborting it gives the request up. */
  readonly signal?: AbortSignal | undefined
}

/** Sends a request, path below `/api/v1`, and gives the answer if it is no error. */
export type Send = (method: string, path: string, parts?: Parts) => Promise<Response>

/** Resolves after so long; rejects as soon as the signal is aborted. */
export const sleep = (millis: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, millis)
    signal?.addEventListener("abort", stop, { once: true })
  })

const given = <A>(values: Readonly<Record<string, A | undefined>>) =>
  Object.entries(values).filter((pair): pair is [string, A] => pair[1] !== undefined)

/** Makes what sends requests. */
export const makeSend = (options: ClientOptions): Send => {
  const { apiKey, longestWaitSeconds = 60, retries = 3 } = options
  const base = `${String(options.url).replace(/\/+$/, "")}/api/v1`
  const send = options.fetch ?? ((request: Request) => fetch(request))

  const requestOf = (method: string, path: string, parts: Parts): Request => {
    const { body, headers = {}, query = {}, signal } = parts
    const pairs = given(query).map(([name, value]): [string, string] => [name, String(value)])
    const search = pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`
    const known = new Headers(given(headers))
    known.set("authorization", `Bearer ${apiKey}`)
    if (body !== undefined) known.set("content-type", "application/json")
    const text = body === undefined ? null : JSON.stringify(body)
    const init = { method, headers: known, body: text, signal: signal ?? null }
    return new Request(`${base}${path}${search}`, init)
  }

  return async (method, path, parts = {}) => {
    for (let left = retries; ; left--) {
      const response = await send(requestOf(method, path, parts))
      parts.signal?.throwIfAborted()
      if (response.ok) return response
      const error = await ofResponse(response)
      const seconds = error.retryAfterSeconds ?? Number.POSITIVE_INFINITY
      if (error.status !== 429 || left <= 0 || seconds > longestWaitSeconds) throw error
      await sleep(seconds * 1_000, parts.signal)
    }
  }
}
