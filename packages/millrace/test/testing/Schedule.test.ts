/**
 * What a caller can rely on about schedules: each time starts one run, over pauses, crashes and
 * changes of summer time, and what starts none is on record.
 */
import type { NewSchedule, TriggerChange } from "millrace"
import { defineNode } from "millrace"
import type { TestEngine } from "millrace/testing"
import { testEngine } from "millrace/testing"
import { assert, describe, expect, it } from "vitest"
import { refusal } from "../Sample.ts"

const begin = "2026-01-01T00:00:00.000Z"

const hourly = { type: "schedule", cron: "0 * * * *" } as const

type Given = Omit<NewSchedule, "type">

/** An engine with a workflow, and a schedule of it. */
const opened = async (given: Given, { now = begin, wait = "1 second" } = {}) => {
  const engine = await testEngine({ now })
  const drawing = engine
    .workflow("Report")
    .node("in", "request", { fields: [{ name: "day", type: "string", required: false }] })
    .node("wait", "delay", { for: wait })
  const { id: workflowId } = await engine.workflows.create(drawing)
  const made = await engine.triggers.create(workflowId, { type: "schedule", ...given })
  const read = async () => {
    const trigger = await engine.triggers.get(workflowId, made.id)
    assert(trigger.type === "schedule")
    return trigger
  }
  return { engine, workflowId, made, read }
}

const all = async (engine: Pick<TestEngine, "runs">, query = {}) => {
  const runs = []
  for await (const run of engine.runs.list({ limit: 50, ...query })) runs.push(run)
  return runs.toReversed()
}

/** When runs were made, such as `01T06:00`. */
const times = async (engine: Pick<TestEngine, "runs">) =>
  (await all(engine)).map(({ createdAt }) => createdAt.slice(8, 16))

