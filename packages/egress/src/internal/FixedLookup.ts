/**
 * A lookup for connections to judged addresses. It asks no resolver.
 */
import type { LookupFunction } from "node:net"
import { isIP } from "node:net"

/** A lookup that answers with the given addresses, whatever the name is. */
export const fixedLookup =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_hostname, options, callback) => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }))
    if (options.all === true) callback(null, all)
    else callback(null, all[0]?.address ?? "", all[0]?.family ?? 4)
  }

/** The connection reached an address that it was not sent to. */
export class WrongPeer extends Error {}
