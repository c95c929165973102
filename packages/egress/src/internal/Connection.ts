/**
 * Connections to judged addresses, each for one call at a time.
 *
 * Guarantees: connects only to one of the given addresses, even if the name resolves to others by
 * now. A connection serves a further call only if that call has the same origin and the same
 * addresses. Leaves out: judging the addresses. Nothing imports this module before the first call,
 * because its library takes long to load.
 */
import type { Socket } from "node:net"
import { isIP } from "node:net"
import { buildConnector, Client } from "undici"
import { bareHost, canonical } from "../Address.ts"
import { fixedLookup, WrongPeer } from "./FixedLookup.ts"

/** The destination of a connection. */
export interface Destination {
  readonly url: URL
  /** Judged addresses in the spelling of {@link canonical}; at least one. */
  readonly addresses: ReadonlyArray<string>
  /** How long connecting may take. */
  readonly timeoutMillis: number
}

/** How many bytes the headers of an answer may have. */
const maxHeaderBytes = 16_384

/** One connection. It is opened with the first call. */
export class Connection {
  readonly key: string
  readonly client: Client
  /** True if it may be kept for another call. */
  readonly isKept: boolean
  phase: "connecting" | "connected" = "connecting"
  /** True if its last call ended in a way that allows another one. */
  isFree = false
  #opening: Socket | undefined

  constructor(key: string, destination: Destination, idleMillis: number) {
    this.key = key
    this.isKept = idleMillis > 0
    this.client = new Client(destination.url.origin, {
      connect: this.#connector(destination),
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(this.isKept ? { keepAliveTimeout: idleMillis, keepAliveMaxTimeout: idleMillis } : {}),
    })
  }

  close(): void {
    this.#opening?.destroy()
    void this.client.destroy()
  }

  #connector({ addresses, timeoutMillis, url }: Destination): buildConnector.connector {
    const host = bareHost(url.hostname)
    const servername = isIP(host) === 0 ? { servername: host } : {}
    const connect = buildConnector({
      allowH2: false,
      maxCachedSessions: 0,
      timeout: timeoutMillis,
      lookup: fixedLookup(addresses),
      autoSelectFamily: true,
    })
    return (options, callback) => {
      // The connector returns its socket, although its type does not say so. The socket is
      // destroyed when the call is interrupted. Else it would go on connecting until the timeout.
      this.#opening = connect({ ...options, ...servername }, (error, socket) => {
        if (error !== null) return callback(error, null)
        if (addresses.includes(canonical(socket.remoteAddress ?? ""))) {
          this.phase = "connected"
          return callback(null, socket)
        }
        socket.destroy()
        return callback(new WrongPeer("reached another address"), null)
      }) as unknown as Socket | undefined
    }
  }
}

/** The connections of one guard. Mutable; every method is one synchronous step. */
export class Connections {
  readonly #idle = new Map<string, Array<Connection>>()
  readonly #idleMillis: number

  constructor(idleMillis: number) {
    this.#idleMillis = idleMillis
  }

  /** A connection for one caller, until it is given back. */
  take(destination: Destination): Connection {
    const { addresses, url } = destination
    const key = `${url.origin} ${addresses.toSorted().join(" ")}`
    const waiting = this.#idle.get(key)?.pop()
    if (waiting === undefined) return this.#open(key, destination)
    waiting.isFree = false
    return waiting
  }

  /** Keeps a connection for the next call, or closes it. */
  giveBack(connection: Connection): void {
    if (!connection.isFree || !connection.isKept) return connection.close()
    const waiting = this.#idle.get(connection.key)
    if (waiting === undefined) this.#idle.set(connection.key, [connection])
    else waiting.push(connection)
  }

  close(): void {
    for (const connection of [...this.#idle.values()].flat()) connection.close()
    this.#idle.clear()
  }

  #open(key: string, destination: Destination): Connection {
    const connection = new Connection(key, destination, this.#idleMillis)
    // The other side has closed it, or it was idle for too long.
    connection.client.on("disconnect", () => this.#forget(connection))
    return connection
  }

  #forget(connection: Connection): void {
    connection.isFree = false
    const waiting = this.#idle.get(connection.key)
    const index = waiting?.indexOf(connection) ?? -1
    if (waiting === undefined || index < 0) return
    waiting.splice(index, 1)
    if (waiting.length === 0) this.#idle.delete(connection.key)
    connection.close()
  }
}
