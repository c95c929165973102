/**
 * The socket the server listens on. It is taken before anything else is touched, so that a busy
 * port costs nothing; requests that come before the server is ready wait for it.
 *
 * Guarantees: once the scope is closed, nobody is connected any more. Leaves out: what is answered.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type { HttpServer } from "effect/http"
import type { Scope } from "effect"
import { Effect } from "effect"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { createServer, STATUS_CODES } from "node:http"
import { StartRefused } from "./StartRefused.ts"
import type { Address } from "./OwnAddress.ts"

/** A socket that is listened on. */
export interface Listener {
  readonly server: HttpServer.HttpServer["Service"]
  /** Where this machine reaches it. */
  readonly address: Address
  /** Lets through what waits, and everything after it. */
  readonly ready: Effect.Effect<void>
}

/** How long a client may take to send a request. */
const requestTimeoutMillis = 30_000

/** How long an idle connection is kept. */
const keepAliveMillis = 5_000

/** How long a request in progress may go on after the server was told to stop. */
const graceful = "5 seconds"

/** How many requests wait for a server that starts; what comes on top is turned away. */
const heldAtMost = 1_000

/** Keeps requests waiting until it is opened. */
const gate = (server: Server): Effect.Effect<void> => {
  const held: Array<readonly [IncomingMessage, ServerResponse]> = []
  const hold = (request: IncomingMessage, response: ServerResponse): void => {
    if (held.length < heldAtMost) held.push([request, response])
    else response.destroy()
  }
  server.on("request", hold)
  return Effect.sync(() => {
    server.off("request", hold)
    for (const [request, response] of held.splice(0)) server.emit("request", request, response)
  })
}

const sentences: { readonly [code: string]: readonly [number, string] } = {
  HPE_HEADER_OVERFLOW: [431, "The headers of the request are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The request took too long to arrive"],
}

/** Answers what is not HTTP at all in the form that every error has. */
const answerMalformed = (server: Server): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === "ECONNRESET") {
      socket.destroy()
      return
    }
    const [status, sentence] = sentences[error.code ?? ""] ?? [400, "The request is not HTTP"]
    const body = JSON.stringify({ error: sentence })
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
  })
}

const refusal = (cause: unknown, host: string, port: number): string => {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === "EADDRINUSE") return `Port ${port} is in use; choose another with --port`
  if (code === "EACCES") return `Port ${port} may not be used by you; choose another with --port`
  if (code === "ENOTFOUND" || code === "EADDRNOTAVAIL" || code === "EAI_AGAIN") {
    return `This machine has no address "${host}"; choose another with --host`
  }
  return `Cannot listen on ${host}:${port}: ${message}`
}

/** What a server that listens on every interface is called by from its own machine. */
const reachable: { readonly [host: string]: string } = { "0.0.0.0": "127.0.0.1", "::": "::1" }

const addressOf = (server: Server): Address => {
  const bound = server.address()
  if (bound === null || typeof bound === "string") throw new Error("The server has no address")
  const family = bound.family === "IPv6" ? "IPv6" : "IPv4"
  return { host: reachable[bound.address] ?? bound.address, port: bound.port, family }
}

/** Takes the port, 0 for any free one. Refused in one line when it is not to be had. */
export const open = (
  host: string,
  port: number,
): Effect.Effect<Listener, StartRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const node = createServer({
      requestTimeout: requestTimeoutMillis,
      headersTimeout: requestTimeoutMillis,
      keepAliveTimeout: keepAliveMillis,
    })
    const ready = gate(node)
    answerMalformed(node)
    const options = { host, port, gracefulShutdownTimeout: graceful } as const
    const server = yield* NodeHttpServer.make(() => node, options).pipe(
      Effect.mapError(
        ({ cause }) => new StartRefused({ message: refusal(cause, host, port), reason: "failed" }),
      ),
    )
    yield* Effect.addFinalizer(() => Effect.sync(() => node.closeAllConnections()))
    return { server, address: addressOf(node), ready }
  })
