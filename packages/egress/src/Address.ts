/**
 * Which IP addresses belong to the public internet.
 *
 * Guarantees: an address is public only when it is known to be unicast and in nobody's private,
 * shared, special or transitional block; of IPv6 only what is allocated for the internet
 * (2000::/3) can be. Leaves out: names; they have to be resolved first.
 */
import { isIP } from "node:net"
import ipaddr from "ipaddr.js"

const internet: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3]

/** An address, which this is; the family is known, so that it need not be tried. */
const parse = (address: string): ipaddr.IPv4 | ipaddr.IPv6 =>
  isIP(address) === 4 ? ipaddr.IPv4.parse(address) : ipaddr.IPv6.parse(address)

/**
 * True for an address that anybody on the internet may be sent to. An IPv6 address that wraps an
 * IPv4 one (mapped, NAT64, 6to4, Teredo) is not public, whatever it wraps. Text that is no address
 * is not public either.
 */
export const isPublic = (address: string): boolean => {
  if (isIP(address) === 0) return false
  const parsed = parse(address)
  if (parsed.range() !== "unicast") return false
  return parsed.kind() === "ipv4" || parsed.match(internet)
}

/** True when the address lies in the network, both of the same family: `127.0.0.1/32`. */
export const isWithin = (address: string, cidr: string): boolean => {
  if (isIP(address) === 0) return false
  const parsed = parse(address)
  const network = cidr.includes(":") ? ipaddr.IPv6.parseCIDR(cidr) : ipaddr.IPv4.parseCIDR(cidr)
  return parsed.kind() === network[0].kind() && parsed.match(network)
}

/** True for a network in CIDR notation. */
export const isCidr = (text: string): boolean => ipaddr.isValidCIDR(text)

/** One spelling for each address, so that two can be compared; other text comes back as it is. */
export const canonical = (address: string): string =>
  isIP(address) === 0 ? address : parse(address).toString()

/**
 * The address that a URL's host spells out, if it is no name. The URL parser has already turned
 * every unusual spelling (`2130706433`, `0x7f.1`, full-width digits) into the usual one.
 * `localhost` and the names below it count as the loopback address: that is what they stand for.
 */
export const literalOf = (host: string): string | undefined => {
  const bare = bareHost(host)
  if (isIP(bare) !== 0) return bare
  return bare === "localhost" || bare.endsWith(".localhost") ? "127.0.0.1" : undefined
}

/** A URL's host as resolvers and certificates know it: no brackets, no dot at the end. */
export const bareHost = (host: string): string =>
  host.startsWith("[") ? host.slice(1, -1) : host.replace(/\.$/, "")
