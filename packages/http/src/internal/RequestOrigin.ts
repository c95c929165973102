/**
 * Where a request of a browser comes from: whether its page is ours, and how its cookie is named.
 *
 * Guarantees: a page of another site can neither change anything with the cookie nor sign anybody
 * in. Over TLS, no other host can plant a cookie, because the name begins with `__Host-`. Leaves
 * out: CORS.
 */
import type { HttpServerRequest } from "effect/http"

type Request = HttpServerRequest.HttpServerRequest

/** The host of a request, with its port. */
export const hostOf = ({ headers, source }: Request): string => {
  const { host } = headers
  if (host !== undefined) return host.toLowerCase()
  const { url } = source as { readonly url?: string }
  return url !== undefined && URL.canParse(url) ? new URL(url).host : ""
}

/** True for a host that is always this machine. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(host)

const isOurs = (request: Request, origin: string): boolean =>
  URL.canParse(origin) && new URL(origin).host === hostOf(request)

/**
 * True if a page of ours sent the request. Browsers say so in `Sec-Fetch-Site`, and older ones in
 * `Origin`, both of which scripts cannot set.
 */
export const isSameOrigin = (request: Request): boolean => {
  const { origin, "sec-fetch-site": site } = request.headers
  if (site !== undefined) return site === "same-origin"
  return origin !== undefined && isOurs(request, origin)
}

/** True if a browser sent the request from a page that is not ours. */
export const isCrossSite = (request: Request): boolean => {
  const { origin, "sec-fetch-site": site } = request.headers
  return (site !== undefined || origin !== undefined) && !isSameOrigin(request)
}

/**
 * True if cookies of the request's browser travel over TLS. A proxy may hide that from us; the page
 * itself tells it in `Origin`.
 */
export const isSecure = (request: Request): boolean => {
  const { origin } = request.headers
  return origin === undefined ? !isLoopback(hostOf(request)) : /^https:/i.test(origin)
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

/** The token in the cookie of a request; empty if there is none. */
export const cookieOf = (request: Request, basePath: string): string => {
  const { plain, secure } = namesOf(basePath)
  const { cookies } = request
  // Over TLS, a cookie with the plain name may come from another host of the domain.
  return cookies[secure] ?? (isLoopback(hostOf(request)) ? cookies[plain] : undefined) ?? ""
}

/** The `Set-Cookie` of a session that ends after so many seconds; 0: of one that is over. */
export const setCookie = (
  request: Request,
  basePath: string,
  token: string,
  seconds: number,
): string => {
  const { plain, secure } = namesOf(basePath)
  const common = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`
  return isSecure(request)
    ? `${secure}=${token}; ${common}; Secure`
    : `${plain}=${token}; ${common}`
}
