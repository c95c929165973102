/**
 * The socket that the server listens on. It is opened before anything else, so a busy port changes
 * nothing. Requests that come before the server is ready wait for it.
 *
 * Guarantees: when the scope is closed, no client is connected. A client that is slow, silent or
 * does not speak HTTP is disconnected in time. Leaves out: answering requests.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { requestsHeld } from "@millrace/core/domain/Limits"
import { requestNames } from "@millrace/http/ErrorMiddleware"
import type { HttpServer } from "effect/http"
import type { Scope } from "effect"
import { Effect } from "effect"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { STATUS_CODES } from "node:http"
import * as Closing from "./Closing.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import type { Address } from "./OwnAddress.ts"

/** A socket that is listened on. */
export interface Listener {
  readonly server: HttpServer.HttpServer["Service"]
  /** The address at which this machine reaches it. */
  readonly address: Address
  /** The address it listens on as the system has it; `0.0.0.0` and `::` stand for all. */
  readonly bound: string
  /** Lets the waiting requests through, and all later ones. */
  readonly ready: Effect.Effect<void>
  /** Makes every later answer say that its connection closes after it. */
  readonly beginClosing: Effect.Effect<void>
  /** True after `beginClosing`. */
  readonly isClosing: () => boolean
  /**
   * Accepts no more connections and answers the requests of those accepted. Done when no client is
   * connected, or after five seconds.
   */
  readonly close: Effect.Effect<void>
}

/** The bounds of a client. */
export interface Bounds {
  /** How long the headers of a request may take, from the connection on. */
  readonly headersMillis: number
  /** How long a whole request may take. */
  readonly requestMillis: number
  /** How long a connection is kept between two requests. */
  readonly idleMillis: number
  /** How often the server looks for connections that exceed a bound. */
  readonly lookMillis: number
  /** Connections at the same time; further ones are closed. */
  readonly connections: number
  /** Requests on one connection; it is closed after the last. */
  readonly requestsPerConnection: number
}

/** The bounds of servers. */
export const defaultBounds: Bounds = {
  headersMillis: 10_000,
  requestMillis: 30_000,
  idleMillis: 5_000,
  lookMillis: 1_000,
  connections: 10_000,
  requestsPerConnection: 10_000,
}

/** Keeps requests waiting until it is opened. */
const gate = (server: Server): Effect.Effect<void> => {
  const held: Array<() => void> = []
  // A request with `Expect: 100-continue` waits, too. Whoever reads the body decides about it.
  const gates = ["request", "checkContinue"].map((event) => {
    const hold = (request: IncomingMessage, response: ServerResponse): void => {
      // If the routes listen already, they get this request from the server, and not once more.
      if (server.listenerCount(event) > 1) return
      if (held.length < requestsHeld) held.push(() => server.emit(event, request, response))
      else response.destroy()
    }
    server.on(event, hold)
    return () => server.off(event, hold)
  })
  return Effect.sync(() => {
    for (const open of gates) open()
    for (const pass of held.splice(0)) pass()
  })
}

/** How long a connection is kept after an answer to what is not a request. */
const lingerMillis = 1_000

/** Status, code for machines and sentence. */
type Malformed = readonly [status: number, code: string, sentence: string]

const malformed: { readonly [code: string]: Malformed } = {
  HPE_HEADER_OVERFLOW: [431, "headers_too_large", "The headers of the request are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "request_timeout", "The request took too long to arrive"],
}

const notHttp: Malformed = [400, "not_http", "The request is not HTTP"]

/**
 * Answers malformed HTTP in the form that every error has. If an answer has begun on the
 * connection, closes the connection instead: anything written would become a part of that answer.
 */
const answerMalformed = (
  { isAnswering, server }: Pick<Closing.Closing, "isAnswering" | "server">,
  nextName: () => string,
): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === "ECONNRESET" || isAnswering(socket)) {
      socket.destroy()
      return
    }
    const [status, code, sentence] = malformed[error.code ?? ""] ?? notHttp
    const body = JSON.stringify({ error: sentence })
    const headers = {
      "content-type": "application/json",
      "content-length": body.length,
      "x-content-type-options": "nosniff",
      "x-error-code": code,
      "x-request-id": nextName(),
      connection: "close",
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`)
    // The client has this time to read the answer. Without it, a client that goes on sending could
    // keep the connection for ever.
    setTimeout(() => socket.destroy(), lingerMillis).unref()
  })
}

const refusal = (cause: unknown, host: string, port: number): string => {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === "EADDRINUSE") return `Port ${port} is in use; choose another with --port`
  if (code === "EACCES") return `You may not use port ${port}; choose another with --port`
  if (code === "ENOTFOUND" || code === "EADDRNOTAVAIL" || code === "EAI_AGAIN") {
    return `This machine has no address "${host}"; choose another with --host`
  }
  return `Cannot listen on ${host}:${port}: ${message}`
}

/** How its own machine reaches a server that listens on every interface. */
const reachable: { readonly [host: string]: string } = { "0.0.0.0": "127.0.0.1", "::": "::1" }

const addressOf = (server: Server): Pick<Listener, "address" | "bound"> => {
  const found = server.address()
  if (found === null || typeof found === "string") throw new Error("The server has no address")
  const { address: bound, port } = found
  const family = found.family === "IPv6" ? "IPv6" : "IPv4"
  return { bound, address: { host: reachable[bound] ?? bound, port, family } }
}

/** The server before it listens. */
const create = (bounds: Bounds): Closing.Closing => {
  const made = Closing.create({
    requestTimeout: bounds.requestMillis,
    headersTimeout: bounds.headersMillis,
    keepAliveTimeout: bounds.idleMillis,
    connectionsCheckingInterval: bounds.lookMillis,
  })
  made.server.maxConnections = bounds.connections
  made.server.maxRequestsPerSocket = bounds.requestsPerConnection
  return made
}

/** Opens the port, 0 for any free one. Fails with one line if the port cannot be used. */
export const open = (
  host: string,
  port: number,
  bounds: Bounds = defaultBounds,
): Effect.Effect<Listener, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const closing = create(bounds)
    const { begin, end, isClosing, server: node } = closing
    const ready = gate(node)
    answerMalformed(closing, yield* requestNames)
    const server = yield* NodeHttpServer.make(() => node, { host, port }).pipe(
      Effect.mapError(({ cause }) => CommandFailed.failed(refusal(cause, host, port))),
    )
    yield* Effect.addFinalizer(() => Effect.sync(() => node.closeAllConnections()))
    const places = addressOf(node)
    return { server, ...places, ready, beginClosing: begin, isClosing, close: end }
  })
