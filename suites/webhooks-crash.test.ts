/**
 * Three servers deliver while all of them are killed: no delivery is lost, none is attempted too
 * often or twice at once, and the log has every attempt.
 */
import * as Postgres from "@millrace/postgres/Postgres"
import * as Stores from "@millrace/postgres/Stores"
import type { Delivery } from "@millrace/core/domain/Delivery"
import { AccountId, DeliveryId } from "@millrace/core/domain/Id"
import { Ids } from "@millrace/core/engine/Ids"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import { Effect, Layer, Redacted } from "effect"
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Webhook } from "standardwebhooks"
import { afterEach, describe, expect, it, vi } from "vitest"
import { Dice, seedOf } from "../packages/server/test/kill/Dice.ts"
import { Fleet } from "../packages/server/test/kill/Fleet.ts"
import { masterKey } from "../packages/server/test/ServerProcess.ts"
import { disrupt } from "../packages/server/test/kill/Disruptions.ts"
import { query } from "../packages/server/test/kill/Sql.ts"
import { PostgresServer } from "../packages/postgres/test/PostgresServer.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 })

const count = 10_000
const account = AccountId.make("acc_kill")

/** The schedule of the specification, but for its unit. */
const schedule = { delaysMillis: [50, 300, 600, 900, 1_200], jitter: 0.1, lifeMillis: 3_600_000 }
const hurry = {
  schedule,
  timeoutMillis: 2_000,
  freshMillis: 1_000,
  visibilityMillis: 4_000,
  pollMillis: 100,
}

/** What a receiver does with a delivery, for good: the same whoever asks, and how often. */
const fateOf = (id: string): "well" | "twice" | "never" => {
  const [first = 0, second = 0] = createHash("sha256").update(id).digest()
  const share = (first * 256 + second) / 65_536
  return share < 0.25 ? "never" : share < 0.62 ? "twice" : "well"
}

interface Seen {
  arrivals: number
  delivered: boolean
}

/** Receives, verifies, and fails as often as it is meant to. */
class Receiver {
  readonly seen = new Map<string, Seen>()
  readonly violations: Array<string> = []
  readonly #underWay = new Set<string>()
  readonly #server: Server
  readonly #webhook: Webhook

  private constructor(secret: string) {
    this.#webhook = new Webhook(secret)
    this.#server = createServer((request, response) => this.#receive(request, response))
    this.#server.keepAliveTimeout = 30_000
  }

  static async open(secret: string): Promise<Receiver> {
    const receiver = new Receiver(secret)
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve))
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const id = String(request.headers["webhook-id"])
    if (this.#underWay.has(id)) this.violations.push(`${id}: two attempts at once`)
    this.#underWay.add(id)
    // Over when it was answered, or when whoever asked is no more.
    response.on("close", () => this.#underWay.delete(id))
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const status = this.#judge(id, Buffer.concat(chunks), request)
      setTimeout(() => {
        if (!response.destroyed) response.writeHead(status).end()
      }, 5)
    })
  }

  #judge(id: string, body: Buffer, request: IncomingMessage): number {
    const seen = this.seen.get(id) ?? { arrivals: 0, delivered: false }
    this.seen.set(id, seen)
    seen.arrivals += 1
    try {
      this.#webhook.verify(body, request.headers as Record<string, string>)
    } catch (error) {
      this.violations.push(`${id}: ${String(error)}`)
    }
    const fate = fateOf(id)
    if (fate === "never" || (fate === "twice" && seen.arrivals <= 2)) return 500
    seen.delivered = true
    return 204
  }
}

const deliveryOf = (index: number, port: number): Delivery => {
  const id = DeliveryId.make(`msg_${String(index).padStart(6, "0")}`)
  const origin = `http://127.0.0.1:${port}`
  return {
    id,
    accountId: account,
    runId: null,
    sequence: null,
    type: "node.completed",
    url: `${origin}/hook`,
    origin,
    headers: null,
    body: JSON.stringify({ success: true, id, text: "grüezi 😀" }),
    createdAt: Date.now(),
  }
}

/** Works on the database from beside the servers. */
const within = <A, E>(url: string, work: Effect.Effect<A, E, Webhooks | WebhookStore>) =>
  Effect.runPromise(
    Effect.provide(
      work,
      Webhooks.layer.pipe(
        Layer.provideMerge(Layer.merge(Stores.layer, Ids.layer)),
        Layer.provide(MasterVault.layer(Redacted.make(masterKey))),
        Layer.provide(WebhookTargets.layerRefusing("webhook: not here")),
        Layer.provide(Postgres.layer({ url: Redacted.make(url), maxConnections: 8 })),
      ),
    ),
  )

const secretOf = (url: string) =>
  within(
    url,
    Effect.gen(function* () {
      const [first] = yield* (yield* Webhooks).secrets(account)
      return Redacted.value(first!.secret)
    }),
  )

