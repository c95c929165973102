/**
 * Receivers that do everything to be in the way, in a process of their own, so that what they hold
 * is not counted as the sender's. Says their ports as one line of JSON; ends with its input.
 */
import type { ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createGzip } from "node:zlib"

/** One byte a second, for ever. */
const drip = (response: ServerResponse): void => {
  response.write("x")
  const timer = setInterval(() => response.write("x"), 1_000)
  response.on("close", () => clearInterval(timer))
}

/** A gigabyte, as fast as it is read. */
const pour = (response: ServerResponse): void => {
  let left = 1e9 / 65_536
  const more = () => {
    while (left-- > 0 && !response.destroyed) if (!response.write(Buffer.alloc(65_536))) return
    response.end()
  }
  response.on("drain", more)
  more()
}

/** Little that would be a lot. */
const explode = (response: ServerResponse): void => {
  response.writeHead(200, { "content-encoding": "gzip" })
  const gzip = createGzip()
  gzip.pipe(response)
  gzip.end(Buffer.alloc(10_000_000))
}

const redirect = (response: ServerResponse): void => {
  response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end()
}

const hangUp = (response: ServerResponse): void => {
  response.writeHead(200, { "content-length": "100" }).write("half", () => response.destroy())
}

/** What they do, and how many do it. */
const casts = [
  ...Array.from({ length: 60 }, () => drip),
  ...[pour, explode, redirect, hangUp].flatMap((cast) => Array.from({ length: 10 }, () => cast)),
]

const open = (cast: (response: ServerResponse) => void): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer((request, response) => {
      response.on("error", () => undefined)
      request.resume().on("end", () => cast(response))
    })
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })

const ports = await Promise.all(casts.map(open))
process.stdout.write(`${JSON.stringify(ports)}\n`)
process.stdin.on("end", () => process.exit()).resume()
