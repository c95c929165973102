// Triggers: which settings they take, which runs they follow, and the ids and times that follow
// from them.
import { AccountId, TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import { WebhookSettings } from "@millrace/core/domain/InboundWebhook"
import { fieldsPerWebhook, lastTriggerTime } from "@millrace/core/domain/Limits"
import type { Run } from "@millrace/core/domain/Run"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import {
  follows,
  isFollowed,
  RunEndSettings,
  runIdAfter,
} from "@millrace/core/domain/RunEndTrigger"
import { dueAtOf, jitterOf, runIdAt, Timing } from "@millrace/core/domain/Trigger"
import { factsOf, neverStarted } from "@millrace/core/domain/TriggerFacts"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"

const id = TriggerId.make("trg_0190a6d2-7c1e-7000-8abc-0123456789ab")

const isIn = (schema: Schema.Codec<unknown, unknown>, base: object) => (change: object) =>
  Option.isSome(Schema.decodeUnknownOption(schema)({ ...base, ...change }))

describe("Trigger.jitterOf", () => {
  it("is always the same for a trigger, and less than its seconds", () => {
    assert.strictEqual(jitterOf({ id, jitterSeconds: 0 }), 0)
    const jitter = jitterOf({ id, jitterSeconds: 60 })
    assert.strictEqual(jitterOf({ id, jitterSeconds: 60 }), jitter)
    assert.isTrue(jitter > 0 && jitter < 60_000 && Number.isInteger(jitter))
  })

  it("spreads triggers over the seconds, by what is random in their ids", () => {
    const parts = Array.from({ length: 200 }, (_, n) => {
      const random = (n * 0x9e37_79b9).toString(16).padStart(12, "0")
      const other = TriggerId.make(`trg_0190a6d2-7c1e-7000-8abc-${random}`)
      return Math.floor(jitterOf({ id: other, jitterSeconds: 10 }) / 1_000)
    })
    assert.strictEqual(new Set(parts).size, 10)
    const later = TriggerId.make("trg_0190a6d3-0000-7000-8abc-0123456789ab")
    assert.strictEqual(
      jitterOf({ id: later, jitterSeconds: 60 }),
      jitterOf({ id, jitterSeconds: 60 }),
    )
  })
})

describe("Trigger.dueAtOf", () => {
  it("is the time and the jitter, and none without a time", () => {
    const trigger = { id, jitterSeconds: 60 }
    assert.strictEqual(dueAtOf(trigger, 5), 5 + jitterOf(trigger))
    assert.isNull(dueAtOf(trigger, null))
  })
})

describe("Trigger.runIdAt", () => {
  it("follows from the trigger and the time, in the form of all ids", () => {
    const at = 0x0190_a6d2_7c1e
    assert.strictEqual(runIdAt(id, at), "run_0190a6d2-7c1e-7000-8abc-0123456789ab")
    assert.strictEqual(runIdAt(id, 1), "run_00000000-0001-7000-8abc-0123456789ab")
  })
})

describe("RunEndTrigger.runIdAfter", () => {
  it("follows from the hash and the time, in the form of all ids", () => {
    const hash = "0123456789abcdef0123"
    const id = runIdAfter(hash, 0x0190_a6d2_7c1e)
    assert.strictEqual(id, "run_0190a6d2-7c1e-7012-8345-6789abcdef01")
    assert.strictEqual(runIdAfter(hash, 1), "run_00000000-0001-7012-8345-6789abcdef01")
  })
})

describe("RunEndTrigger.isFollowed", () => {
  it("is true for ends of whole runs that nobody has called", () => {
    const run = { mode: "full", parent: null, status: "FAILED" } as const
    assert.isTrue(isFollowed(run))
    assert.isFalse(isFollowed({ ...run, status: "RUNNING" }))
    assert.isFalse(isFollowed({ ...run, mode: "single" }))
    assert.isFalse(isFollowed({ ...run, parent: {} as NonNullable<Run["parent"]> }))
  })
})

describe("RunEndTrigger.follows", () => {
  it("is true for the ends that it names, of the workflow that it watches", () => {
    const run = {
      accountId: AccountId.make("acc_1"),
      workflowId: WorkflowId.make("wf_1"),
      status: "CANCELED",
    } as const
    const trigger: Pick<RunEndTrigger, "accountId" | "watch" | "enabled" | "on"> = {
      accountId: run.accountId,
      watch: run.workflowId,
      enabled: true,
      on: ["FAILED", "CANCELED"],
    }
    const of = (left: Partial<typeof trigger>, right: Partial<Parameters<typeof follows>[1]>) =>
      follows({ ...trigger, ...left } as RunEndTrigger, { ...run, ...right })
    assert.isTrue(of({}, {}))
    assert.isFalse(of({ enabled: false }, {}))
    assert.isFalse(of({}, { workflowId: WorkflowId.make("wf_2") }))
    assert.isFalse(of({}, { accountId: AccountId.make("acc_2") }))
    assert.isFalse(of({}, { status: "COMPLETED" }))
  })
})

describe("RunEndTrigger.RunEndSettings", () => {
  const takes = isIn(RunEndSettings, {
    watch: "wf_1",
    on: ["COMPLETED"],
    into: null,
    values: {},
    version: null,
    enabled: true,
  })

  it("takes facts of the run that has ended, and what is in its output", () => {
    for (const place of ["runId", "output", "output.a", "output.a b.0", "errorMessage"]) {
      assert.isTrue(takes({ into: { x: place } }), place)
    }
    for (const place of ["", "values", "output.", "output..a", "runId.", "xrunId", "output a"]) {
      assert.isFalse(takes({ into: { x: place } }), place)
    }
    const many = Array.from({ length: fieldsPerWebhook + 1 }, (_, n) => [`f${n}`, "runId"])
    assert.isTrue(takes({ into: Object.fromEntries(many.slice(1)) }))
    assert.isFalse(takes({ into: Object.fromEntries(many) }))
  })

  it("takes the draft, the number of a version, or nothing", () => {
    for (const version of [null, "draft", 1, 7] as const) assert.isTrue(takes({ version }))
    for (const version of [0, 1.5, "published", "1"]) assert.isFalse(takes({ version }))
  })

  it("takes one end at least, and only ends", () => {
    assert.isTrue(takes({ on: ["COMPLETED", "FAILED", "CANCELED"] }))
    assert.isFalse(takes({ on: [] }))
    assert.isFalse(takes({ on: ["RUNNING"] }))
    assert.isFalse(takes({ on: ["FAILED", "FAILED", "FAILED", "FAILED"] }))
  })
})

describe("Trigger.Timing", () => {
  const takes = isIn(Timing, {
    cron: null,
    everySeconds: 60,
    timezone: "UTC",
    startAt: null,
    endAt: null,
  })

  it("takes whole seconds from 1, and times that have four digits of a year", () => {
    assert.isTrue(takes({ everySeconds: 1 }))
    assert.isTrue(takes({ endAt: new Date(lastTriggerTime).toISOString() }))
    assert.isTrue(takes({ startAt: "1970-01-01T00:00:00.000Z" }))
    for (const everySeconds of [0, -1, 1.5]) assert.isFalse(takes({ everySeconds }))
    assert.isFalse(takes({ startAt: "1969-12-31T23:59:59.999Z" }))
    assert.isFalse(takes({ endAt: new Date(lastTriggerTime + 1).toISOString() }))
  })
})

describe("InboundWebhook.WebhookSettings", () => {
  const takes = isIn(WebhookSettings, {
    methods: ["POST"],
    verify: { type: "none" },
    networks: null,
    respond: "at_once",
    into: null,
    dedupeHeader: null,
    dedupeBy: null,
    values: {},
    version: null,
    enabled: true,
  })

  it("takes places of a request, and none with credentials", () => {
    const good = ["body", "body.a.b", "query.name", "method", "headers.x-github-event"]
    for (const place of good) assert.isTrue(takes({ into: { x: place } }), place)
    const bad = [
      "",
      "body.",
      "body..a",
      "query",
      "query.a.b",
      "path",
      "headers.X-Upper",
      "headers.authorization",
      "headers.proxy-authorization",
      "headers.cookie",
      "headers.x-hub-signature",
      "headers.x-token",
      "headers.my-secret",
      "headers.apikey",
      "headers.x-api-key",
      "headers.x-password",
      "a body",
    ]
    for (const place of bad) assert.isFalse(takes({ into: { x: place } }), place)
  })

  it("takes names of headers in lower case", () => {
    for (const dedupeHeader of ["x-id", "a!#$%&'*+.^_`|~-9"]) assert.isTrue(takes({ dedupeHeader }))
    for (const dedupeHeader of ["", "X-Id", "a b", "a:b", "ä"]) {
      assert.isFalse(takes({ dedupeHeader }), dedupeHeader)
    }
  })

  it("takes texts with places of a request, by which requests are told apart", () => {
    for (const dedupeBy of ["{{ body.id }}", "{{body.a.b}}:{{ query.x }}"]) {
      assert.isTrue(takes({ dedupeBy }), dedupeBy)
    }
    for (const dedupeBy of ["", "fixed", "{{ headers.cookie }}", "{{ body.id }} {{ path }}"]) {
      assert.isFalse(takes({ dedupeBy }), dedupeBy)
    }
  })

  it("takes one method at least, one network at least, and seconds from 1", () => {
    assert.isFalse(takes({ methods: [] }))
    assert.isFalse(takes({ methods: ["TRACE"] }))
    assert.isFalse(takes({ networks: [] }))
    assert.isTrue(takes({ networks: ["192.0.2.0/24"] }))
    const standard = { type: "standard", secret: "key" }
    assert.isTrue(takes({ verify: { ...standard, toleranceSeconds: 1 } }))
    assert.isFalse(takes({ verify: { ...standard, toleranceSeconds: 0 } }))
  })
})

describe("TriggerFacts.factsOf", () => {
  it("takes the facts out of a trigger, and nothing else", () => {
    const { fence: _, ...facts } = neverStarted
    assert.deepStrictEqual(factsOf(neverStarted), facts)
    assert.strictEqual(factsOf({ ...facts, missed: 2 }).missed, 2)
  })
})