const insertAll = (url: string, port: number) =>
  within(
    url,
    Effect.gen(function* () {
      const { insert } = yield* WebhookStore
      const all = Array.from({ length: count }, (_, index) => deliveryOf(index, port))
      yield* Effect.forEach(all, insert, { concurrency: 64, discard: true })
    }),
  )

interface Row {
  readonly id: string
  readonly state: string
  readonly begun: number
  readonly numbers: ReadonlyArray<number>
  readonly errors: ReadonlyArray<string | null>
}

const readLog = (url: string) =>
  query<Row>(
    url,
    `SELECT d.id, coalesce(
         max(d.trouble), CASE WHEN bool_or(a.delivered_at > 0) THEN 'DELIVERED' ELSE 'LOST' END
       ) AS state,
       greatest(max(d.begun), max(a.number)) AS begun,
       coalesce(json_agg(a.number ORDER BY a.number) FILTER (WHERE a.number > 0), '[]') AS numbers,
       coalesce(json_agg(a.error ORDER BY a.number) FILTER (WHERE a.number > 0), '[]') AS errors
     FROM deliveries d LEFT JOIN delivery_attempts a ON a.delivery = d.number
     GROUP BY d.number ORDER BY d.id`,
  )

/** Everything that is wrong with one delivery. */
const problemsOf = ({ begun, errors, id, numbers, state }: Row, seen: Seen | undefined) => {
  const problems: Array<string> = []
  const wanted = fateOf(id) === "never" ? "FAILED" : "DELIVERED"
  if (state !== wanted) problems.push(`${id} is ${state}: ${errors.join(", ")}`)
  if (state === "DELIVERED" && seen?.delivered !== true) problems.push(`${id} never arrived`)
  if (begun > 6 || (seen?.arrivals ?? 0) > 6) problems.push(`${id} was attempted too often`)
  if (state === "FAILED" && begun !== 6) problems.push(`${id} was given up after ${begun}`)
  const gapless = Array.from({ length: begun }, (_, index) => index + 1)
  if (numbers.join() !== gapless.join()) problems.push(`${id} has a log of ${numbers.join()}`)
  if ((seen?.arrivals ?? 0) > begun) problems.push(`${id} arrived more often than was logged`)
  return problems
}

const pending = async (url: string): Promise<number> => {
  const [row] = await query<{ readonly left: number }>(
    url,
    "SELECT count(*)::int AS left FROM due_deliveries",
  )
  return row?.left ?? 0
}

describe("three dispatchers under kill -9", () => {
  const parts: Array<() => unknown> = []
  afterEach(async () => {
    for (const end of parts.splice(0).toReversed()) await end()
  })

  it(`bring ${count} deliveries to their ends, and lose none`, async () => {
    const seed = seedOf()
    console.log(`seed ${seed}; KILL_SEED=${seed} repeats it`)
    const folder = mkdtempSync(join(tmpdir(), "millrace-hooks-"))
    parts.push(() => rmSync(folder, { recursive: true, force: true }))
    const journal = join(folder, "journal")
    writeFileSync(journal, "")
    const postgres = await PostgresServer.create()
    parts.push(() => postgres.remove())
    const { url } = postgres
    const receiver = await Receiver.open(await secretOf(url))
    parts.push(() => receiver.close())
    const env = {
      KILL_DELIVERIES: JSON.stringify(hurry),
      MILLRACE_EGRESS_ALLOW: `127.0.0.1/32:${receiver.port}`,
    }
    const fleet = new Fleet({ url, journal, size: 3, env })
    parts.push(() => fleet.clear())
    await fleet.ready()
    const begun = Date.now()
    const disruptions = { kills: 12, terminations: 0, restarts: 0, overMillis: 24_000 }
    const [done] = await Promise.all([
      disrupt(fleet, postgres, new Dice(seed), disruptions),
      insertAll(url, receiver.port),
    ])
    while ((await pending(url)) > 0) {
      if (Date.now() - begun > 400_000) throw new Error(`not done\n${fleet.output}`)
      await sleep(200)
    }
    const seconds = (Date.now() - begun) / 1_000
    const rows = await readLog(url)
    const unknown = rows.filter(({ errors }) => errors.includes("unknown")).length
    const arrivals = [...receiver.seen.values()].reduce((sum, each) => sum + each.arrivals, 0)
    console.log(
      `${rows.length} deliveries, ${arrivals} requests in ${seconds.toFixed(0)} s;`,
      `${done.kills} kills left ${unknown} attempts unknown`,
    )
    expect(rows.length).toBe(count)
    expect(receiver.violations).toEqual([])
    expect(rows.flatMap((row) => problemsOf(row, receiver.seen.get(row.id)))).toEqual([])
    // The kills did hit dispatchers that were at work.
    expect([done.kills, unknown > 5]).toEqual([12, true])
    const ends = await fleet.stop()
    expect(ends).toEqual(ends.map(() => ({ code: 0, signal: null })))
  })
})
