/**
 * Every operation of the interface, asked once, with how long each answer took.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Arena } from "./Arena.ts"

/** An answer; status 0 where there was none. */
export interface Reply {
  readonly name: string
  readonly status: number
  readonly body: unknown
  readonly millis: number
}

/** Asks, and takes the time. */
export const probe = async (name: string, ask: () => Promise<Response>): Promise<Reply> => {
  const begun = Date.now()
  const response = await ask().catch(() => undefined)
  const text = (await response?.text().catch(() => "")) ?? ""
  const isJson = response?.headers.get("content-type")?.startsWith("application/json") === true
  return {
    name,
    status: response?.status ?? 0,
    body: isJson && text !== "" ? JSON.parse(text) : text,
    millis: Date.now() - begun,
  }
}

const operations: ReadonlyArray<readonly [method: string, path: string, body?: object]> = [
  ["GET", "/workflows"],
  ["POST", "/workflows", { name: "new", nodes: [], edges: [] }],
  ["GET", "/workflows/{workflow}"],
  ["PATCH", "/workflows/{workflow}", { name: "flow" }],
  ["POST", "/workflows/{workflow}/duplicate"],
  ["GET", "/runs"],
  ["POST", "/runs", { workflowId: "{workflow}" }],
  ["GET", "/runs/run_unknown"],
  ["POST", "/runs/batch", { ids: ["run_unknown"] }],
  ["POST", "/runs/run_unknown/cancel"],
  ["GET", "/node-types"],
]

/** Asks the servers of an arena. */
export class Probe {
  readonly #arena: Arena
  readonly #workflowId: string

  constructor(arena: Arena, workflowId: string) {
    this.#arena = arena
    this.#workflowId = workflowId
  }

  /** Every operation of every server, all at once. */
  everything(): Promise<ReadonlyArray<Reply>> {
    const asked = this.#arena.fleet
      .origins()
      .flatMap((origin) =>
        operations.map(([method, path, body]) =>
          probe(`${method} ${path}`, () => this.#ask(origin, method, path, body)),
        ),
      )
    return Promise.all(asked)
  }

  /** What every server says of itself. */
  health(): Promise<ReadonlyArray<Reply>> {
    const urls = this.#arena.fleet
      .origins()
      .flatMap((origin) => [`${origin}/healthz`, `${origin}/readyz`])
    return Promise.all(urls.map((url) => probe(url, () => fetch(url))))
  }

  /** Waits until every server says that it can work. */
  async untilReady(): Promise<void> {
    const until = Date.now() + 60_000
    while (!(await this.health()).every(({ status }) => status === 200)) {
      if (Date.now() > until) throw new Error(`Not ready again\n${this.#arena.fleet.output}`)
      await sleep(50)
    }
  }

  /** Cancels a run at some server. */
  cancel(id: string): Promise<Response> {
    const origin = this.#arena.dice.pick(this.#arena.fleet.origins())
    return this.#ask(origin, "POST", `/runs/${id}/cancel`)
  }

  #ask(origin: string, method: string, path: string, body?: object): Promise<Response> {
    const filled = (text: string) => text.replaceAll("{workflow}", this.#workflowId)
    return fetch(`${origin}/api/v1${filled(path)}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#arena.traffic.secret}`,
        "content-type": "application/json",
      },
      signal: AbortSignal.timeout(60_000),
      ...(body === undefined ? {} : { body: filled(JSON.stringify(body)) }),
    })
  }
}
