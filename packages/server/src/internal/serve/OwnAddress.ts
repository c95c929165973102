/**
 * How a workflow calls the server that executes it, on any port.
 *
 * `http://millrace.internal` always means this server. So a stored workflow names no port. After a
 * restart on another port, the workflow still works, and so does an interrupted run.
 *
 * Guarantees: beside public addresses, the egress guard allows exactly this server's address and
 * port, and what the operator allows.
 */
import { Egress } from "@millrace/egress/Egress"
import type { Exception, SocketPorts } from "@millrace/egress/Policy"
import * as Outbound from "@millrace/nodes/Outbound"
import { Effect, Layer } from "effect"
import { serveVariables } from "../config/Variables.ts"

/** The origin that means this server. `.internal` is reserved for private use. */
export const ownOrigin = "http://millrace.internal"

/** The address at which this machine reaches the server. */
export interface Address {
  /** A numeric address; never one that means all interfaces. */
  readonly host: string
  readonly port: number
  readonly family: "IPv4" | "IPv6"
}

const hostOf = ({ family, host, port }: Address): string =>
  `${family === "IPv6" ? `[${host}]` : host}:${port}`

/** The address as the beginning of a URL: `http://127.0.0.1:7411`. */
export const originOf = (address: Address): string => `http://${hostOf(address)}`

const allowed = ({ family, host, port }: Address): Exception => ({
  cidr: `${host}/${family === "IPv6" ? 128 : 32}`,
  port,
  protocols: ["http:"],
})

/** The same URL, with {@link ownOrigin} replaced by the server's address. */
export const resolveOwn = (url: string, address: Address): string => {
  const parsed = URL.parse(url)
  if (parsed?.origin !== ownOrigin) return url
  parsed.host = hostOf(address)
  return parsed.href
}

/** The egress guard of a server at this address. Allows the open web, the server, and `allow`. */
export const layer = (
  address: Address,
  allow: ReadonlyArray<Exception>,
  ports: Partial<SocketPorts> = {},
): Layer.Layer<Egress> =>
  Layer.effect(
    Egress,
    Effect.map(Egress, (guard) =>
      Egress.of({
        request: (call) => guard.request({ ...call, url: resolveOwn(call.url, address) }),
        judge: (url) => guard.judge(resolveOwn(url, address)),
        socket: guard.socket,
      }),
    ),
  ).pipe(
    Layer.provide(
      Outbound.layer([allowed(address), ...allow], ports, serveVariables.egressAllow.name),
    ),
  )
