/**
 * CORS of the console: pages of the origins that the settings name may call with the token of a
 * session.
 *
 * Guarantees: no answer lets a browser send a cookie along or show what a cookie has opened. An
 * origin that is not named learns nothing. Leaves out: `/api/v1`; its keys do not belong in pages.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { CurrentConsole } from "../ConsoleSettings.ts"

type Request = HttpServerRequest.HttpServerRequest

/** What pages may send. */
const sent = "authorization, content-type, idempotency-key, if-match, last-event-id"

/** What pages may read, besides what browsers always show. */
const shown = "etag, idempotent-replayed, location, retry-after, x-error-code, x-request-id"

/** How long a browser remembers an answer to a preflight. */
const rememberedSeconds = 600

const isConsole = (url: string): boolean => url.startsWith("/api/console/v1/")

/** Reads the settings. */
export const make = Effect.map(CurrentConsole, ({ allowedOrigins = [] }) => {
  const allowed = new Set(allowedOrigins)
  const originOf = ({ headers: { origin = "" }, url }: Request) =>
    isConsole(url) && allowed.has(origin) ? origin : undefined
  /** The headers of every answer. */
  const headersOf = (request: Request): Readonly<Record<string, string>> => {
    if (allowed.size === 0 || !isConsole(request.url)) return {}
    const origin = originOf(request)
    return {
      vary: "Origin",
      ...(origin === undefined
        ? {}
        : { "access-control-allow-origin": origin, "access-control-expose-headers": shown }),
    }
  }
  /** The answer to a browser that asks whether a page may call; `undefined`: nobody asks. */
  const preflight = (request: Request, methods: ReadonlyArray<string>) =>
    request.method === "OPTIONS" &&
    request.headers["access-control-request-method"] !== undefined &&
    originOf(request) !== undefined
      ? HttpServerResponse.empty({
          status: 204,
          headers: {
            "access-control-allow-methods": methods.join(", "),
            "access-control-allow-headers": sent,
            "access-control-max-age": String(rememberedSeconds),
          },
        })
      : undefined
  return { headersOf, preflight }
})
