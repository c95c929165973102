/**
 * Where a request of a browser comes from: whether its page is ours, and how its cookie is named.
 *
 * Guarantees: a page of another site can neither change anything with the cookie nor sign anybody
 * in. Over TLS, no other host can plant a cookie, because the name begins with `__Host-`. Where the
 * settings say which origin browsers see, no header of a proxy is believed. Leaves out: CORS.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { BasePath, isLoopback } from "../Addresses.ts"
import { CurrentConsole } from "../ConsoleSettings.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The host of a request, with its port. */
export const hostOf = ({ headers, source }: Request): string => {
  const { host } = headers
  if (host !== undefined) return host.toLowerCase()
  const { url } = source as { readonly url?: string }
  return url !== undefined && URL.canParse(url) ? new URL(url).host : ""
}

/** A short hash of a text, to tell names apart. */
export const hashOf = (text: string): string => {
  let hash = 0x811c9dc5
  for (const each of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ each, 0x01000193) >>> 0
  }
  return hash.toString(16).padStart(8, "0")
}

/** The names of a session's cookie. Below a base path, there may be others of other engines. */
const namesOf = (basePath: string) => {
  const plain = basePath === "" ? "millrace" : `millrace-${hashOf(basePath)}`
  return { plain, secure: `__Host-${plain}` }
}

/** Reads what the headers of a request say of its page and its cookie. */
export const make = Effect.gen(function* () {
  const { publicOrigin } = yield* CurrentConsole
  const { plain, secure } = namesOf(yield* BasePath)
  const known = publicOrigin === undefined ? undefined : new URL(publicOrigin)

  /** True if browser and server are on one machine. */
  const isLocal = (request: Request) => isLoopback(known?.host ?? hostOf(request))
  const isOurs = (request: Request, origin: string) =>
    known === undefined
      ? URL.canParse(origin) && new URL(origin).host === hostOf(request)
      : origin === known.origin

  /**
   * True if a page of ours sent the request. Browsers say so in `Sec-Fetch-Site`, and older ones in
   * `Origin`, both of which scripts cannot set.
   */
  const isSameOrigin = (request: Request): boolean => {
    const { origin, "sec-fetch-site": site } = request.headers
    if (site !== undefined) return site === "same-origin"
    return origin !== undefined && isOurs(request, origin)
  }

  /**
   * True if cookies of the request's browser travel over TLS. A proxy may hide that from us; the
   * settings tell it, or else the page itself, in `Origin`.
   */
  const isSecure = (request: Request): boolean => {
    if (known !== undefined) return known.protocol === "https:"
    const { origin } = request.headers
    return origin === undefined ? !isLocal(request) : /^https:/i.test(origin)
  }

  return {
    isSameOrigin,
    isSecure,
    isLocal,
    /** True if a browser sent the request from a page that is not ours. */
    isCrossSite: (request: Request): boolean => {
      const { origin, "sec-fetch-site": site } = request.headers
      return (site !== undefined || origin !== undefined) && !isSameOrigin(request)
    },
    /** The token in the cookie of a request; empty if there is none. */
    cookieOf: (request: Request): string => {
      const { cookies } = request
      // Over TLS, a cookie with the plain name may come from another host of the domain.
      return cookies[secure] ?? (isLocal(request) ? cookies[plain] : undefined) ?? ""
    },
    /** The `Set-Cookie` of a session that ends after so many seconds; 0: of one that is over. */
    setCookie: (request: Request, token: string, seconds: number): string => {
      const common = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`
      return isSecure(request)
        ? `${secure}=${token}; ${common}; Secure`
        : `${plain}=${token}; ${common}`
    },
  }
})
