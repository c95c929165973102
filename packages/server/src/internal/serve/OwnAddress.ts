/**
 * How a graph calls the server that executes it, whatever port that listens on today.
 *
 * `http://millrace.internal` always means this server, as a line in a hosts file would have it.
 * So what is stored names no port: a workflow keeps working after a restart on another one, and so
 * does a run that was interrupted by the restart.
 *
 * Guarantees: the guard opens for exactly this server's address and port, and for what the operator
 * allowed; everything else is judged as ever.
 */
import { Egress } from "@millrace/egress/Egress"
import type { Exception } from "@millrace/egress/Policy"
import * as Outbound from "@millrace/nodes/Outbound"
import { Effect, Layer } from "effect"

/** The origin that means this server. `.internal` is reserved for private use. */
export const ownOrigin = "http://millrace.internal"

/** Where this server can be called from the machine it is on. */
export interface Address {
  /** An address in numbers; never one that means all interfaces. */
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

/** The same URL, with {@link ownOrigin} replaced by where the server really is. */
export const resolveOwn = (url: string, address: Address): string => {
  const parsed = URL.parse(url)
  if (parsed?.origin !== ownOrigin) return url
  parsed.host = hostOf(address)
  return parsed.href
}

/** The guard for graphs of a server at this address: the open web, itself, and `allow`. */
export const layer = (address: Address, allow: ReadonlyArray<Exception>): Layer.Layer<Egress> =>
  Layer.effect(
    Egress,
    Effect.map(Egress, (guard) =>
      Egress.of({
        request: (call) => guard.request({ ...call, url: resolveOwn(call.url, address) }),
        judge: (url) => guard.judge(resolveOwn(url, address)),
      }),
    ),
  ).pipe(Layer.provide(Outbound.layer([allowed(address), ...allow])))
