/**
 * Clients behind a balancer: requests at a steady rate over kept connections, each to the next
 * server in turn. Connections without a request are closed before the servers would.
 *
 * Guarantees: a request is sent again, to the next server, only where the connection was refused,
 * or where the system reset a new one; the latter are counted. Every start has an idempotency key.
 * Leaves out: watching `/readyz`; so whatever a server does when it stops is met by requests.
 */
import { randomUUID } from "node:crypto"
import { Agent, request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/** An answer. */
interface Answer {
  readonly status: number
  readonly body: string
}

/** What is asked. */
interface Asked {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: object
}

/** A request without an answer. */
class Broken extends Error {
  /** Nothing listened. */
  readonly isRefused: boolean
  /** The system reset the connection before it had an answer to its first request. */
  readonly isNewReset: boolean

  constructor(cause: Error, wasKept: boolean) {
    const code = "code" in cause ? String(cause.code) : ""
    super(
      `${cause.message} on a ${wasKept ? "kept" : "new"} connection at ${new Date().toISOString()}`,
    )
    this.isRefused = code === "ECONNREFUSED"
    // Where the server closed the connection in good order, no call to the system failed.
    this.isNewReset = !wasKept && code === "ECONNRESET" && "syscall" in cause
  }
}

const runOf = (body: string): string => (JSON.parse(body) as { readonly runId: string }).runId

/** So many requests may be without an answer. */
const atOnce = 50

/** Less than the five seconds after which servers close a connection that is not used. */
const idleMillis = 4_000

/** Sends requests to servers in turn. */
export class Balancer {
  /** Of every run whose start was answered for. */
  readonly started: Array<string> = []
  /** What no client should see: connections that broke, and answers other than 2xx. */
  readonly faults: Array<string> = []
  /** How many answers came. */
  answers = 0
  /** How often the system reset a new connection. Its request was sent again. */
  resets = 0
  readonly #agent = new Agent({ keepAlive: true, timeout: idleMillis })
  readonly #ports: ReadonlyArray<number>
  readonly #secret: string
  #turn = 0

  constructor(ports: ReadonlyArray<number>, secret: string) {
    this.#ports = ports
    this.#secret = secret
  }

  /**
   * Asks so often a second until told to stop, and waits for the last answers. Waits, too, where
   * the machine is so slow that too many have no answer.
   */
  async load(perSecond: number, workflowId: string, isOver: () => boolean): Promise<void> {
    const begin = performance.now()
    const asked: Array<Promise<void>> = []
    while (!isOver()) {
      await asked.at(-atOnce)
      asked.push(this.#one(asked.length, workflowId))
      await sleep(Math.max(0, begin + (asked.length * 1_000) / perSecond - performance.now()))
    }
    await Promise.all(asked)
  }

  /** Ends every connection. */
  close(): void {
    this.#agent.destroy()
  }

  /** Two starts, then a look at a run. */
  async #one(index: number, workflowId: string): Promise<void> {
    const runId = this.started.at(-1)
    const asked: Asked =
      index % 3 === 2 && runId !== undefined
        ? { method: "GET", path: `/runs/${runId}` }
        : { method: "POST", path: "/runs", body: { workflowId } }
    const name = `${asked.method} ${asked.path}`
    try {
      const { body, status } = await this.#ask(asked)
      this.answers++
      if (status < 200 || status > 299) this.faults.push(`${name}: ${status} ${body}`)
      else if (asked.method === "POST") this.started.push(runOf(body))
    } catch (cause) {
      this.faults.push(`${name}: ${String(cause)}`)
    }
  }

  /** Asks the server whose turn it is; the next one as long as no connection is made. */
  async #ask(asked: Asked): Promise<Answer> {
    const turn = this.#turn++
    const key = randomUUID()
    for (let tries = 0; ; tries++) {
      const port = this.#ports[(turn + tries) % this.#ports.length]!
      try {
        return await this.#send(port, asked, key)
      } catch (cause) {
        if (!(cause instanceof Broken) || tries > this.#ports.length) throw cause
        if (cause.isNewReset) this.resets++
        else if (!cause.isRefused) throw cause
      }
    }
  }

  #send(port: number, { body, method, path }: Asked, key: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const headers = {
        authorization: `Bearer ${this.#secret}`,
        ...(text === undefined
          ? {}
          : {
              "content-type": "application/json",
              "content-length": text.length,
              "idempotency-key": key,
            }),
      }
      const options = { host: "127.0.0.1", port, path: `/api/v1${path}`, method, headers }
      const sent = request({ ...options, agent: this.#agent }, (response) => {
        let answer = ""
        response.setEncoding("utf8").on("data", (part: string) => (answer += part))
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: answer }))
        response.on("error", reject)
      })
      sent.on("error", (cause) => reject(new Broken(cause, sent.reusedSocket))).end(text)
    })
  }
}
