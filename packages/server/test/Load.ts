/**
 * Many requests of one kind to one or several servers, over connections that are kept, as fast as
 * they are answered or so many a second.
 *
 * Guarantees: one request at a time on a connection; each reply knows when its request was sent.
 * Leaves out: answers without a length.
 */
import type { Socket } from "node:net"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** One answer. Times are milliseconds of `performance.now()`. */
export interface Reply {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly sentAt: number
  /** When it was meant to be sent, where so many a second were wanted. */
  readonly dueAt: number
  readonly endedAt: number
}

/** One request. */
export interface Ask {
  readonly path: string
  readonly secret?: string
  /** With a body of JSON, it is a POST. */
  readonly body?: string
}

/** What is asked, and how often. */
export interface LoadOptions {
  readonly origins: ReadonlyArray<string>
  /** Each connection asks one of them, again and again. */
  readonly asks: ReadonlyArray<Ask>
  readonly count: number
  /** Connections to all servers together. */
  readonly connections: number
  /** Where it is given, requests are sent at this pace, whatever becomes of them. */
  readonly perSecond?: number
  /** Called before each request is sent, with its number. */
  readonly onSend?: (number: number) => void
  /** True: no more requests are sent. */
  readonly isOver?: () => boolean
}

const separator = Buffer.from("\r\n\r\n")

const readHead = (head: string) => {
  const [first = "", ...lines] = head.split("\r\n")
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(":")
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  return { status: Number(first.split(" ")[1]), headers }
}

/** A connection that is kept. */
class Line {
  readonly #socket: Socket
  readonly #request: Buffer
  #bytes: Buffer = Buffer.alloc(0)
  #settle: ((error: Error | undefined) => void) | undefined

  constructor(origin: string, { body, path, secret }: Ask) {
    const { host, hostname, port } = new URL(origin)
    const authorization = secret === undefined ? "" : `authorization: Bearer ${secret}\r\n`
    const method = body === undefined ? "GET" : "POST"
    const size = Buffer.byteLength(body ?? "")
    const json = `content-type: application/json\r\ncontent-length: ${size}`
    this.#request = Buffer.from(
      `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${authorization}` +
        (body === undefined ? "\r\n" : `${json}\r\n\r\n${body}`),
    )
    this.#socket = connect(Number(port), hostname).setNoDelay(true)
    this.#socket.on("data", (bytes) => {
      this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes])
      this.#settle?.(undefined)
    })
    this.#socket.on("error", (error) => this.#settle?.(error))
    this.#socket.on("close", () => this.#settle?.(new Error("The connection was closed")))
  }

  /** Sends the request and waits for the whole answer. */
  ask(dueAt: number): Promise<Reply> {
    const sentAt = performance.now()
    return new Promise((resolve, reject) => {
      this.#settle = (error) => {
        if (error !== undefined) return reject(error)
        const end = this.#bytes.indexOf(separator)
        if (end < 0) return
        const { headers, status } = readHead(this.#bytes.toString("latin1", 0, end))
        const size = end + separator.length + Number(headers.get("content-length") ?? 0)
        if (this.#bytes.length < size) return
        this.#bytes = this.#bytes.subarray(size)
        this.#settle = undefined
        resolve({ status, headers, sentAt, dueAt, endedAt: performance.now() })
      }
      this.#socket.write(this.#request)
    })
  }

  close(): void {
    this.#settle = undefined
    this.#socket.destroy()
  }
}

/** Sends everything, and waits for every answer. */
export const load = async (options: LoadOptions): Promise<ReadonlyArray<Reply>> => {
  const { asks, connections, count, isOver, onSend, origins, perSecond } = options
  const replies: Array<Reply> = []
  const begun = performance.now()
  let next = 0
  const work = async (index: number) => {
    const origin = origins[index % origins.length]!
    const asked = asks[index % asks.length]!
    let line = new Line(origin, asked)
    while (next < count) {
      if (isOver?.() === true) break
      const number = next++
      const dueAt = perSecond === undefined ? 0 : begun + (number * 1_000) / perSecond
      const early = dueAt - performance.now()
      if (early > 1) await sleep(early)
      onSend?.(number)
      const reply = await line.ask(dueAt).catch((error: unknown) => {
        // A server closes a connection that was idle for seconds, as on a busy machine.
        if (asked.body !== undefined) throw error
        line = new Line(origin, asked)
        return line.ask(dueAt)
      })
      replies.push(reply)
    }
    line.close()
  }
  await Promise.all(Array.from({ length: connections }, (_, index) => work(index)))
  return replies
}
