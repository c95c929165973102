// A receiver in a process of its own: answers 204 to whatever it gets, and says where it listens.
// It ends when its parent closes its input.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const server = createServer((request, response) => {
  request.on("data", () => undefined)
  request.on("end", () => response.writeHead(204).end())
})
server.keepAliveTimeout = 60_000
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
process.stdin.on("end", () => process.exit()).resume()
