/**
 * Which calls are permitted: protocols, ports, networks and bounds, as data.
 *
 * Guarantees: the guard refuses every URL that {@link problemOfUrl} refuses. It may refuse further
 * URLs when it has resolved their names. Networks are parsed once for all calls. Leaves out:
 * resolving.
 */
import { Result } from "effect"
import type { Address, Network } from "./Address.ts"
import { isPublic, isWithin, literalOf, networkOf, parse } from "./Address.ts"
import type { CallRefusal } from "./internal/Failure.ts"
import type { CallBounds } from "./internal/Turns.ts"

/** A protocol, as in the `protocol` of a `URL`. */
export type Protocol = "http:" | "https:"

/** A protocol that is spoken over a socket. */
export type SocketProtocol = "smtp:" | "postgres:"

/** Which ports may be called by each of these protocols. */
export type SocketPorts = { readonly [P in SocketProtocol]: ReadonlyArray<number> }

/** A private network that may be called. */
export interface Exception {
  /** `127.0.0.1/32`. An IPv4 network does not contain the IPv6 addresses that contain it. */
  readonly cidr: string
  /** Absent: every port. */
  readonly port?: number
  /** Absent: all of them. */
  readonly protocols?: ReadonlyArray<Protocol | SocketProtocol>
}

/** Which calls are permitted, and their bounds. */
export interface Policy {
  readonly protocols: ReadonlyArray<Protocol>
  readonly ports: ReadonlyArray<number>
  /** The ports of other protocols, which are called over TLS. */
  readonly sockets: SocketPorts
  /** Exceptions for private installations, tests and the server's own demonstration. */
  readonly allow: ReadonlyArray<Exception>
  /** For the whole call: resolving, connecting, headers and body. */
  readonly timeoutMillis: number
  /** How large an answer may be. */
  readonly maxBodyBytes: number
  /**
   * How long an idle connection is kept for the next call to the same origin and the same judged
   * addresses; 0: every call opens a connection.
   */
  readonly idleMillis: number
  /** How many calls are made at the same time; further ones wait. Null: no bound. */
  readonly calls: CallBounds | null
}

/** The strict policy: https on its usual ports, and no private network. */
export const httpsOnly: Policy = {
  protocols: ["https:"],
  ports: [443, 8443],
  sockets: { "smtp:": [], "postgres:": [] },
  allow: [],
  timeoutMillis: 30_000,
  maxBodyBytes: 1_048_576,
  idleMillis: 0,
  calls: null,
}

/** The policy for nodes that call the web: http, too, and five minutes for each call. */
export const openWeb: Policy = {
  ...httpsOnly,
  protocols: ["http:", "https:"],
  ports: [80, 443, 8080, 8443],
  sockets: { "smtp:": [25, 465, 587, 2525], "postgres:": [5432, 6543] },
  timeoutMillis: 300_000,
}

/** How many characters a URL may have. */
export const maxUrlLength = 8_192

const defaultPorts: { readonly [protocol: string]: number } = { "http:": 80, "https:": 443 }

const all: ReadonlyArray<Protocol | SocketProtocol> = ["http:", "https:", "smtp:", "postgres:"]

const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (defaultPorts[protocol] ?? 0) : Number(port)

/** The part of a policy that judges URLs, with parsed networks. */
export interface Rules extends Pick<Policy, "protocols" | "ports" | "sockets"> {
  readonly allow: ReadonlyArray<Exception & { readonly network: Network }>
}

/** The rules of a policy; throws if the network of an exception is not in CIDR notation. */
export const rulesOf = ({ allow, ports, protocols, sockets }: Policy): Rules => ({
  protocols,
  ports,
  sockets,
  allow: allow.map((each) => ({ ...each, network: networkOf(each.cidr) })),
})

/** The same rules for only these protocols. */
export const narrowed = (rules: Rules, protocols: ReadonlyArray<Protocol>): Rules => {
  const among = <P extends string>(some: ReadonlyArray<P>) =>
    some.filter((each) => (protocols as ReadonlyArray<string>).includes(each))
  return {
    ...rules,
    protocols: among(rules.protocols),
    allow: rules.allow.map((each) => ({ ...each, protocols: among(each.protocols ?? all) })),
  }
}

/** Which addresses may be called by one protocol and port. */
interface Reach {
  /** True: all public ones. */
  readonly isOpen: boolean
  /** And those in these networks. */
  readonly networks: ReadonlyArray<Network>
}

const networksOf = (url: URL, { allow }: Rules): ReadonlyArray<Network> => {
  const port = portOf(url)
  const applies = (each: Exception) =>
    (each.protocols ?? all).some((protocol) => protocol === url.protocol) &&
    (each.port === undefined || each.port === port)
  return allow.filter(applies).map(({ network }) => network)
}

const reachOf = (url: URL, rules: Rules): Reach => ({
  isOpen:
    (rules.protocols as ReadonlyArray<string>).includes(url.protocol) &&
    rules.ports.includes(portOf(url)),
  networks: networksOf(url, rules),
})

/** What no exception permits. */
export const never = (message: string): CallRefusal => ({ message, isAllowable: false })

/** What an exception would permit. */
const unallowed = (message: string): CallRefusal => ({ message, isAllowable: true })

