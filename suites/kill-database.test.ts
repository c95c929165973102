/**
 * A database in trouble: stopped, frozen, full or locked up. Every request is answered in
 * time, and when the trouble is over everything goes on by itself.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it, vi } from "vitest"
import type { Stored } from "../packages/server/test/kill/Arena.ts"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { lateMillis } from "../packages/server/test/kill/Late.ts"
import type { Reply } from "../packages/server/test/kill/Probe.ts"
import { probe, Probe } from "../packages/server/test/kill/Probe.ts"
import { Hogs, query, sessionsOf, terminate } from "../packages/server/test/kill/Sql.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let arena: Arena
afterEach(() => arena.close())

const open = async (): Promise<readonly [Arena, Probe, Stored]> => {
  const env = {
    MILLRACE_LEASE: "3s",
    MILLRACE_DATABASE_CONNECTIONS: "5",
    MILLRACE_REQUEST_TIMEOUT: "1s",
  }
  arena = await Arena.open({ seed: seedOf(), size: 2, env, maxConnections: 30 })
  const workflow = await arena.workflow("flow", 20, 800)
  const probes = new Probe(arena, workflow[0])
  return [arena, probes, workflow]
}

const sentence = "The store is unavailable; try again"

/** Each answer came in time, and says in one sentence that the store is away. */
const expectUnavailable = (replies: ReadonlyArray<Reply>): void => {
  expect(replies.filter(({ millis }) => millis > 1_000 + lateMillis)).toEqual([])
  for (const { body, name, status } of replies) {
    expect([name, status, body]).toEqual([name, 503, { error: sentence }])
  }
}

/** Asks everything while there is trouble, lets it end, and tells what is wrong afterwards. */
const through = async (
  [stage, probes, workflow]: Awaited<ReturnType<typeof open>>,
  trouble: { readonly begin: () => Promise<unknown>; readonly end: () => Promise<unknown> },
): Promise<ReadonlyArray<string>> => {
  const { traffic } = stage
  await traffic.startMany(40, 1_000, [workflow])
  const before = traffic.acknowledged.length
  await trouble.begin()
  for (let round = 0; round < 2; round++) {
    expectUnavailable(await probes.everything())
    for (const { millis, name, status } of await probes.health()) {
      expect([name, status]).toEqual([name, name.endsWith("/healthz") ? 200 : 503])
      expect(millis).toBeLessThan(1_000 + lateMillis)
    }
  }
  await trouble.end()
  const ended = Date.now()
  await probes.untilReady()
  await traffic.startMany(10, 500, [workflow])
  console.log(`well again after ${Date.now() - ended} ms`)
  expect(traffic.acknowledged.length).toBe(before + 10)
  await stage.settled()
  // Nobody had to be started again.
  expect(stage.fleet.seats.flatMap(({ ends }) => ends)).toEqual([])
  return stage.problems()
}

describe("a database in trouble", () => {
  it("may be stopped and started again", async () => {
    const stage = await open()
    const { postgres } = stage[0]
    const trouble = { begin: () => postgres.stop("QUIT"), end: () => postgres.start() }
    expect(await through(stage, trouble)).toEqual([])
  })

  it("may be frozen as a whole", async () => {
    const stage = await open()
    const { postgres } = stage[0]
    const trouble = { begin: async () => postgres.freeze(), end: async () => postgres.thaw() }
    expect(await through(stage, trouble)).toEqual([])
  })

  it("may have no connection left", async () => {
    const stage = await open()
    const hogs = new Hogs(stage[0].postgres.url)
    const trouble = { begin: () => hogs.takeAll(), end: () => hogs.release() }
    expect(await through(stage, trouble)).toEqual([])
  })

  it("may refuse to write", async () => {
    const stage = await open()
    const { postgres } = stage[0]
    const setReadOnly = async (value: "on" | "off") => {
      const name = "default_transaction_read_only"
      await query(postgres.url, `ALTER SYSTEM SET ${name} = ${value}`)
      await query(postgres.url, "SELECT pg_reload_conf()")
      await sleep(200)
    }
    const trouble = { begin: () => setReadOnly("on"), end: () => setReadOnly("off") }
    expect(await through(stage, trouble)).toEqual([])
  })

  it("may freeze one connection after the other, which are given up", async () => {
    const [stage, probes, workflow] = await open()
    const { postgres, traffic } = stage
    const flow = traffic.startMany(150, 15_000, [workflow])
    for (const pid of (await sessionsOf(postgres.url)).slice(0, 4)) {
      postgres.freeze([pid])
      const replies = await probes.everything()
      expect(replies.filter(({ millis }) => millis > 1_000 + lateMillis)).toEqual([])
      await sleep(2_000)
    }
    await flow
    // Nobody thaws them: everything goes on over other connections.
    await stage.settled()
    expect(await stage.problems()).toEqual([])
    expect(stage.fleet.seats.flatMap(({ ends }) => ends)).toEqual([])
  })

  it("may be frozen in the middle of requests", async () => {
    const [stage, probes, workflow] = await open()
    const { dice, postgres, traffic } = stage
    for (let round = 0; round < 4; round++) {
      const ids: Array<string> = []
      for (let index = 0; index < 20; index++) ids.push(await traffic.start(...workflow))
      const cancels = ids.map((id) => probe("cancel", () => probes.cancel(id)))
      await sleep(dice.below(30))
      postgres.freeze()
      const replies = await Promise.all(cancels)
      postgres.thaw()
      expect(replies.filter(({ millis }) => millis > 1_000 + lateMillis)).toEqual([])
      expect(replies.filter(({ status }) => ![200, 409, 503].includes(status))).toEqual([])
      await probes.untilReady()
    }
    await stage.settled()
    for (const pid of await sessionsOf(postgres.url)) await terminate(postgres.url, pid)
    await probes.untilReady()
  })
})
