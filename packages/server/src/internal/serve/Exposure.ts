/**
 * Tells the operator who can reach the server. By default, only its own machine can.
 *
 * Leaves out: firewalls and proxies, which this process cannot see.
 */
import type { Listener } from "./Listener.ts"
import { originOf } from "./OwnAddress.ts"

type Where = Pick<Listener, "address" | "bound">

const isLoopback = (address: string): boolean => /^(?:127\.|::1$|::ffff:127\.)/.test(address)

const isEverywhere = (address: string): boolean => address === "0.0.0.0" || address === "::"

/** The address that a server listens on: `http://127.0.0.1:7411`, and which others. */
export const placeOf = ({ address, bound }: Where): string =>
  originOf(address) + (isEverywhere(bound) ? " and on every other address of this machine" : "")

/** True if only this machine can reach the server. */
export const isOnLoopback = ({ bound }: Pick<Listener, "bound">): boolean => isLoopback(bound)

/** A warning for the operator; `undefined` if only this machine can reach the server. */
export const warningOf = ({ address, bound }: Where): string | undefined => {
  if (isLoopback(bound)) return undefined
  const where = isEverywhere(bound) ? "every address of this machine" : bound
  return (
    `The server listens on ${where}, port ${address.port}, without TLS: others on the network ` +
    "can call it and read its traffic; let only a proxy with TLS reach it, or use --host 127.0.0.1"
  )
}