/** A URL that may be called if its address may be. */
export interface CallTarget {
  readonly url: URL
  readonly reach: Reach
  /** The judged address in the URL; `undefined` for a name, which is to be resolved. */
  readonly literal: Address | undefined
  /** The refusal if an address may not be called. */
  readonly refusal: CallRefusal
}

/** True if this address may be called. */
export const permits = ({ isOpen, networks }: Reach, address: Address): boolean =>
  (isOpen && isPublic(address)) || networks.some((each) => isWithin(address, each))

const notPublic = unallowed("The URL does not lead to a public address")

const protocolProblem = (rules: Rules): string => {
  const names = rules.protocols.map((each) => each.slice(0, -1))
  return `Only ${names.join(" and ")} URLs may be called`
}

const problemOfLiteral = ({ literal, reach, refusal }: Omit<CallTarget, "url">) =>
  literal === undefined || permits(reach, literal) ? undefined : refusal

const problemOfTarget = (target: CallTarget, rules: Rules): CallRefusal | undefined => {
  const { reach, url } = target
  if (!reach.isOpen && reach.networks.length === 0) {
    return (rules.protocols as ReadonlyArray<string>).includes(url.protocol)
      ? unallowed(`Port ${portOf(url)} may not be called`)
      : never(protocolProblem(rules))
  }
  if (url.username !== "" || url.password !== "") {
    return never("A URL with a user name or a password may not be called")
  }
  return problemOfLiteral(target)
}

/** The target of a URL, or why it may not be called. Resolves nothing. */
export const targetOf = (text: string, rules: Rules): Result.Result<CallTarget, CallRefusal> => {
  if (text.length > maxUrlLength) {
    return Result.fail(never(`The URL is longer than ${maxUrlLength} characters`))
  }
  const url = URL.parse(text)
  if (url === null) return Result.fail(never("The URL cannot be read"))
  const literal = literalOf(url.hostname)
  const target = { url, reach: reachOf(url, rules), literal, refusal: notPublic }
  const problem = problemOfTarget(target, rules)
  return problem === undefined ? Result.succeed(target) : Result.fail(problem)
}

/** The same target for what nobody on the way may read; over http only to allowed networks. */
export const secretTarget = (
  target: CallTarget,
  what: string,
): Result.Result<CallTarget, CallRefusal> => {
  if (target.url.protocol !== "http:") return Result.succeed(target)
  const refusal = unallowed(`${what} may go over https, or to networks that the operator allows`)
  const kept = { ...target, reach: { ...target.reach, isOpen: false }, refusal }
  const problem = kept.reach.networks.length === 0 ? refusal : problemOfLiteral(kept)
  return problem === undefined ? Result.succeed(kept) : Result.fail(problem)
}

/** Where a socket leads. */
export interface SocketDestination {
  readonly protocol: SocketProtocol
  /** A name or an address, without a port. */
  readonly host: string
  readonly port: number
  /** True: what is sent is sent over TLS. */
  readonly isSecure: boolean
}

/** A host as URLs have it, in one spelling for each; `undefined` if the text is none. */
const hostOf = (text: string): string | undefined => {
  const bare = parse(text)?.kind() === "ipv6" ? `[${text}]` : text
  if (!/^(?:\[[^\s/?#@\\]+\]|[^\s/?#@\\:]+)$/.test(bare)) return undefined
  // The parser knows unusual spellings of addresses for http only.
  return URL.parse(`http://${bare}`)?.hostname
}

const reachOfSocket = (
  url: URL,
  rules: Rules,
  { isSecure, port, protocol }: SocketDestination,
) => ({
  isOpen: isSecure && rules.sockets[protocol].includes(port),
  networks: networksOf(url, rules),
})

const withoutTls = unallowed("Without TLS, only networks that the operator allows may be called")

const hostNotPublic = unallowed("The host does not lead to a public address")

/** The target of a socket, or why it may not be called. Resolves nothing. */
export const targetOfSocket = (
  destination: SocketDestination,
  rules: Rules,
): Result.Result<CallTarget, CallRefusal> => {
  const { isSecure, port, protocol } = destination
  const host = hostOf(destination.host)
  const url = host === undefined ? null : URL.parse(`${protocol}//${host}:${port}`)
  if (url === null) return Result.fail(never("The host or the port cannot be read"))
  const reach = reachOfSocket(url, rules, destination)
  if (!reach.isOpen && reach.networks.length === 0) {
    const isListed = rules.sockets[protocol].includes(port)
    return Result.fail(isListed ? withoutTls : unallowed(`Port ${port} may not be called`))
  }
  const refusal = isSecure ? hostNotPublic : withoutTls
  const target = { url, reach, literal: literalOf(url.hostname), refusal }
  const problem = problemOfLiteral(target)
  return problem === undefined ? Result.succeed(target) : Result.fail(problem)
}

/**
 * Why a URL may not be called, as one sentence; `undefined` if nothing is known against it. Use it
 * when a URL is saved. Resolves nothing.
 */
export const problemOfUrl = (url: string, policy: Policy): string | undefined => {
  const target = targetOf(url, rulesOf(policy))
  return Result.isFailure(target) ? target.failure.message : undefined
}
