/**
 * Three servers on one Postgres, the clock of one two minutes behind and that of another one two
 * minutes ahead: every wait is over at its time, whichever server began it and whichever goes on
 * with it, because all of them go by the clock of the database. How late each one was is printed:
 * less than a second on a machine that has time.
 */
import { AccountId, DeliveryId } from "@millrace/core/domain/Id"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import * as Postgres from "@millrace/postgres/Postgres"
import * as Stores from "@millrace/postgres/Stores"
import { Effect, Layer, Redacted } from "effect"
import type { IncomingMessage, Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { shiftedBy } from "../packages/server/test/kill/Fleet.ts"
import { lateMillis } from "../packages/server/test/kill/Late.ts"
import { ServerProcess } from "../packages/server/test/ServerProcess.ts"
import { withSql } from "../packages/server/test/kill/Sql.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

/** How far the clocks of the servers are ahead, in milliseconds. */
const clocks = [-120_000, 0, 120_000]

const delayMillis = 5_000
const retryMillis = 6_000
const limitMillis = 4_000
const againMillis = 3_000

const token = "a-token-of-operators-for-this-test-alone-0123456789"

/** What clocks of whole milliseconds may be early by. */
const tickMillis = 5

const parts: Array<() => unknown> = []
afterEach(async () => {
  for (const end of parts.splice(0).toReversed()) await end()
})

const position = { x: 0, y: 0 }
const delayNode = (id: string, millis: number) => ({
  id,
  type: "delay",
  position,
  data: { inputs: { for: millis } },
})

/** Fails once, and is tried again after a time that is always the same. */
const retried = {
  id: "again",
  type: "trial",
  position,
  data: {
    inputs: { acts: ["fail", "ok"], millis: 0 },
    retry: { attempts: 2, initial: retryMillis, jitter: 0 },
  },
}

/** What is started, how it must end, and how long after its start. */
const workflows = {
  delay: { body: { nodes: [delayNode("wait", delayMillis)] }, millis: delayMillis },
  retry: { body: { nodes: [retried] }, millis: retryMillis },
  "long limit": {
    body: { nodes: [delayNode("wait", delayMillis)], settings: { timeoutMillis: 60_000 } },
    millis: delayMillis,
  },
  "short limit": {
    body: { nodes: [delayNode("wait", 60_000)], settings: { timeoutMillis: limitMillis } },
    millis: limitMillis,
  },
} as const
type Kind = keyof typeof workflows
const kinds = Object.keys(workflows) as ReadonlyArray<Kind>

/** A run that was started on the server with this clock. */
interface Started {
  readonly id: string
  readonly kind: Kind
  readonly clock: number
}

const store = async ({ traffic }: Arena): Promise<ReadonlyMap<Kind, string>> => {
  const stored = new Map<Kind, string>()
  for (const kind of kinds) {
    const body = { name: kind, edges: [], ...workflows[kind].body }
    stored.set(kind, (await traffic.insist<{ id: string }>("POST", "/workflows", body)).id)
  }
  return stored
}

/** Starts one run of each kind on one server. */
const startOn = ({ fleet, traffic }: Arena, stored: ReadonlyMap<Kind, string>, place: number) =>
  Promise.all(
    kinds.map(async (kind): Promise<Started> => {
      const response = await fetch(`${fleet.seats[place]!.origin}/api/v1/runs`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${traffic.secret}`,
          "content-type": "application/json",
        },
        body: JSON.stringify({ workflowId: stored.get(kind) }),
      })
      expect(response.status).toBe(201)
      const { runId } = (await response.json()) as { runId: string }
      return { id: runId, kind, clock: clocks[place]! }
    }),
  )

/** What is recorded of a run, and between which two looks it came to its end. */
interface Ended {
  readonly id: string
  readonly status: string
  readonly error: string | null
  readonly startedAt: number
  readonly finishedAt: number
  /** How often it was handed over. */
  readonly fence: number
  readonly seenOpenAt: number
  readonly seenEndedAt: number
}

const looks = `
  SELECT id, status, error::text, started_at::float8 AS "startedAt",
    finished_at::float8 AS "finishedAt", fencing_token AS fence,
    floor(extract(epoch FROM now()) * 1000)::float8 AS now
  FROM runs WHERE id = ANY ($1::text[])`

/** Looks at runs until all of them have ended, by the database's clock. */
const watch = (url: string, started: ReadonlyArray<Started>) =>
  withSql(url, (sql) =>
    Effect.gen(function* () {
      const ids = started.map(({ id }) => id)
      const open = new Map<string, number>()
      const ended = new Map<string, Ended>()
      while (ended.size < ids.length) {
        type Row = Omit<Ended, "seenOpenAt" | "seenEndedAt"> & { readonly now: number }
        for (const { now, ...row } of yield* sql.unsafe<Row>(looks, [ids])) {
          if (row.finishedAt === null) open.set(row.id, now)
          else if (!ended.has(row.id)) {
            ended.set(row.id, { ...row, seenOpenAt: open.get(row.id) ?? 0, seenEndedAt: now })
          }
        }
        yield* Effect.sleep(50)
      }
      return ended
    }),
  )

/** Everything that is wrong with the end of a run. */
const problemsOf = ({ clock, kind }: Started, ended: Ended): ReadonlyArray<string> => {
  const { error, finishedAt, seenEndedAt, seenOpenAt, startedAt, status } = ended
  const name = `${kind}, begun at ${clock / 1_000} s`
  const late = finishedAt - startedAt - workflows[kind].millis
  const wanted = kind === "short limit" ? "FAILED" : "COMPLETED"
  const facts: ReadonlyArray<readonly [boolean, string]> = [
    [status === wanted, `is ${status}: ${error}`],
    [late >= -tickMillis && late < lateMillis, `is ${late} ms late`],
    // The record tells the database's time, whoever wrote it.
    [
      finishedAt >= seenOpenAt - lateMillis,
      `says that it ended ${seenOpenAt - finishedAt} ms early`,
    ],
    [finishedAt <= seenEndedAt + tickMillis, `says that it ends in ${finishedAt - seenEndedAt} ms`],
  ]
  return facts.filter(([holds]) => !holds).map(([, sentence]) => `${name} ${sentence}`)
}

const tell = (what: string, started: ReadonlyArray<Started>, ends: ReadonlyMap<string, Ended>) => {
  for (const kind of kinds) {
    const lines = started
      .filter((each) => each.kind === kind)
      .map(({ clock, id }) => {
        const { fence, finishedAt, startedAt } = ends.get(id)!
        const late = finishedAt - startedAt - workflows[kind].millis
        return `${clock / 1_000} s: ${late} ms late (${fence} owners)`
      })
    console.log(`${what}, ${kind} of ${workflows[kind].millis} ms: ${lines.join("; ")}`)
  }
}

/** The code with which `millrace doctor` ends, and the lines that it says. */
const consult = async (env: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) => {
  const doctor = new ServerProcess(["doctor", ...args], env)
  const { code } = await doctor.ended
  return [code, ...doctor.stderr.trim().split("\n")]
}

/** When each delivery arrived, by its name. It is refused the first time. */
class Receiver {
  readonly arrivals = new Map<string, Array<number>>()
  readonly #server: Server = createServer((request, response) => {
    const times = this.#note(request)
    request.resume().on("end", () => response.writeHead(times.length === 1 ? 500 : 204).end())
  })

  async open(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #note(request: IncomingMessage): ReadonlyArray<number> {
    const id = String(request.headers["webhook-id"])
    const times = [...(this.arrivals.get(id) ?? []), Date.now()]
    this.arrivals.set(id, times)
    return times
  }
}

/** Stores deliveries beside the servers, each of which then looks for them. */
const insertDeliveries = (url: string, port: number, count: number) =>
  Effect.runPromise(
    WebhookStore.use(({ insert }) =>
      Effect.forEach(Array.from({ length: count }).keys(), (index) => {
        const origin = `http://127.0.0.1:${port}`
        return insert({
          id: DeliveryId.make(`msg_${index}`),
          accountId: AccountId.make("acc_clock"),
          runId: null,
          sequence: null,
          type: "node.completed",
          url: `${origin}/hook`,
          origin,
          headers: null,
          body: "{}",
          createdAt: Date.now(),
        })
      }),
    ).pipe(
      Effect.provide(
        Stores.layerStorage.pipe(
          Layer.provide(Postgres.layer({ url: Redacted.make(url), maxConnections: 1 })),
        ),
      ),
    ),
  )

describe("on servers whose clocks are two minutes behind, right, and two minutes ahead", () => {
  it("every wait is over at its time", async () => {
    const receiver = new Receiver()
    const port = await receiver.open()
    parts.push(() => receiver.close())
    const schedule = { delaysMillis: [againMillis], jitter: 0, lifeMillis: 60_000 }
    const arena = await Arena.open({
      seed: seedOf(),
      size: clocks.length,
      clocks,
      env: {
        KILL_DELIVERIES: JSON.stringify({ schedule, pollMillis: 100 }),
        MILLRACE_EGRESS_ALLOW: `127.0.0.1/32:${port}`,
        MILLRACE_ADMIN_TOKEN: token,
      },
    })
    parts.push(() => arena.close())
    const { fleet, postgres } = arena
    const stored = await store(arena)

    const places = [...clocks.keys()]
    const each = (await Promise.all(places.map((place) => startOn(arena, stored, place)))).flat()
    await insertDeliveries(postgres.url, port, 12)
    const ends = await watch(postgres.url, each)
    tell("all at work", each, ends)
    expect(each.flatMap((run) => problemsOf(run, ends.get(run.id)!))).toEqual([])

    // Each begins runs and is killed: another one goes on with them.
    for (const place of places) {
      const begun = await startOn(arena, stored, place)
      await sleep(500)
      await fleet.seats[place]!.server.end("SIGKILL")
      const later = await watch(postgres.url, begun)
      tell(`${clocks[place]! / 1_000} s was killed`, begun, later)
      expect(begun.flatMap((run) => problemsOf(run, later.get(run.id)!))).toEqual([])
      await fleet.ready()
    }

    const pauses = [...receiver.arrivals.values()].map(([first = 0, second = 0]) => second - first)
    console.log(`deliveries again after ${pauses.join(", ")} ms`)
    expect(pauses).toHaveLength(12)
    for (const pause of pauses) {
      expect(pause).toBeGreaterThanOrEqual(againMillis - tickMillis)
      expect(pause).toBeLessThan(againMillis + lateMillis)
    }

    // The servers whose clocks are off say so, and work.
    const told = await Promise.all(
      fleet.seats.map(async ({ origin }) => {
        const ready = await fetch(`${origin}/readyz`)
        const { warnings = [] } = (await ready.json()) as { warnings?: ReadonlyArray<string> }
        return [ready.status, ...warnings.map((text) => text.replace(/^.* is |\..*$/g, ""))]
      }),
    )
    expect(told).toEqual([
      [200, expect.stringMatching(/^1(20|19)$/)],
      [200],
      [200, expect.stringMatching(/^1(20|19)$/)],
    ])

    // So does the doctor, of its own machine and of a server that it asks.
    const { url } = postgres
    const own = await consult({ DATABASE_URL: url, ...shiftedBy(-120_000) })
    const [behind, right, ahead] = fleet.seats.map(({ origin }) => String(origin))
    const asked = await Promise.all(
      [behind, right, ahead].map((origin) =>
        consult({ MILLRACE_ADMIN_TOKEN: token }, "--url", String(origin)),
      ),
    )
    const well = expect.stringMatching(/^All credits add up/)
    const of = (side: string) => expect.stringMatching(`^The clock .* s ${side} the database's`)
    expect([own, ...asked]).toEqual([
      [0, of("behind"), well],
      [0, of("behind"), well],
      [0, well],
      [0, of("ahead of"), well],
    ])
  })
})
