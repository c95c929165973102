/**
 * An HTTP server that can stop without breaking a connection on which a client sends a request.
 *
 * - A client uses a kept connection until it is closed. So from `begin` on, every answer says that
 *   its connection closes after it.
 * - The system resets connections that the process has not accepted when it stops listening. So the
 *   server stops listening right after a turn of the event loop that had nothing to accept.
 * - A request may be on its way on a connection without one. So those connections are closed last,
 *   a moment later.
 *
 * Guarantees: closing ends, whatever clients do. Leaves out: when to begin, and how long to accept
 * connections after that.
 */
import { Clock, Deferred, Effect } from "effect"
import type {
  IncomingMessage,
  OutgoingHttpHeader,
  OutgoingHttpHeaders,
  Server,
  ServerOptions,
} from "node:http"
import { createServer, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Server as NetServer } from "node:net"
import type { Duplex } from "node:stream"

/** A server, and how it is stopped. */
export interface Closing {
  readonly server: Server
  /** Makes every later answer say that its connection closes after it. */
  readonly begin: Effect.Effect<void>
  /** True after `begin`. */
  readonly isClosing: () => boolean
  /** True while an answer that has begun is being sent over a connection. */
  readonly isAnswering: (socket: Duplex) => boolean
  /**
   * Accepts no more connections and answers the requests of those accepted. Done when no client is
   * connected; after five seconds at the latest, even if requests are still in progress.
   */
  readonly end: Effect.Effect<void>
}

/** How long a request in progress may go on once no more connections are accepted. */
const gracefulMillis = 5_000

/** How long a connection on which nothing is in progress stays once no more are accepted. */
const idleMillis = 500

/** The pause between two rounds that close idle connections. */
const lookMillis = 50

/** How long to look for a turn that accepted nothing and was also short. */
const quietMillis = 500

/** How long to look for a turn that accepted nothing, before the server stops listening anyway. */
const emptyMillis = 3_000

/** The pause between two looks at a turn. */
const restMillis = 2

/** A longer turn of the event loop did work, or the process was not scheduled. */
const quietTurnMillis = 0.2

/**
 * Calls `act` right after a turn of the event loop in which the server accepted no connection.
 * During `patienceMillis` the turn must also be short. The pause before every look makes it likely
 * that the system does not interrupt the process between the turn and `act`.
 */
const whenQuiet = Effect.fnUntraced(function* (
  server: Server,
  patienceMillis: number,
  act: () => void,
): Effect.fn.Return<void> {
  const clock = yield* Clock.Clock
  const millisNow = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  yield* Effect.callback<void>((resume) => {
    const until = millisNow() + patienceMillis
    let hasAccepted = false
    let isOver = false
    let timer: NodeJS.Timeout
    const onConnection = () => (hasAccepted = true)
    const stop = () => {
      isOver = true
      clearTimeout(timer)
      server.off("connection", onConnection)
    }
    const look = (before: number) => {
      if (isOver) return
      const now = millisNow()
      if (hasAccepted || (now - before > quietTurnMillis && now < until)) {
        rest()
        return
      }
      act()
      stop()
      resume(Effect.void)
    }
    // Between a timer and the `setImmediate` that it calls, the loop polls for connections once.
    const rest = () => {
      timer = setTimeout(() => {
        hasAccepted = false
        setImmediate(look, millisNow())
      }, restMillis)
    }
    server.on("connection", onConnection)
    rest()
    return Effect.sync(stop)
  })
})

type Headers = OutgoingHttpHeaders | Array<OutgoingHttpHeader>

/**
 * A class of answers. Each is kept in `begun` by its connection. While the server is closing, an
 * answer says that its connection closes after it.
 */
const answersOf = (isClosing: () => boolean, begun: WeakMap<Duplex, ServerResponse>) =>
  class<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(status: number, message?: string, headers?: Headers): this
    override writeHead(status: number, headers?: Headers): this
    override writeHead(status: number, first?: string | Headers, headers?: Headers): this {
      if (isClosing()) this.shouldKeepAlive = false
      if (this.socket !== null) begun.set(this.socket, this)
      return typeof first === "object"
        ? super.writeHead(status, first)
        : super.writeHead(status, first, headers)
    }
  }

/** Closes connections without a request in progress, also those that never had a request. */
const closeIdle = (server: Server, connections: Iterable<Socket>): void => {
  server.closeIdleConnections()
  for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
}

const endOf = (server: Server, connections: Iterable<Socket>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const closed = Deferred.makeUnsafe<void>()
    const onClosed = () => Deferred.doneUnsafe(closed, Effect.void)
    // The `close` of `node:http` would close idle connections at once.
    const stopListening = () => void NetServer.prototype.close.call(server, onClosed)
    const orElse = () => Effect.sync(stopListening)
    const stopped = whenQuiet(server, quietMillis, stopListening)
    yield* Effect.timeoutOrElse(stopped, { duration: emptyMillis, orElse })
    const look = whenQuiet(server, Infinity, () => closeIdle(server, connections))
    const looks = Effect.forever(Effect.andThen(look, Effect.sleep(lookMillis)))
    const settled = Effect.raceFirst(Deferred.await(closed), Effect.delay(looks, idleMillis))
    yield* Effect.ignore(Effect.timeout(settled, gracefulMillis))
  })

/** Makes a server that does not listen yet. */
export const create = (options: ServerOptions): Closing => {
  let hasBegun = false
  const isClosing = () => hasBegun
  const begun = new WeakMap<Duplex, ServerResponse>()
  const isAnswering = (socket: Duplex) => begun.get(socket)?.writableFinished === false
  const server = createServer({ ...options, ServerResponse: answersOf(isClosing, begun) })
  const connections = new Set<Socket>()
  server.on("connection", (socket) => {
    connections.add(socket)
    socket.once("close", () => connections.delete(socket))
  })
  const begin = Effect.sync(() => {
    hasBegun = true
  })
  const end = Effect.andThen(begin, endOf(server, connections))
  return { server, begin, isClosing, isAnswering, end }
}
