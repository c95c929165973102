/**
 * What a caller can rely on about the webhook of a trigger that is no schedule: its runs have it.
 */
import type { NewInboundWebhook, NewRunEndTrigger } from "millrace"
import { gives, testEngine } from "millrace/testing"
import { assert, describe, expect, it } from "vitest"
import { refusal } from "../Sample.ts"

const url = "https://shop.example/hooks"
const other = "https://other.example/hooks"

type Given = NonNullable<NewInboundWebhook["webhook"]>

/** An engine with two workflows, and an inbound webhook and a follower of one of them. */
const opened = async (webhook: Given | null) => {
  const receivers = { [url]: gives(204), [other]: gives(204) }
  const engine = await testEngine({ now: "2026-01-01T00:00:00.000Z", receivers })
  const drawing = engine.workflow("Order").node("a", "constant", { value: 1 })
  const { id: watch } = await engine.workflows.create(drawing)
  const { id: workflowId } = await engine.workflows.create({ ...drawing, name: "Bill" })
  const hook = await engine.triggers.create(workflowId, { type: "webhook", webhook })
  const wish: NewRunEndTrigger = { type: "run_end", watch, webhook }
  const follower = await engine.triggers.create(workflowId, wish)
  /** The types of the events that arrived since the last call, by address. */
  let [before, beforeOther] = [0, 0]
  const told = () => {
    const [all, others] = [engine.received(url), engine.received(other)]
    const types = [all.slice(before), others.slice(beforeOther)].map((each) =>
      each.map(({ event }) => (event as { readonly type: string }).type).toSorted(),
    )
    ;[before, beforeOther] = [all.length, others.length]
    return types
  }
  const send = async (headers: Record<string, string> = {}) => {
    const request = new Request(`https://x.example${hook.path}`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json", ...headers },
    })
    const response = await engine.fetch(request)
    expect(response.status).toBe(202)
    await engine.clock.runToEnd()
  }
  const end = async () => {
    await engine.runs.start({ workflowId: watch })
    await engine.clock.runToEnd()
    await engine.clock.advance("10 seconds")
  }
  const ways = [
    { id: hook.id, happen: () => send() },
    { id: follower.id, happen: end },
  ]
  return { engine, workflowId, hook, follower, ways, told, send }
}

const ofRun = ["node.completed", "run.completed", "run.started"]

describe("The webhook of an inbound webhook, and of a trigger that follows runs", () => {
  it("gets the events of the trigger's runs, with its headers and metadata", async () => {
    const headers = { authorization: "Bearer hidden" }
    const { engine, told, ways } = await opened({ url, headers, metadata: { a: 1 } })
    await using _ = engine
    for (const { happen } of ways) {
      await happen()
      expect(told()).toEqual([ofRun, []])
      const last = engine.received(url).at(-1)!
      expect(last.headers).toMatchObject(headers)
      expect(last.event).toMatchObject({ metadata: { a: 1 } })
    }
  })

  it("gets only the events that it asks for, and can be set anew and taken away", async () => {
    const { engine, told, ways, workflowId } = await opened({ url, events: ["run.completed"] })
    await using _ = engine
    for (const { happen, id } of ways) {
      await happen()
      expect(told()).toEqual([["run.completed"], []])
      const change = (webhook: Given | null) => engine.triggers.update(workflowId, id, { webhook })
      const shown = { url: other, events: ["run.started"], metadata: null }
      expect((await change({ url: other, events: ["run.started"] })).webhook).toEqual(shown)
      await engine.triggers.update(workflowId, id, { values: {} })
      await happen()
      expect(told()).toEqual([[], ["run.started"]])
      expect((await change(null)).webhook).toBe(null)
      await happen()
      expect(told()).toEqual([[], []])
    }
  })

  it("gets the events of one run for requests with the same name", async () => {
    const { engine, hook, send, told, workflowId } = await opened({ url })
    await using _ = engine
    await engine.triggers.update(workflowId, hook.id, { dedupeHeader: "x-id" })
    for (let n = 0; n < 3; n++) await send({ "x-id": "1" })
    expect(told()).toEqual([ofRun, []])
  })

  it("is shown without its headers, and no trigger has one by default", async () => {
    const { engine, workflowId } = await opened({ url, headers: { authorization: "hidden" } })
    await using _ = engine
    const plain = await engine.triggers.create(workflowId, { type: "webhook" })
    const shown = { url, events: null, metadata: null }
    const listed = await engine.triggers.list(workflowId)
    expect(listed.map(({ webhook }) => webhook)).toEqual([shown, shown, null])
    expect((await engine.triggers.get(workflowId, plain.id)).webhook).toBe(null)
  })

  it.each([
    [{ url: "https://127.0.0.1/" }, "INVALID_WEBHOOK"],
    [{ url, events: [] }, "INVALID_REQUEST"],
    [{ url, events: ["schedule.missed"] }, "INVALID_REQUEST"],
    [{ url: 7 }, "INVALID_REQUEST"],
  ])("is refused with one sentence where it cannot be: %j", async (given, code) => {
    const { engine, ways, workflowId } = await opened({ url })
    await using _ = engine
    const webhook = given as Given
    const [hook, follower] = await engine.triggers.list(workflowId)
    assert(follower?.type === "run_end")
    for (const asked of [
      ...ways.map(({ id }) => engine.triggers.update(workflowId, id, { webhook })),
      engine.triggers.create(workflowId, { type: "webhook", webhook }),
      engine.triggers.create(workflowId, { type: "run_end", watch: follower.watch, webhook }),
    ]) {
      const refused = await refusal(asked)
      expect(refused.code).toBe(code)
      expect(refused.message).toMatch(/webhook/)
    }
    expect(await engine.triggers.list(workflowId)).toEqual([hook, follower])
  })
})
