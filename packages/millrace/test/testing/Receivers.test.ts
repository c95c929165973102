/**
 * Receivers of webhooks in a test engine: scripted answers, and a record of what was sent.
 */
import type { Receiver, TestEngine } from "millrace/testing"
import { fails, gives, hangs, testEngine } from "millrace/testing"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { refusal } from "../Sample.ts"

const url = "https://shop.example/hooks"
const start = "2026-01-01T00:00:00.000Z"

/** An engine whose clock is at the start, with a receiver. */
const withReceiver = (receiver: Receiver) =>
  testEngine({ now: start, receivers: { [url]: receiver } })

/** Starts a run that tells of its end. */
const tell = async (engine: TestEngine<readonly []>) => {
  const drawn = engine.workflow("Told").node("a", "constant", { value: 1 })
  const { id: workflowId } = await engine.workflows.create(drawn)
  return engine.runs.start({ workflowId, webhook: { url, events: ["run.completed"] } })
}

/** When each attempt came, in milliseconds after the start, and what was answered. */
const attempts = (engine: TestEngine<readonly []>) =>
  engine.received(url).map(({ at, status }) => [at.getTime() - Date.parse(start), status])

const minute = 60_000

describe("TestEngine.received", () => {
  it("has every attempt at its time, until the receiver answers well", async () => {
    await using engine = await withReceiver(fails(2).gives(204))
    const run = await tell(engine)
    await engine.clock.runToEnd()
    expect(attempts(engine)).toEqual([
      [0, 500],
      [5_000, 500],
      [5_000 + 5 * minute, 204],
    ])
    const { items } = await engine.deliveries.list(run.id)
    expect(items).toMatchObject([{ state: "DELIVERED", attempts: 3 }])
  })

  it("has events that verify, each attempt with the id of its delivery", async () => {
    await using engine = await withReceiver(fails(1).gives({ status: 200, body: "thanks" }))
    const run = await tell(engine)
    await engine.clock.runToEnd()
    const [secret] = await engine.webhooks.secrets()
    const got = engine.received(url)
    expect(got).toHaveLength(2)
    for (const { body, event, headers } of got) {
      // The library judges times by the real clock.
      const signed = new Webhook(secret!.secret).sign(
        headers["webhook-id"]!,
        new Date(Number(headers["webhook-timestamp"]) * 1_000),
        body,
      )
      expect(headers["webhook-signature"]!.split(" ")).toContain(signed)
      expect(event).toMatchObject({ type: "run.completed", runId: run.id })
    }
    expect(new Set(got.map(({ id }) => id)).size).toBe(1)
  })

  it("tells of a receiver that does not answer, and of one that is slow", async () => {
    await using engine = await withReceiver(hangs().gives(204).after("20 seconds"))
    await tell(engine)
    await engine.clock.runToEnd()
    expect(attempts(engine)).toEqual([
      [0, undefined],
      [35_000, 204],
    ])
    expect(engine.clock.now().getTime() - Date.parse(start)).toBe(55_000)
  })

  it("waits for a receiver that does something, but not forever", async () => {
    let calls = 0
    const receiver: Receiver = ({ attempt }) => {
      calls += 1
      if (attempt === 1) throw new Error("a fault of the test")
      return attempt === 2 ? new Promise(() => undefined) : Promise.resolve()
    }
    await using engine = await testEngine({
      now: start,
      patience: "20 millis",
      receivers: { [url]: receiver },
    })
    await tell(engine)
    await engine.clock.runToEnd()
    expect(attempts(engine)).toEqual([
      [0, 500],
      [5_000, undefined],
      [35_000 + 5 * minute, 204],
    ])
    expect(calls).toBe(3)
  })

  it("goes on after a crash, with an attempt whose end nobody knows", async () => {
    await using engine = await withReceiver(hangs().gives(204))
    await tell(engine)
    await engine.clock.advance("1 second")
    await engine.crash()
    await engine.restart()
    await engine.clock.runToEnd()
    expect(engine.received(url).map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, undefined],
      [2, 204],
    ])
  })

  it("refuses what is no receiver, and an address that has none", async () => {
    const opening = (receivers: object) =>
      refusal(testEngine({ receivers: receivers as { [url: string]: Receiver } }))
    expect((await opening({ shop: gives(204) })).message).toBe(
      'testEngine: receivers: "shop": expected an address such as https://shop.example/',
    )
    const expected = "expected a function, or gives(...), fails(...) or hangs()"
    for (const wrong of [204, null, {}]) {
      expect((await opening({ [url]: wrong })).message).toBe(
        `testEngine: receivers: "${url}": ${expected}`,
      )
    }
    await using engine = await withReceiver(gives(204))
    expect(() => engine.received("https://other.example/")).toThrow(
      `no receiver has the address "https://other.example/"; known are "${url}"`,
    )
    const elsewhere = { url: "https://10.0.0.1/", events: ["run.completed"] as const }
    const drawn = engine.workflow("Told").node("a", "constant", { value: 1 })
    const { id: workflowId } = await engine.workflows.create(drawn)
    const error = await refusal(engine.runs.start({ workflowId, webhook: elsewhere }))
    expect(error.code).toBe("INVALID_WEBHOOK")
  })
})

interface Told {
  readonly runId: string
  readonly metadata: unknown
  readonly data: Readonly<Record<string, unknown>>
}

const toldOf = (engine: TestEngine<readonly []>) =>
  engine.received(url).map(({ event }) => event as Told)

describe("A webhook", () => {
  it("tells of the runs that its run starts only where it asks for the tree", async () => {
    await using engine = await withReceiver(gives(204))
    const inner = await engine.workflows.create(
      engine.workflow("Inner").node("a", "constant", { value: 1 }),
    )
    const middle = await engine.workflows.create(
      engine.workflow("Middle").node("call", "sub_workflow", { workflowId: inner.id }),
    )
    const outer = await engine.workflows.create(
      engine.workflow("Outer").node("call", "sub_workflow", { workflowId: middle.id }),
    )
    const events = ["run.completed"] as const
    const metadata = { order: 7 }
    const own = await engine.runs.start({ workflowId: outer.id, webhook: { url, events } })
    await engine.clock.runToEnd()
    expect(toldOf(engine).map(({ runId }) => runId)).toEqual([own.id])
    const webhook = { url, events, metadata, scope: "tree" } as const
    const run = await engine.runs.start({ workflowId: outer.id, webhook })
    await engine.clock.runToEnd()
    const told = toldOf(engine).slice(1)
    const { items: all } = await engine.runs.list({ roots: "false", limit: 50 })
    const tree = all.filter(({ id, parent }) => id === run.id || parent?.rootRunId === run.id)
    expect(tree).toHaveLength(3)
    expect(told.map(({ runId }) => runId).toSorted()).toEqual(tree.map(({ id }) => id).toSorted())
    for (const { data, metadata: given, runId } of told) {
      expect(given).toEqual(metadata)
      const { parent } = tree.find(({ id }) => id === runId)!
      expect([data["parentRunId"], data["rootRunId"]]).toEqual([parent?.runId, parent?.rootRunId])
    }
  })
})