describe("A schedule", () => {
  it("starts a run at each of its times, which names it", async () => {
    const { engine, made, read } = await opened({
      cron: "0 0 */6 * * *",
      values: { day: "today" },
    })
    await using _ = engine
    expect(made.nextTimes).toHaveLength(10)
    expect(made.nextTimes[1]).toBe("2026-01-01T12:00:00.000Z")
    await engine.clock.advance("1 day")
    await engine.clock.runToEnd()
    expect(await times(engine)).toEqual(["01T06:00", "01T12:00", "01T18:00", "02T00:00"])
    const runs = await all(engine, { triggerId: made.id })
    expect(runs).toHaveLength(4)
    const last = runs.at(-1)!
    expect(last).toMatchObject({ status: "COMPLETED", source: "schedule", triggerId: made.id })
    expect((await engine.runs.get(last.id)).context?.values).toEqual({ day: "today" })
    expect(await read()).toMatchObject({
      lastAt: "2026-01-02T00:00:00.000Z",
      lastRunId: last.id,
      nextAt: "2026-01-02T06:00:00.000Z",
      missed: 0,
      lastError: null,
    })
  })

  it("starts runs in an interval, from its start and before its end", async () => {
    const { engine, made, read } = await opened({
      everySeconds: 5_400,
      startAt: "2026-01-01T01:00:00Z",
      endAt: "2026-01-01T05:30:00Z",
    })
    await using _ = engine
    expect(made.nextTimes).toHaveLength(3)
    const rare = { type: "schedule", cron: "0 0 29 2 *" } as const
    const { nextTimes } = await engine.triggers.create(made.workflowId, rare)
    expect(nextTimes.map((time) => time.slice(0, 4))).toEqual(["2028", "2032"])
    await engine.clock.advance("1 day")
    expect(await times(engine)).toEqual(["01T01:00", "01T02:30", "01T04:00"])
    expect(await read()).toMatchObject({ nextAt: null, nextTimes: [], enabled: true })
  })

  it("starts one run a day through a year of Berlin, at the time on its clocks", async () => {
    const { engine } = await opened(
      { cron: "30 2 * * *", timezone: "Europe/Berlin" },
      { now: "2025-12-31T23:00:00Z", wait: "1 second" },
    )
    await using _ = engine
    await engine.clock.advance("365 days")
    const runs = await all(engine)
    expect(runs).toHaveLength(365)
    const options = { timeZone: "Europe/Berlin", dateStyle: "short", timeStyle: "short" } as const
    const local = runs.map(({ createdAt }) =>
      new Intl.DateTimeFormat("sv", options).format(new Date(createdAt)),
    )
    const [days, clocks] = [
      local.map((text) => text.slice(0, 10)),
      local.map((text) => text.slice(11)),
    ]
    expect(new Set(days).size).toBe(365)
    // On the day on which clocks jump from two to three.
    expect(clocks.filter((clock) => clock !== "02:30")).toEqual(["03:00"])
    expect(days[clocks.indexOf("03:00")]).toBe("2026-03-29")
  }, 60_000)

  it("starts each time once, though the process crashes and another one goes on", async () => {
    const { engine, read } = await opened({ cron: "*/10 * * * *" })
    await using _ = engine
    for (let n = 0; n < 6; n++) {
      await engine.clock.advance("10 minutes")
      await engine.crash()
      await engine.restart()
    }
    await engine.clock.advance("5 minutes")
    const expected = ["00:10", "00:20", "00:30", "00:40", "00:50", "01:00"]
    expect(await times(engine)).toEqual(expected.map((time) => `01T${time}`))
    expect((await all(engine)).every(({ status }) => status === "COMPLETED")).toBe(true)
    expect((await read()).missed).toBe(0)
  })

  it.each([
    ["none", [], 5, "2026-01-01T05:00:00.000Z"],
    ["last", ["01T05:30"], 4, "2026-01-01T04:00:00.000Z"],
    ["all", Array.from({ length: 5 }, () => "01T05:30"), 0, null],
  ] as const)("catches up %s after a pause", async (catchUp, expected, missed, lastMissedAt) => {
    const { engine, read } = await opened({ cron: "0 * * * *", catchUp })
    await using _ = engine
    await engine.crash()
    await engine.clock.advance("330 minutes")
    await engine.restart()
    await engine.clock.advance("1 second")
    expect(await times(engine)).toEqual(expected)
    const why = "It was not started within a minute: no server was there, or the store failed"
    const lastError = missed === 0 ? null : why
    const nextAt = "2026-01-01T06:00:00.000Z"
    expect(await read()).toMatchObject({ missed, lastMissedAt, lastError, nextAt })
  })

  it("starts nothing while it is switched off, and catches nothing of that up", async () => {
    const { engine, made, read, workflowId } = await opened({ cron: "0 * * * *", catchUp: "all" })
    await using _ = engine
    await engine.clock.advance("90 minutes")
    const off = await engine.triggers.update(workflowId, made.id, { enabled: false })
    expect(off).toMatchObject({ nextAt: null, nextTimes: [], enabled: false })
    await engine.clock.advance("1 day")
    await engine.triggers.update(workflowId, made.id, { enabled: true })
    await engine.clock.advance("1 hour")
    expect(await times(engine)).toEqual(["01T01:00", "02T02:00"])
    expect((await read()).missed).toBe(0)
  })

  it("starts nothing while all triggers are paused, and catches nothing of that up", async () => {
    const given = { cron: "0 * * * *", catchUp: "all", jitterSeconds: 60 } as const
    const { engine, made, read, workflowId } = await opened(given)
    await using _ = engine
    await engine.clock.advance("90 minutes")
    expect(await engine.triggers.paused()).toEqual({ pausedAt: null })
    const since = { pausedAt: "2026-01-01T01:30:00.000Z" }
    expect(await engine.triggers.pause()).toEqual(since)
    // Those that are made meanwhile are paused as well.
    const { id: next } = await engine.workflows.create(
      engine.workflow("Next").node("c", "constant", { value: 1 }),
    )
    await engine.triggers.create(next, { type: "run_end", watch: workflowId })
    await engine.triggers.create(workflowId, hourly)
    await engine.runs.start({ workflowId })
    await engine.clock.advance("1 hour")
    expect(await engine.triggers.pause()).toEqual(since)
    await engine.clock.advance("2 hours")
    expect(await engine.triggers.resume()).toEqual({ pausedAt: null })
    await engine.clock.advance("10 minutes")
    expect((await all(engine)).map(({ source }) => source)).toEqual(["schedule", "api"])
    await engine.clock.advance("30 minutes")
    const scheduled = await all(engine, { triggerId: made.id })
    expect(scheduled.map(({ createdAt }) => createdAt.slice(11, 13))).toEqual(["01", "05"])
    expect(await read()).toMatchObject({ missed: 0, lastAt: "2026-01-01T05:00:00.000Z" })
    // One run for the schedule that was made meanwhile, and one for each end.
    expect(await all(engine)).toHaveLength(6)
  })

  it("skips a time while its last run goes on, where it is told to", async () => {
    const { engine, read } = await opened(
      { cron: "0 * * * *", overlap: "skip" },
      { wait: "90 minutes" },
    )
    await using _ = engine
    await engine.clock.advance("245 minutes")
    expect(await times(engine)).toEqual(["01T01:00", "01T03:00"])
    const { lastError, missed } = await read()
    expect([missed, lastError]).toEqual([
      2,
      expect.stringMatching(/^Skipped: run run_\S+ was still in progress$/),
    ])
  })

  it("has one time wait for the end of its last run, where it is told to", async () => {
    const { engine, read } = await opened(
      { cron: "0 * * * *", overlap: "queue", endAt: "2026-01-01T05:30:00Z" },
      { wait: "150 minutes" },
    )
    await using _ = engine
    await engine.clock.advance("185 minutes")
    // The run of one o'clock ends at half past three: two o'clock waits for that, three does not.
    expect(await read()).toMatchObject({ waitingAt: "2026-01-01T02:00:00.000Z", missed: 1 })
    await engine.clock.advance("30 minutes")
    expect(await read()).toMatchObject({
      waitingAt: null,
      lastAt: "2026-01-01T02:00:00.000Z",
      lastError: "Skipped: the time 2026-01-01T02:00:00.000Z was still waiting",
    })
    // Four o'clock waits although the schedule has ended.
    await engine.clock.advance("5 hours")
    expect(await times(engine)).toEqual(["01T01:00", "01T03:30", "01T06:00"])
    expect(await read()).toMatchObject({ waitingAt: null, nextAt: null, missed: 2 })
  })

  it("forgets a time that waits when it is switched off", async () => {
    const { engine, made, read, workflowId } = await opened(
      { cron: "0 * * * *", overlap: "queue" },
      { wait: "90 minutes" },
    )
    await using _ = engine
    await engine.clock.advance("125 minutes")
    expect(await read()).toMatchObject({ waitingAt: "2026-01-01T02:00:00.000Z" })
    const off = await engine.triggers.update(workflowId, made.id, { enabled: false })
    expect(off).toMatchObject({ waitingAt: null, missed: 0 })
    await engine.clock.advance("1 day")
    expect(await times(engine)).toEqual(["01T01:00"])
  })

  it("cancels the run that goes on, where it is told to, and starts the next one", async () => {
    const { engine, read, workflowId } = await opened(
      { cron: "0 * * * *", overlap: "cancelOther" },
      { wait: "90 minutes" },
    )
    await using _ = engine
    await engine.clock.advance("185 minutes")
    expect(await times(engine)).toEqual(["01T01:00", "01T02:00", "01T03:00"])
    const states = async () => (await all(engine)).map(({ status }) => status).toSorted()
    expect(await states()).toEqual(["CANCELED", "CANCELED", "RUNNING"])
    // Nothing is canceled for a run that could not start.
    const broken = { id: "x", type: "nothing", position: { x: 0, y: 0 } }
    await engine.workflows.update(workflowId, { nodes: [broken], edges: [] })
    await engine.clock.advance("60 minutes")
    expect(await states()).toEqual(["CANCELED", "CANCELED", "RUNNING"])
    expect(await read()).toMatchObject({ missed: 1 })
  })

  it("records the sentence of a start that is refused, and goes on", async () => {
    const pay = defineNode({ type: "pay", inputs: {}, outputs: {}, credits: 2, run: () => ({}) })
    await using engine = await testEngine({ nodes: [pay], now: begin })
    const operation = { actor: "shop", reason: "order 17" }
    await engine.credits.meter({ ...operation, metered: true })
    await engine.credits.grant({ ...operation, id: "a", amount: 2 })
    const { id } = await engine.workflows.create(engine.workflow("Paid").node("p", "pay"))
    const { id: triggerId } = await engine.triggers.create(id, hourly)
    await engine.clock.advance("210 minutes")
    expect(await engine.triggers.get(id, triggerId)).toMatchObject({
      missed: 2,
      lastMissedAt: "2026-01-01T03:00:00.000Z",
      lastError: "The run requires 2 credits, and fewer are available",
      lastAt: "2026-01-01T01:00:00.000Z",
    })
    await engine.credits.grant({ ...operation, id: "b", amount: 2 })
    await engine.clock.advance("1 hour")
    expect(await times(engine)).toEqual(["01T01:00", "01T04:00"])
  })

  it("records what a changed workflow lacks, and is gone with the workflow", async () => {
    const { engine, made, read, workflowId } = await opened({ cron: "0 * * * *" })
    await using _ = engine
    const broken = { id: "x", type: "nothing", position: { x: 0, y: 0 } }
    await engine.workflows.update(workflowId, { nodes: [broken], edges: [] })
    await engine.clock.advance("90 minutes")
    expect(await read()).toMatchObject({ missed: 1, lastError: expect.stringMatching(/nothing/) })
    await engine.workflows.remove(workflowId)
    await engine.clock.advance("1 day")
    expect((await refusal(read())).code).toBe("TRIGGER_NOT_FOUND")
    expect((await refusal(engine.triggers.list(workflowId))).code).toBe("WORKFLOW_NOT_FOUND")
    expect(await all(engine)).toEqual([])
    expect(made.id).toMatch(/^trg_/)
  })

  it("starts runs of other accounts for them", async () => {
    await using engine = await testEngine({ now: begin })
    const tenant = engine.account((await engine.accounts.create({ name: "Tenant" })).id)
    const { id } = await tenant.workflows.create(
      engine.workflow("W").node("c", "constant", { value: 1 }),
    )
    const { id: triggerId } = await tenant.triggers.create(id, hourly)
    await engine.clock.advance("61 minutes")
    expect(await all(tenant as never)).toHaveLength(1)
    expect(await all(engine)).toHaveLength(0)
    expect((await refusal(engine.triggers.get(id, triggerId))).code).toBe("TRIGGER_NOT_FOUND")
  })

  it("begins anew with other times, and keeps them where others change", async () => {
    const { engine, made, workflowId } = await opened({ cron: "0 * * * *" })
    await using _ = engine
    const change = (given: TriggerChange) => engine.triggers.update(workflowId, made.id, given)
    expect(await change({ overlap: "skip", values: { day: "x" } })).toMatchObject({
      nextAt: made.nextAt,
      overlap: "skip",
    })
    expect(await change({ everySeconds: 600 })).toMatchObject({
      cron: null,
      nextAt: "2026-01-01T00:10:00.000Z",
    })
    expect(await change({ cron: "0 12 * * *", timezone: "Asia/Tokyo" })).toMatchObject({
      everySeconds: null,
      nextAt: "2026-01-01T03:00:00.000Z",
    })
    const [listed] = await engine.triggers.list(workflowId)
    expect(listed).toMatchObject({ id: made.id, timezone: "Asia/Tokyo" })
    await engine.triggers.remove(workflowId, made.id)
    expect(await engine.triggers.list(workflowId)).toEqual([])
  })
})

