/**
 * Clients of a fleet, and what they have seen: every answer is kept that says something about what
 * must hold later.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Dice } from "./Dice.ts"
import type { Fleet } from "./Fleet.ts"
import type { Drawing } from "./Work.ts"

/** A run whose start was answered for. */
export interface Acknowledged {
  readonly runId: string
  readonly drawing: Drawing
}

interface Seen {
  readonly id: string
  readonly status: string
  readonly nodeRuns: ReadonlyArray<{
    readonly nodeId: string
    readonly status: string
    readonly finishedAt: string | null
  }>
}

const order = ["QUEUED", "RUNNING", "COMPLETED"]

/** What a server may say when it, or its database, is not there. */
const isExcused = (status: number): boolean => status === 503

/** What clients do, and what they have seen. */
export class Traffic {
  readonly acknowledged: Array<Acknowledged> = []
  /** What no client should ever see. */
  readonly violations: Array<string> = []
  /** How often which answer came; 0 stands for none. */
  readonly answers = new Map<number, number>()
  readonly #fleet: Fleet
  readonly secret: string
  readonly #dice: Dice
  readonly #progress = new Map<string, number>()
  readonly #ended = new Map<string, string>()
  #isOver = false

  constructor(fleet: Fleet, secret: string, dice: Dice) {
    this.#fleet = fleet
    this.secret = secret
    this.#dice = dice
  }

  /** Asks some server; `undefined` when there was no answer, or one that says to come again. */
  async ask<A>(
    method: "GET" | "POST",
    path: string,
    body?: object,
    idempotencyKey?: string,
  ): Promise<A | undefined> {
    const origins = this.#fleet.origins()
    if (origins.length === 0) return undefined
    const response = await fetch(`${this.#dice.pick(origins)}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.secret}`,
        "content-type": "application/json",
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      },
      signal: AbortSignal.timeout(10_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(() => undefined)
    const text = await response?.text().catch(() => undefined)
    const status = response === undefined || text === undefined ? 0 : response.status
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1)
    if (status >= 200 && status < 300) return JSON.parse(text ?? "") as A
    if (status !== 0 && !isExcused(status))
      this.violations.push(`${method} ${path}: ${status} ${text}`)
    return undefined
  }

  /** Asks until there is an answer; throws what no client should see. */
  async insist<A>(
    method: "GET" | "POST",
    path: string,
    body?: object,
    idempotencyKey?: string,
  ): Promise<A> {
    const before = this.violations.length
    for (;;) {
      const answer = await this.ask<A>(method, path, body, idempotencyKey)
      if (answer !== undefined) return answer
      if (this.violations.length > before) throw new Error(this.violations.at(-1))
      await sleep(50)
    }
  }

  /** Stores a workflow. */
  async store({ edges, name, nodes }: Drawing): Promise<string> {
    const { id } = await this.insist<{ id: string }>("POST", "/workflows", { name, nodes, edges })
    return id
  }

  /** Starts one run; tries again, with another one, until a start is answered for. */
  async start(workflowId: string, drawing: Drawing): Promise<string> {
    const { runId } = await this.insist<{ runId: string }>("POST", "/runs", { workflowId })
    this.acknowledged.push({ runId, drawing })
    return runId
  }

  /** Starts so many runs, evenly over so long. */
  async startMany(
    count: number,
    overMillis: number,
    workflows: ReadonlyArray<readonly [id: string, drawing: Drawing]>,
  ): Promise<void> {
    const starts: Array<Promise<unknown>> = []
    for (let index = 0; index < count; index++) {
      starts.push(this.start(...this.#dice.pick(workflows)))
      await sleep(overMillis / count)
    }
    await Promise.all(starts)
  }

  /** Looks at runs that were answered for, until told to stop. */
  async watch(): Promise<void> {
    while (!this.#isOver) {
      await sleep(100)
      if (this.acknowledged.length === 0) continue
      const ids = Array.from({ length: 10 }, () => this.#dice.pick(this.acknowledged).runId)
      const answer = await this.ask<{ runs: ReadonlyArray<Seen> }>("POST", "/runs/batch", { ids })
      if (answer !== undefined) this.#compare(new Set(ids), answer.runs)
    }
  }

  /** Ends {@link watch}. */
  end(): void {
    this.#isOver = true
  }

  #compare(asked: ReadonlySet<string>, runs: ReadonlyArray<Seen>): void {
    if (runs.length !== asked.size) {
      const missing = [...asked].filter((id) => !runs.some((run) => run.id === id))
      this.violations.push(`answered for, and not there: ${missing.join(", ")}`)
    }
    for (const run of runs) {
      const before = this.#progress.get(run.id) ?? 0
      const now = order.indexOf(run.status)
      if (now < before)
        this.violations.push(`${run.id} went from ${order[before]} to ${run.status}`)
      this.#progress.set(run.id, now)
      for (const node of run.nodeRuns) this.#compareNode(`${run.id} ${node.nodeId}`, node)
    }
  }

  /** What was seen to have ended has ended, and then. */
  #compareNode(name: string, { finishedAt, status }: Seen["nodeRuns"][number]): void {
    const before = this.#ended.get(name)
    const now = `${status} ${finishedAt}`
    if (before !== undefined && before !== now)
      this.violations.push(`${name}: ${before}, then ${now}`)
    if (status === "COMPLETED") this.#ended.set(name, now)
  }
}
