/**
 * A mail server for tests, without TLS: it takes every message, but those to addresses that begin
 * with `unknown`, which it refuses for good, and with `later`, which it refuses for now.
 */
import { once } from "node:events"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"

/** A message as it came. */
export interface ReceivedMail {
  readonly to: string
  readonly text: string
}

/** Answers a line of a sender; collects what it sends. */
const conversation = (received: Array<ReceivedMail>) => {
  let to = ""
  let body: Array<string> | undefined
  return (line: string): string | undefined => {
    if (body !== undefined) {
      if (line !== ".") {
        body.push(line)
        return undefined
      }
      received.push({ to, text: body.join("\n").replaceAll("=\n", "").replaceAll("=3D", "=") })
      body = undefined
      return "250 taken"
    }
    const [command = ""] = line.toUpperCase().split(/[ :]/)
    if (command === "RCPT") {
      to = /<(.*)>/.exec(line)![1]!
      if (to.startsWith("unknown")) return "550 no such user"
      return to.startsWith("later") ? "451 try later" : "250 fine"
    }
    if (command === "DATA") {
      body = []
      return "354 go on"
    }
    return command === "QUIT" ? "221 bye" : "250 fine"
  }
}

/** Begins to listen; the server stops with the process. */
export const mailServer = async () => {
  const received: Array<ReceivedMail> = []
  const server = createServer((socket) => {
    const answer = conversation(received)
    let rest = ""
    socket.on("error", () => {})
    socket.write("220 test\r\n")
    socket.on("data", (bytes) => {
      const lines = (rest + bytes.toString()).split("\r\n")
      rest = lines.pop()!
      for (const line of lines) {
        const said = answer(line)
        if (said !== undefined) socket.write(`${said}\r\n`)
      }
    })
  }).listen(0, "127.0.0.1")
  server.unref()
  await once(server, "listening")
  return { port: (server.address() as AddressInfo).port, received }
}
