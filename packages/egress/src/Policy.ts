/**
 * What may be called: protocols, ports, networks and bounds, as data.
 *
 * Guarantees: a URL that passes {@link problemOfUrl} can still be refused once its name is
 * resolved, but one that is refused here is refused by the guard too. Leaves out: resolving.
 */
import { isPublic, isWithin, literalOf } from "./Address.ts"

/** A protocol as a URL's `protocol` spells it. */
export type Protocol = "http:" | "https:"

/** A network that may be called though it is not public. */
export interface Exception {
  /** `127.0.0.1/32`. An IPv4 network never covers the IPv6 addresses that wrap it. */
  readonly cidr: string
  /** Absent: every port. */
  readonly port?: number
  /** Absent: http and https. */
  readonly protocols?: ReadonlyArray<Protocol>
}

/** What may be called, and how much of it. */
export interface Policy {
  readonly protocols: ReadonlyArray<Protocol>
  readonly ports: ReadonlyArray<number>
  /** Exceptions for private installations, tests and the server's own demonstration. */
  readonly allow: ReadonlyArray<Exception>
  /** For the whole exchange: resolving, connecting, headers and body. */
  readonly timeoutMillis: number
  /** Of an answer. */
  readonly maxBodyBytes: number
  /**
   * How long a connection waits for the next call to the same origin at the same judged addresses;
   * 0: every call has one of its own.
   */
  readonly idleMillis: number
}

/** The strict policy: https on its usual ports. Nothing private. */
export const httpsOnly: Policy = {
  protocols: ["https:"],
  ports: [443, 8443],
  allow: [],
  timeoutMillis: 30_000,
  maxBodyBytes: 1_048_576,
  idleMillis: 0,
}

/** The policy for graphs that fetch from the web: plain http too, up to a minute. */
export const openWeb: Policy = {
  ...httpsOnly,
  protocols: ["http:", "https:"],
  ports: [80, 443, 8080, 8443],
  timeoutMillis: 60_000,
}

/** Characters of a URL. */
export const maxUrlLength = 8_192

const defaultPorts: { readonly [P in Protocol]: number } = { "http:": 80, "https:": 443 }

const isProtocol = (text: string): text is Protocol => text === "http:" || text === "https:"

const portOf = (url: URL): number =>
  url.port === "" ? (isProtocol(url.protocol) ? defaultPorts[url.protocol] : 0) : Number(url.port)

const applies = (exception: Exception, url: URL): boolean =>
  isProtocol(url.protocol) &&
  (exception.protocols ?? ["http:", "https:"]).includes(url.protocol) &&
  (exception.port === undefined || exception.port === portOf(url))

const isOpen = (url: URL, policy: Policy): boolean =>
  isProtocol(url.protocol) &&
  policy.protocols.includes(url.protocol) &&
  policy.ports.includes(portOf(url))

/** True when this URL may be called at this address. */
export const permits = (policy: Policy, url: URL, address: string): boolean =>
  (isOpen(url, policy) && isPublic(address)) ||
  policy.allow.some((each) => applies(each, url) && isWithin(address, each.cidr))

/** What is said of an address that is not public. It names no address. */
export const notPublic = "The URL does not lead to a public address"

const protocolProblem = (policy: Policy): string => {
  const names = policy.protocols.map((each) => each.slice(0, -1))
  return `Only ${names.join(" and ")} URLs may be called`
}

const problemOfParsed = (url: URL, policy: Policy): string | undefined => {
  const excepted = policy.allow.some((each) => applies(each, url))
  if (!excepted) {
    if (!policy.protocols.some((each) => each === url.protocol)) return protocolProblem(policy)
    if (!policy.ports.includes(portOf(url))) return `Port ${portOf(url)} may not be called`
  }
  if (url.username !== "" || url.password !== "") {
    return "A URL with a user name or a password may not be called"
  }
  const literal = literalOf(url.hostname)
  return literal === undefined || permits(policy, url, literal) ? undefined : notPublic
}

/**
 * Why a URL may not be called, as one sentence, or `undefined` when nothing speaks against it yet:
 * the check for the moment a URL is saved or a run is started. Resolves nothing.
 */
export const problemOfUrl = (url: string, policy: Policy): string | undefined => {
  if (url.length > maxUrlLength) return `The URL is longer than ${maxUrlLength} characters`
  const parsed = URL.parse(url)
  return parsed === null ? "The URL cannot be read" : problemOfParsed(parsed, policy)
}
