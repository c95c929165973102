import { describe, expect, it } from "vitest"
import { AccountId, RunId, WorkflowId } from "../../src/domain/Id.ts"
import { deliveryIdOf, deliveryOf, payloadOf } from "../../src/domain/Payload.ts"
import type { RunEvent } from "../../src/domain/RunEvent.ts"
import type { Webhook } from "../../src/domain/Webhook.ts"

const webhook: Webhook = {
  url: "https://receiver.example/hook",
  origin: "https://receiver.example",
  events: null,
  metadata: { order: 7, deep: { "\u0000": "\ud800" } },
  headers: null,
}

const run = {
  id: RunId.make("run_0198"),
  accountId: AccountId.make("acc_1"),
  webhook,
}

const event = (change: Partial<RunEvent> = {}): RunEvent => ({
  runId: run.id,
  workflowId: WorkflowId.make("wf_1"),
  sequence: 3,
  type: "node.failed",
  at: 1_700_000_000_000,
  error: "It broke",
  data: { status: "FAILED", nodeId: "a", nodeType: "fail", attempt: 1, sequence: 3 },
  ...change,
})

describe("Payload.payloadOf", () => {
  it("has the fields of the specification, in its order", () => {
    expect(payloadOf(event(), { order: 7 })).toBe(
      '{"success":false,"type":"node.failed","runId":"run_0198","workflowId":"wf_1",' +
        '"data":{"status":"FAILED","nodeId":"a","nodeType":"fail","attempt":1,"sequence":3},' +
        '"metadata":{"order":7},"error":"It broke","createdAt":"2023-11-14T22:13:20.000Z"}',
    )
  })

  it("tells of a success exactly when there is no error", () => {
    const read = (error: string | null) =>
      JSON.parse(payloadOf(event({ error }), null)) as Record<string, unknown>
    expect(read(null)).toMatchObject({ success: true, error: null, metadata: null })
    expect(read("")).toMatchObject({ success: false, error: "" })
  })

  it("is text that any encoding carries, whatever is in the metadata", () => {
    const body = payloadOf(event(), webhook.metadata)
    expect(body.isWellFormed()).toBe(true)
    expect(body).not.toContain("\u0000")
    expect(JSON.parse(body)).toHaveProperty("metadata", webhook.metadata)
  })
})

describe("Payload.deliveryOf", () => {
  it("sends every event where the webhook names none, and else those that it names", () => {
    const types = ["run.started", "run.completed", "node.completed"] as const
    const sent = (events: Webhook["events"]) =>
      types.filter(
        (type) =>
          deliveryOf({ ...run, webhook: { ...webhook, events } }, event({ type })) !== undefined,
      )
    expect(sent(null)).toEqual(types)
    expect(sent(["run.completed", "run.failed"])).toEqual(["run.completed"])
  })

  it("sends nothing of a run without a webhook", () => {
    expect(deliveryOf({ ...run, webhook: null }, event())).toBeUndefined()
  })

  it("gives an event the same identifier and text each time", () => {
    expect(deliveryOf(run, event())).toEqual(deliveryOf(run, event()))
    expect(deliveryOf(run, event())?.id).toBe("msg_0198_000003")
  })
})

describe("Payload.deliveryIdOf", () => {
  it("sorts in the order of the events and holds nothing that a signature splits at", () => {
    const ids = [2, 10, 9_999, 100_000].map((sequence) => deliveryIdOf(run.id, sequence))
    expect(ids.toSorted()).toEqual(ids)
    const longest = deliveryIdOf("run_01234567-89ab-7cde-8f01-23456789abcd", 999_999)
    expect(longest).toMatch(/^[\w-]{1,64}$/)
  })
})
