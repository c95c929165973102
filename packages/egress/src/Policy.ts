/**
 * Which calls are permitted: protocols, ports, networks and bounds, as data.
 *
 * Guarantees: the guard refuses every URL that {@link problemOfUrl} refuses. It may refuse further
 * URLs when it has resolved their names. Networks are parsed once for all calls. Leaves out:
 * resolving.
 */
import { Result } from "effect"
import type { Address, Network } from "./Address.ts"
import { isPublic, isWithin, literalOf, networkOf } from "./Address.ts"
import type { CallBounds } from "./internal/Turns.ts"

/** A protocol, as in the `protocol` of a `URL`. */
export type Protocol = "http:" | "https:"

/** A private network that may be called. */
export interface Exception {
  /** `127.0.0.1/32`. An IPv4 network does not contain the IPv6 addresses that contain it. */
  readonly cidr: string
  /** Absent: every port. */
  readonly port?: number
  /** Absent: http and https. */
  readonly protocols?: ReadonlyArray<Protocol>
}

/** Which calls are permitted, and their bounds. */
export interface Policy {
  readonly protocols: ReadonlyArray<Protocol>
  readonly ports: ReadonlyArray<number>
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
  allow: [],
  timeoutMillis: 30_000,
  maxBodyBytes: 1_048_576,
  idleMillis: 0,
  calls: null,
}

/** The policy for nodes that call the web: http, too, and a minute for each call. */
export const openWeb: Policy = {
  ...httpsOnly,
  protocols: ["http:", "https:"],
  ports: [80, 443, 8080, 8443],
  timeoutMillis: 60_000,
}

/** How many characters a URL may have. */
export const maxUrlLength = 8_192

const defaultPorts: { readonly [protocol: string]: number } = { "http:": 80, "https:": 443 }

const both: ReadonlyArray<Protocol> = ["http:", "https:"]

const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (defaultPorts[protocol] ?? 0) : Number(port)

/** The part of a policy that judges URLs, with parsed networks. */
export interface Rules extends Pick<Policy, "protocols" | "ports"> {
  readonly allow: ReadonlyArray<Exception & { readonly network: Network }>
}

/** The rules of a policy; throws if the network of an exception is not in CIDR notation. */
export const rulesOf = ({ allow, ports, protocols }: Policy): Rules => ({
  protocols,
  ports,
  allow: allow.map((each) => ({ ...each, network: networkOf(each.cidr) })),
})

/** The same rules for only these protocols. */
export const narrowed = (rules: Rules, protocols: ReadonlyArray<Protocol>): Rules => {
  const among = (all: ReadonlyArray<Protocol>) => all.filter((each) => protocols.includes(each))
  return {
    ...rules,
    protocols: among(rules.protocols),
    allow: rules.allow.map((each) => ({ ...each, protocols: among(each.protocols ?? both) })),
  }
}

/** Which addresses may be called by one protocol and port. */
interface Reach {
  /** True: all public ones. */
  readonly isOpen: boolean
  /** And those in these networks. */
  readonly networks: ReadonlyArray<Network>
}

const reachOf = (url: URL, { allow, ports, protocols }: Rules): Reach => {
  const port = portOf(url)
  const isAmong = (some: ReadonlyArray<string>) => some.includes(url.protocol)
  const applies = (each: Exception) =>
    isAmong(each.protocols ?? both) && (each.port === undefined || each.port === port)
  return {
    isOpen: isAmong(protocols) && ports.includes(port),
    networks: allow.filter(applies).map(({ network }) => network),
  }
}

/** A URL that may be called if its address may be. */
export interface CallTarget {
  readonly url: URL
  readonly reach: Reach
  /** The judged address in the URL; `undefined` for a name, which is to be resolved. */
  readonly literal: Address | undefined
}

/** True if this address may be called. */
export const permits = ({ isOpen, networks }: Reach, address: Address): boolean =>
  (isOpen && isPublic(address)) || networks.some((each) => isWithin(address, each))

/** The message about an address that is not public. It does not show the address. */
export const notPublic = "The URL does not lead to a public address"

const protocolProblem = (rules: Rules): string => {
  const names = rules.protocols.map((each) => each.slice(0, -1))
  return `Only ${names.join(" and ")} URLs may be called`
}

const problemOfTarget = ({ literal, reach, url }: CallTarget, rules: Rules): string | undefined => {
  if (!reach.isOpen && reach.networks.length === 0) {
    return (rules.protocols as ReadonlyArray<string>).includes(url.protocol)
      ? `Port ${portOf(url)} may not be called`
      : protocolProblem(rules)
  }
  if (url.username !== "" || url.password !== "") {
    return "A URL with a user name or a password may not be called"
  }
  return literal === undefined || permits(reach, literal) ? undefined : notPublic
}

/** The target of a URL, or why it may not be called, as one sentence. Resolves nothing. */
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
 * Why a URL may not be called, as one sentence; `undefined` if nothing is known against it. Use it
 * when a URL is saved. Resolves nothing.
 */
export const problemOfUrl = (url: string, policy: Policy): string | undefined => {
  const target = targetOf(url, rulesOf(policy))
  return Result.isFailure(target) ? target.failure : undefined
}
