/**
 * Real receivers on this machine, which note every request as it came over the wire.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo, Server, Socket } from "node:net"
import { createServer as createTcpServer } from "node:net"
import { Effect } from "effect"

/** One request. */
export interface Received {
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const rawBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

/** Starts any server and closes it, with its connections, at the end of the scope. */
export const listening = (server: Server, host = "127.0.0.1") => {
  const sockets = new Set<Socket>()
  let count = 0
  server.on("connection", (socket: Socket) => {
    count += 1
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
  })
  const listen = Effect.callback<{ port: number; connections: () => number }, Error>((resume) => {
    server.once("error", (error) => resume(Effect.fail(error)))
    server.listen(0, host, () => {
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ port, connections: () => count }))
    })
  })
  const close = Effect.callback<void>((resume) => {
    for (const socket of sockets) socket.destroy()
    server.close(() => resume(Effect.void))
  })
  return Effect.acquireRelease(listen, () => close)
}

/** A receiver that notes what it gets and answers as it is told; 204 where nothing is said. */
export const make = Effect.fnUntraced(function* (
  reply: (received: Received, response: ServerResponse) => void = (_, response) =>
    response.writeHead(204).end(),
) {
  const requests: Array<Received> = []
  const server = createServer((request, response) => {
    void rawBody(request).then((body) => {
      const headers = request.headers as Record<string, string>
      const received = { id: headers["webhook-id"] ?? "", headers, body }
      requests.push(received)
      reply(received, response)
    })
  })
  const { port } = yield* Effect.orDie(listening(server))
  return { requests, origin: `http://127.0.0.1:${port}` }
})

/** A receiver that says whatever the test likes, in bytes. */
export const raw = (onConnection: (socket: Socket) => void) =>
  Effect.map(Effect.orDie(listening(createTcpServer(onConnection))), ({ connections, port }) => ({
    connections,
    origin: `http://127.0.0.1:${port}`,
  }))
