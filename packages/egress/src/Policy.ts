/**
 * What may be called: protocols, ports, networks and bounds, as data.
 *
 * Guarantees: a URL that passes {@link problemOfUrl} can still be refused once its name is
 * resolved, but one that is refused here is refused by the guard too. Networks are read once for
 * all calls, a URL and the address it spells out once for each. Leaves out: resolving.
 */
import { Result } from "effect"
import type { Address, Network } from "./Address.ts"
import { isPublic, isWithin, literalOf, networkOf } from "./Address.ts"
import type { CallBounds } from "./internal/Turns.ts"

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
  /** How many calls may be under way at once; more wait. Null: whoever calls bounds that. */
  readonly calls: CallBounds | null
}

/** The strict policy: https on its usual ports. Nothing private. */
export const httpsOnly: Policy = {
  protocols: ["https:"],
  ports: [443, 8443],
  allow: [],
  timeoutMillis: 30_000,
  maxBodyBytes: 1_048_576,
  idleMillis: 0,
  calls: null,
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

const both: ReadonlyArray<Protocol> = ["http:", "https:"]

const isProtocol = (text: string): text is Protocol => text === "http:" || text === "https:"

const portOf = (url: URL): number =>
  url.port === "" ? (isProtocol(url.protocol) ? defaultPorts[url.protocol] : 0) : Number(url.port)

/** What a policy says of a URL, with its networks read. */
export interface Rules extends Pick<Policy, "protocols" | "ports"> {
  readonly allow: ReadonlyArray<Exception & { readonly network: Network }>
}

/** The rules of a policy; throws where an exception is not in CIDR notation. */
export const rulesOf = ({ allow, ports, protocols }: Policy): Rules => ({
  protocols,
  ports,
  allow: allow.map((each) => ({ ...each, network: networkOf(each.cidr) })),
})

/** The rules for these protocols only: never wider than those they come from. */
export const narrowed = (rules: Rules, protocols: ReadonlyArray<Protocol>): Rules => {
  const among = (all: ReadonlyArray<Protocol>) => all.filter((each) => protocols.includes(each))
  return {
    ...rules,
    protocols: among(rules.protocols),
    allow: rules.allow.map((each) => ({ ...each, protocols: among(each.protocols ?? both) })),
  }
}

/** Where one protocol and port may lead: to anything public, and into networks. */
interface Reach {
  readonly isOpen: boolean
  readonly networks: ReadonlyArray<Network>
}

const nowhere: Reach = { isOpen: false, networks: [] }

const reachOf = (url: URL, { allow, ports, protocols }: Rules): Reach => {
  const { protocol } = url
  if (!isProtocol(protocol)) return nowhere
  const port = portOf(url)
  const applies = (each: Exception) =>
    (each.protocols ?? both).includes(protocol) && (each.port === undefined || each.port === port)
  return {
    isOpen: protocols.includes(protocol) && ports.includes(port),
    networks: allow.filter(applies).map(({ network }) => network),
  }
}

/** A URL that may be called if it leads to an address that may be. */
export interface CallTarget {
  readonly url: URL
  readonly reach: Reach
  /** The address that it spells out, judged; absent: it has a name, which is to be resolved. */
  readonly literal: Address | undefined
}

/** True when this address may be called as a URL says. */
export const permits = ({ isOpen, networks }: Reach, address: Address): boolean =>
  (isOpen && isPublic(address)) || networks.some((each) => isWithin(address, each))

/** What is said of an address that is not public. It names no address. */
export const notPublic = "The URL does not lead to a public address"

const protocolProblem = (rules: Rules): string => {
  const names = rules.protocols.map((each) => each.slice(0, -1))
  return `Only ${names.join(" and ")} URLs may be called`
}

const problemOfTarget = ({ literal, reach, url }: CallTarget, rules: Rules): string | undefined => {
  if (!reach.isOpen && reach.networks.length === 0) {
    return rules.protocols.some((each) => each === url.protocol)
      ? `Port ${portOf(url)} may not be called`
      : protocolProblem(rules)
  }
  if (url.username !== "" || url.password !== "") {
    return "A URL with a user name or a password may not be called"
  }
  return literal === undefined || permits(reach, literal) ? undefined : notPublic
}

/** What a URL leads to, or why it may not be called, as one sentence. Resolves nothing. */
export const targetOf = (text: string, rules: Rules): Result.Result<CallTarget, string> => {
  if (text.length > maxUrlLength) {
    return Result.fail(`The URL is longer than ${maxUrlLength} characters`)
  }
  const url = URL.parse(text)
  if (url === null) return Result.fail("The URL cannot be read")
  const target = { url, reach: reachOf(url, rules), literal: literalOf(url.hostname) }
  const problem = problemOfTarget(target, rules)
  return problem === undefined ? Result.succeed(target) : Result.fail(problem)
}

/**
 * Why a URL may not be called, as one sentence, or `undefined` when nothing speaks against it yet:
 * the check for the moment a URL is saved or a run is started. Resolves nothing.
 */
export const problemOfUrl = (url: string, policy: Policy): string | undefined => {
  const target = targetOf(url, rulesOf(policy))
  return Result.isFailure(target) ? target.failure : undefined
}
