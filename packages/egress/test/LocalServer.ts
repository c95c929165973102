/**
 * Real servers on 127.0.0.1 for these tests: each lives as long as its scope and counts who
 * connected, so that a test can say "nobody did".
 */
import type { RequestListener } from "node:http"
import { createServer as createHttpServer } from "node:http"
import type { AddressInfo, Server, Socket } from "node:net"
import { createServer as createTcpServer } from "node:net"
import { Effect } from "effect"

export interface LocalServer {
  readonly port: number
  readonly connections: () => number
  /** Waits until no connection is open. */
  readonly isLeft: Effect.Effect<void>
}

/** Starts any kind of server and closes it, with its connections, at the end of the scope. */
export const listening = (server: Server) => {
  const sockets = new Set<Socket>()
  let count = 0
  server.on("connection", (socket: Socket) => {
    count += 1
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
  })
  const isLeft: Effect.Effect<void> = Effect.callback((resume) => {
    const look = () => {
      const [one] = sockets
      if (one === undefined) resume(Effect.void)
      else one.once("close", look)
    }
    look()
  })
  const listen = Effect.callback<LocalServer>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ port, connections: () => count, isLeft }))
    })
  })
  const close = Effect.callback<void>((resume) => {
    for (const socket of sockets) socket.destroy()
    server.close(() => resume(Effect.void))
  })
  return Effect.acquireRelease(listen, () => close)
}

/** An HTTP server, which closes no connection by itself. */
export const http = (listener: RequestListener) =>
  listening(createHttpServer({ keepAliveTimeout: 0 }, listener))

/** A server that says whatever the test likes, in bytes. */
export const tcp = (onConnection: (socket: Socket) => void) =>
  listening(createTcpServer(onConnection))
