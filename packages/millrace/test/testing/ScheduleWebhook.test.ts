/**
 * What a caller can rely on about the webhook of a schedule: its runs have it, and it is told of
 * times that started no run.
 */
import type { NewSchedule, TriggerChange } from "millrace"
import { gives, testEngine } from "millrace/testing"
import { Webhook } from "standardwebhooks"
import { assert, describe, expect, it } from "vitest"
import { refusal } from "../Sample.ts"

const url = "https://shop.example/hooks"

type Given = NonNullable<NewSchedule["webhook"]>

/** The part of an event that these tests read. */
interface Told {
  readonly type: string
  readonly error: string | null
  readonly data: Readonly<Record<string, unknown>>
}

/** An engine with a schedule of every hour that has a webhook, and what its receiver gets. */
const opened = async (webhook: Given | null, settings: Partial<NewSchedule> = {}) => {
  const receivers = { [url]: gives(204) }
  const engine = await testEngine({ now: "2026-01-01T00:00:00.000Z", receivers })
  const { id: workflowId } = await engine.workflows.create(
    engine.workflow("Report").node("a", "constant", { value: 1 }),
  )
  const hourly = { type: "schedule", cron: "0 * * * *", webhook, ...settings } as const
  const made = await engine.triggers.create(workflowId, hourly as NewSchedule)
  const change = (given: TriggerChange) => engine.triggers.update(workflowId, made.id, given)
  /** Nothing is there for so long. */
  const sleep = async (time: string) => {
    await engine.crash()
    await engine.clock.advance(time as "1 hour")
    await engine.restart()
    await engine.clock.advance("1 minute")
  }
  const told = () => engine.received(url).map(({ event }) => event as Told)
  return { engine, workflowId, made, change, sleep, told }
}

const why = "It was not started within a minute: no server was there, or the store failed"

describe("The webhook of a schedule", () => {
  it("gets the events of its runs, and one event for times that were missed", async () => {
    const { engine, made, sleep, told, workflowId } = await opened({ url, metadata: { a: 1 } })
    await using _ = engine
    await engine.clock.advance("61 minutes")
    const events = told()
    const types = events.map(({ type }) => type)
    expect(types.toSorted()).toEqual(["node.completed", "run.completed", "run.started"])
    expect(events[0]).toMatchObject({ metadata: { a: 1 }, runId: expect.stringMatching(/^run_/) })
    await sleep("200 minutes")
    expect(told().slice(3)).toEqual([
      {
        success: false,
        type: "schedule.missed",
        runId: null,
        workflowId,
        data: { triggerId: made.id, missed: 3, lastMissedAt: "2026-01-01T04:00:00.000Z" },
        metadata: { a: 1 },
        error: why,
        createdAt: expect.stringMatching(/^2026-01-01T04:2/),
      },
    ])
  })

  it("is told of a time that a start refuses, and of one that is skipped", async () => {
    const { engine, change, told, workflowId } = await opened({ url, events: ["schedule.missed"] })
    await using _ = engine
    const broken = { id: "x", type: "nothing", position: { x: 0, y: 0 } }
    await engine.workflows.update(workflowId, { nodes: [broken], edges: [] })
    await engine.clock.advance("61 minutes")
    expect(told()).toMatchObject([{ error: expect.stringContaining("nothing") }])
    const slow = engine.workflow("Slow").node("w", "delay", { for: "90 minutes" })
    await engine.workflows.update(workflowId, { nodes: slow.nodes, edges: slow.edges })
    await change({ overlap: "skip" })
    await engine.clock.advance("2 hours")
    expect(told().map(({ error }) => error)).toEqual([
      expect.stringContaining("nothing"),
      expect.stringMatching(/^Skipped: run run_/),
    ])
  })

  it("is told only of what it asks for", async () => {
    const { change, engine, sleep, told } = await opened({ url, events: ["run.completed"] })
    await using _ = engine
    await sleep("130 minutes")
    await engine.clock.advance("1 hour")
    expect(told().map(({ type }) => type)).toEqual(["run.completed"])
    await change({ webhook: { url, events: ["schedule.missed"] } })
    await sleep("130 minutes")
    await engine.clock.advance("1 hour")
    expect(told().map(({ type }) => type)).toEqual(["run.completed", "schedule.missed"])
    expect(await change({ webhook: null })).toMatchObject({ webhook: null })
    await sleep("130 minutes")
    await engine.clock.advance("1 hour")
    expect(told()).toHaveLength(2)
  })

  it("is shown without its headers, and stays where a change does not name it", async () => {
    const headers = { authorization: "Bearer hidden" }
    const { change, engine, made, sleep, workflowId } = await opened({ url, headers })
    await using _ = engine
    const shown = { url, events: null, metadata: null }
    expect(made.webhook).toEqual(shown)
    expect((await change({ enabled: true })) as typeof made).toMatchObject({ webhook: shown })
    const [listed] = await engine.triggers.list(workflowId)
    assert(listed?.type === "schedule")
    expect(listed.webhook).toEqual(shown)
    await sleep("61 minutes")
    const [got] = engine.received(url)
    expect(got!.headers).toMatchObject(headers)
    const [live] = await engine.webhooks.secrets()
    const { body, headers: sent } = got!
    const at = new Date(Number(sent["webhook-timestamp"]) * 1_000)
    const signature = new Webhook(live!.secret).sign(sent["webhook-id"]!, at, body)
    expect(sent["webhook-signature"]!.split(" ")).toContain(signature)
  })

  it("tells once, though the process crashes at any time", async () => {
    const { engine, sleep, told } = await opened({ url, events: ["schedule.missed"] })
    await using _ = engine
    for (let n = 0; n < 5; n++) await sleep("70 minutes")
    const counts = told().map(({ data }) => data["missed"] as number)
    const [trigger] = await engine.triggers.list((await engine.workflows.list()).items[0]!.id)
    assert(trigger?.type === "schedule")
    expect(counts.reduce((sum, each) => sum + each, 0)).toBe(trigger.missed)
    expect(trigger.missed).toBeGreaterThan(2)
  })

  it.each([
    [{ url: "http://shop.example/" }, "INVALID_WEBHOOK"],
    [{ url: "https://127.0.0.1/" }, "INVALID_WEBHOOK"],
    [{ url, events: ["run.paused"] }, "INVALID_REQUEST"],
    [{ url, events: [] }, "INVALID_REQUEST"],
    [{ url, metadata: { text: "x".repeat(20_000) } }, "INVALID_REQUEST"],
    [{ url: 7 }, "INVALID_REQUEST"],
  ])("is refused with one sentence where it cannot be: %j", async (webhook, code) => {
    const { change, engine, made, workflowId } = await opened(null)
    await using _ = engine
    const wrong = webhook as Given
    const wish = { type: "schedule", cron: "0 * * * *", webhook: wrong } as const
    for (const asked of [change({ webhook: wrong }), engine.triggers.create(workflowId, wish)]) {
      const refused = await refusal(asked)
      expect(refused.code).toBe(code)
      expect(refused.message).toMatch(/webhook/)
    }
    const [kept, ...others] = await engine.triggers.list(workflowId)
    expect([kept!.id, others]).toEqual([made.id, []])
    expect(kept).toMatchObject({ webhook: null })
  })
})
