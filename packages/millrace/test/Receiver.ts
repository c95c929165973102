/**
 * A receiver of webhooks on this machine, and what its owner does with a request: verifies it with
 * the library of the standard.
 */
import type { Server, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Webhook } from "standardwebhooks"

/** One request, as it arrived. */
export interface Received {
  readonly headers: Record<string, string>
  readonly body: string
}

/** Receives until it is closed. */
export class Receiver implements AsyncDisposable {
  readonly received: Array<Received> = []
  /** False: requests are taken, and answered by `answer` only. */
  answers = true
  readonly #waiting: Array<ServerResponse> = []
  #hears: () => void = () => undefined
  readonly #server: Server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const headers = request.headers as Record<string, string>
      this.received.push({ headers, body: Buffer.concat(chunks).toString() })
      if (this.answers) response.writeHead(204).end()
      else this.#waiting.push(response)
      this.#hears()
    })
  })

  static async open(): Promise<Receiver> {
    const receiver = new Receiver()
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve))
    return receiver
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`
  }

  /** What an engine has to be told so that it may call here. */
  get egress() {
    return { allow: [{ cidr: "127.0.0.1/32", port: this.#port }] }
  }

  /** Answers what waits. */
  answer(): void {
    for (const response of this.#waiting.splice(0)) response.writeHead(204).end()
  }

  /** Resolves when so many requests have come. */
  async has(count: number): Promise<void> {
    while (this.received.length < count) {
      await new Promise<void>((resolve) => (this.#hears = resolve))
    }
  }

  /** The types of the events that verify with one of these secrets, in order of their names. */
  verified(secrets: ReadonlyArray<{ readonly secret: string }>): ReadonlyArray<string> {
    const events = this.received.flatMap(({ body, headers }) =>
      secrets.flatMap(({ secret }) => {
        try {
          return [(new Webhook(secret).verify(body, headers) as { readonly type: string }).type]
        } catch {
          return []
        }
      }),
    )
    return events.toSorted()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
