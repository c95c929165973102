/**
 * Which IP addresses belong to the public internet.
 *
 * Guarantees: an address is public only when it is known to be unicast and in nobody's private,
 * shared, special or transitional block; of IPv6 only what is allocated for the internet
 * (2000::/3) can be. Leaves out: names; they have to be resolved first.
 */
import { isIP } from "node:net"
import ipaddr from "ipaddr.js"

/** An address that has been read. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network that has been read: an address in it, and how many bits all of its addresses share. */
export type Network = readonly [Address, number]

/** Reads an address; `undefined` for text that is none, such as a name. */
export const parse = (text: string): Address | undefined => {
  const family = isIP(text)
  if (family === 0) return undefined
  // Of the fourth family only four plain decimal numbers come this far.
  return family === 4 ? new ipaddr.IPv4(text.split(".").map(Number)) : ipaddr.IPv6.parse(text)
}

/** True for a network in CIDR notation. */
export const isCidr = (text: string): boolean => ipaddr.isValidCIDR(text)

/** Reads a network in CIDR notation, `127.0.0.1/32`; throws where it is none. */
export const networkOf = (cidr: string): Network => {
  if (!isCidr(cidr)) throw new Error(`"${cidr}" is not a network in CIDR notation`)
  return cidr.includes(":") ? ipaddr.IPv6.parseCIDR(cidr) : ipaddr.IPv4.parseCIDR(cidr)
}

const internet = networkOf("2000::/3")

/** True when the address lies in the network, both of the same family. */
export const isWithin = (address: Address, [base, bits]: Network): boolean =>
  address.kind() === base.kind() && address.match(base, bits)

/**
 * True for an address that anybody on the internet may be sent to. An IPv6 address that wraps an
 * IPv4 one (mapped, NAT64, 6to4, Teredo) is not public, whatever it wraps.
 */
export const isPublic = (address: Address): boolean =>
  address.range() === "unicast" && (address.kind() === "ipv4" || isWithin(address, internet))

/** One spelling for each address, so that two can be compared; other text comes back as it is. */
export const canonical = (address: string): string => parse(address)?.toString() ?? address

const loopback = new ipaddr.IPv4([127, 0, 0, 1])

/**
 * The address that a URL's host spells out, if it is no name. The URL parser has already turned
 * every unusual spelling (`2130706433`, `0x7f.1`, full-width digits) into the usual one.
 * `localhost` and the names below it count as the loopback address: that is what they stand for.
 */
export const literalOf = (host: string): Address | undefined => {
  const bare = bareHost(host)
  return parse(bare) ?? (bare === "localhost" || bare.endsWith(".localhost") ? loopback : undefined)
}

/** A URL's host as resolvers and certificates know it: no brackets, no dot at the end. */
export const bareHost = (host: string): string => {
  if (host.startsWith("[")) return host.slice(1, -1)
  return host.endsWith(".") ? host.slice(0, -1) : host
}
