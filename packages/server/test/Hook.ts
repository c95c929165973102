/**
 * A receiver of webhooks on this machine, that remembers what it got.
 */
import { EventEmitter, once } from "node:events"
import type { IncomingHttpHeaders, Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** One request, as it arrived. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Receives until it is closed. */
export class Hook {
  readonly received: Array<Received> = []
  /** What it answers from now on. */
  status = 204
  /** Until then it takes requests, and answers none. */
  held: Promise<void> = Promise.resolve()
  readonly #server: Server
  readonly #arrivals = new EventEmitter()

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        this.received.push({ headers: request.headers, body: Buffer.concat(chunks) })
        void this.held.then(() => response.writeHead(this.status).end("thanks"))
        this.#arrivals.emit("one")
      })
    })
  }

  static async open(): Promise<Hook> {
    const hook = new Hook()
    await new Promise<void>((resolve) => hook.#server.listen(0, "127.0.0.1", resolve))
    return hook
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`
  }

  /** What a server has to be told so that it may call here. */
  get allowed(): string {
    return `127.0.0.1/32:${this.port}`
  }

  /** The payloads so far. */
  get payloads(): ReadonlyArray<Readonly<Record<string, unknown>>> {
    return this.received.map(({ body }) => JSON.parse(body.toString()))
  }

  /** Waits until so many have come. */
  async has(count: number): Promise<void> {
    const signal = AbortSignal.timeout(90_000)
    while (this.received.length < count) await once(this.#arrivals, "one", { signal })
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
