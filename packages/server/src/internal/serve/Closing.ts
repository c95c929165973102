/**
 * A server of HTTP that can stop without breaking a connection that a client counts on.
 *
 * A connection that is kept would be used until the moment it is closed, so from the beginning of
 * the end every answer says that its connection closes after it. Connections that the process has
 * not accepted yet are reset when it stops listening, so it does that right after a turn of the
 * event loop in which there was nothing to accept. Connections without a request come last: they
 * stay for a moment longer, because a request may be on its way.
 *
 * Guarantees: closing ends, whatever clients do. Leaves out: when to begin, and how much longer to
 * accept connections for clients that have not noticed.
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
  /** Says with every answer from now on that its connection closes after it. */
  readonly begin: Effect.Effect<void>
  /** True once that was asked. */
  readonly isClosing: () => boolean
  /** True while an answer that has begun is being sent over a connection. */
  readonly isAnswering: (socket: Duplex) => boolean
  /**
   * Accepts no more connections, answers what was accepted, and is done once nobody is connected;
   * after five seconds at the latest, when requests may still be in progress.
   */
  readonly end: Effect.Effect<void>
}

/** How long a request in progress may go on once no more connections are accepted. */
const gracefulMillis = 5_000

/** How long a connection on which nothing is in progress stays once no more are accepted. */
const idleMillis = 500

/** How often it is looked at which connections have nothing in progress after that. */
const lookMillis = 50

/** How long to look for a turn that is short as well before the server stops listening. */
const quietMillis = 500

/** How long to look for one in which nothing is to be accepted. */
const emptyMillis = 3_000

/** How long the event loop rests between two looks at whether anything comes. */
const restMillis = 2

/** A turn of the event loop that takes longer did something, or the process had to wait. */
const quietTurnMillis = 0.2

/**
 * Acts right after a turn of the event loop in which the server accepted no connection and, as long
 * as the patience lasts, nothing else took time. The rest before every look makes it likely that
 * the machine lets the process go on until it has acted.
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
    // Between a timer and what is immediate after it, the loop asks once for whatever has come.
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

/** Answers that are found by their connection, and say that it closes after them, once it does. */
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

/** Closes connections on which nothing is in progress, also those on which nothing ever came. */
const closeIdle = (server: Server, connections: Iterable<Socket>): void => {
  server.closeIdleConnections()
  for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
}

const endOf = (server: Server, connections: Iterable<Socket>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const closed = Deferred.makeUnsafe<void>()
    const onClosed = () => Deferred.doneUnsafe(closed, Effect.void)
    // Not that of HTTP, which would close idle connections at once.
    const stopListening = () => void NetServer.prototype.close.call(server, onClosed)
    const orElse = () => Effect.sync(stopListening)
    const stopped = whenQuiet(server, quietMillis, stopListening)
    yield* Effect.timeoutOrElse(stopped, { duration: emptyMillis, orElse })
    const look = whenQuiet(server, Infinity, () => closeIdle(server, connections))
    const looks = Effect.forever(Effect.andThen(look, Effect.sleep(lookMillis)))
    const settled = Effect.raceFirst(Deferred.await(closed), Effect.delay(looks, idleMillis))
    yield* Effect.ignore(Effect.timeout(settled, gracefulMillis))
  })

/** Makes a server that listens to nothing yet. */
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
