/**
 * Which IP addresses belong to the public internet.
 *
 * Guarantees: a public address is unicast, and is in no block that is private, shared, special or
 * transitional. A public IPv6 address is in the block allocated for the internet (2000::/3). Leaves
 * out: names; they have to be resolved first.
 */
import { isIP } from "node:net"
import ipaddr from "ipaddr.js"

/** A parsed address. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A parsed network: an address in it, and how many bits all its addresses share. */
export type Network = readonly [Address, number]

/** Parses an address; `undefined` for any other text, such as a name. */
export const parse = (text: string): Address | undefined => {
  const family = isIP(text)
  if (family === 0) return undefined
  // `isIP` accepts IPv4 only as four plain decimal numbers.
  return family === 4 ? new ipaddr.IPv4(text.split(".").map(Number)) : ipaddr.IPv6.parse(text)
}

/** True for a network in CIDR notation. */
export const isCidr = (text: string): boolean => ipaddr.isValidCIDR(text)

/** Parses a network in CIDR notation, such as `127.0.0.1/32`; throws for any other text. */
export const networkOf = (cidr: string): Network => {
  if (!isCidr(cidr)) throw new Error(`"${cidr}" is not a network in CIDR notation`)
  return cidr.includes(":") ? ipaddr.IPv6.parseCIDR(cidr) : ipaddr.IPv4.parseCIDR(cidr)
}

const internet = networkOf("2000::/3")

/** True if the address is in the network. Addresses of the other family never are. */
export const isWithin = (address: Address, [base, bits]: Network): boolean =>
  address.kind() === base.kind() && address.match(base, bits)

/**
 * True for an address of the public internet. An IPv6 address that contains an IPv4 address
 * (mapped, NAT64, 6to4, Teredo) is never public.
 */
export const isPublic = (address: Address): boolean =>
  address.range() === "unicast" && (address.kind() === "ipv4" || isWithin(address, internet))

/** One spelling for each address, for comparisons. Other text is returned unchanged. */
export const canonical = (address: string): string => parse(address)?.toString() ?? address

const loopback = new ipaddr.IPv4([127, 0, 0, 1])

/**
 * The address in a URL's host; `undefined` for a name. The URL parser has already turned unusual
 * spellings (`2130706433`, `0x7f.1`, full-width digits) into the usual one. `localhost` and the
 * names below it mean the loopback address.
 */
export const literalOf = (host: string): Address | undefined => {
  const bare = bareHost(host)
  return parse(bare) ?? (bare === "localhost" || bare.endsWith(".localhost") ? loopback : undefined)
}

/** A URL's host as resolvers and certificates have it: without brackets or a dot at the end. */
export const bareHost = (host: string): string => {
  if (host.startsWith("[")) return host.slice(1, -1)
  return host.endsWith(".") ? host.slice(0, -1) : host
}