describe("engine.triggers.create", () => {
  it.each([
    [{}, "INVALID_TRIGGER", "cron: expected cron or everySeconds"],
    [
      { cron: "* * * * *", everySeconds: 5 },
      "INVALID_TRIGGER",
      "cron: expected either cron or everySeconds, and got both",
    ],
    [
      { cron: "0 0 31 2 *" },
      "INVALID_TRIGGER",
      'cron: there is no time at which "0 0 31 2 *" is due',
    ],
    [
      { cron: "0 0 * * *", timezone: "Mars/Base" },
      "INVALID_TRIGGER",
      'timezone: there is no time zone "Mars/Base"; expected one as Europe/Berlin',
    ],
    [
      { cron: "0 0 32 * *" },
      "INVALID_TRIGGER",
      'cron: "0 0 32 * *" cannot be read: Invalid value for day',
    ],
    [
      { everySeconds: 60, startAt: "2027-01-02T00:00:00Z", endAt: "2027-01-01T00:00:00Z" },
      "INVALID_TRIGGER",
      "endAt: expected a time after startAt",
    ],
    [
      { everySeconds: 60, endAt: "2020-01-01T00:00:00Z" },
      "INVALID_TRIGGER",
      "endAt: there is no time left before it",
    ],
    [
      { everySeconds: 0 },
      "INVALID_REQUEST",
      "everySeconds: expected a whole number of seconds from 1 to 31622400",
    ],
    [
      { everySeconds: 60, catchUp: "some" },
      "INVALID_REQUEST",
      'catchUp: expected "none", "last" or "all"',
    ],
    [{ everySeconds: 60, values: { day: 7 } }, "INVALID_GRAPH", expect.stringContaining("day")],
    [
      { everySeconds: 60, startAt: "+275760-01-01T00:00:00Z" },
      "INVALID_REQUEST",
      "startAt: expected a time from 1970 to 9999",
    ],
    [{ everySeconds: 60, often: true }, "INVALID_REQUEST", expect.stringContaining("often")],
  ] as const)("refuses %j in one sentence", async (given, code, sentence) => {
    const { engine, workflowId } = await opened({ everySeconds: 600 })
    await using _ = engine
    const make = engine.triggers.create(workflowId, { type: "schedule", ...given } as NewSchedule)
    const { code: told, message } = await refusal(make)
    expect([told, message]).toEqual([code, sentence])
    expect(await engine.triggers.list(workflowId)).toHaveLength(1)
  })

  it("refuses a workflow that is not there, and a start that claims its source", async () => {
    await using engine = await testEngine({ now: begin })
    expect((await refusal(engine.triggers.create("wf_none", hourly))).code).toBe(
      "WORKFLOW_NOT_FOUND",
    )
    const { id: workflowId } = await engine.workflows.create(
      engine.workflow("W").node("c", "constant", { value: 1 }),
    )
    const claim = engine.runs.start({ workflowId, source: "schedule" as "api" })
    expect((await refusal(claim)).message).toBe('source: expected "ui", "mcp" or "api"')
  })

  it("takes a draft only while the trigger is switched off", async () => {
    await using engine = await testEngine({ now: begin })
    const draft = { name: "D", nodes: [{ id: "x", type: "later", position: { x: 0, y: 0 } }] }
    const { id } = await engine.workflows.create(draft)
    expect((await refusal(engine.triggers.create(id, hourly))).code).toBe("INVALID_GRAPH")
    const { enabled, id: triggerId } = await engine.triggers.create(id, {
      ...hourly,
      enabled: false,
    })
    expect(enabled).toBe(false)
    const on = engine.triggers.update(id, triggerId, { enabled: true })
    expect((await refusal(on)).code).toBe("INVALID_GRAPH")
  })
})
