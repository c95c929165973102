/**
 * A receiver of webhooks on this machine, that remembers what it got.
 */
import type { IncomingHttpHeaders, Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

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
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        this.received.push({ headers: request.headers, body: Buffer.concat(chunks) })
        response.writeHead(this.status).end("thanks")
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
    const until = Date.now() + 90_000
    while (this.received.length < count) {
      if (Date.now() > until) throw new Error(`Only ${this.received.length} of ${count} came`)
      await sleep(10)
    }
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
