/**
 * What is said about who can reach a server. By default that is its own machine alone.
 *
 * Leaves out: firewalls and proxies, which nobody here knows of.
 */
import type { Listener } from "./Listener.ts"
import { originOf } from "./OwnAddress.ts"

type Where = Pick<Listener, "address" | "bound">

const isLoopback = (address: string): boolean => /^(?:127\.|::1$|::ffff:127\.)/.test(address)

const isEverywhere = (address: string): boolean => address === "0.0.0.0" || address === "::"

/** Where it listens: `http://127.0.0.1:7411`, and on what else. */
export const placeOf = ({ address, bound }: Where): string =>
  originOf(address) + (isEverywhere(bound) ? " and on every other address of this machine" : "")

/** A warning for whoever started it; none where only this machine can reach it. */
export const warningOf = ({ address, bound }: Where): string | undefined => {
  if (isLoopback(bound)) return undefined
  const where = isEverywhere(bound) ? "every address of this machine" : bound
  return (
    `It listens on ${where}, port ${address.port}, and without TLS: others on the network can ` +
    "call it and read what is sent; let only a proxy with TLS reach it, or use --host 127.0.0.1"
  )
}
