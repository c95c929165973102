// The approval node by itself: when it writes again, and what it keeps. Mails are tested with the
// engine.
import { assert, describe, it } from "@effect/vitest"
import type { ApprovalState } from "@millrace/core/domain/Approval"
import type { Suspension } from "@millrace/core/engine/CurrentNode"
import { Cause, Effect, Exit, Result } from "effect"
import { TestClock } from "effect/testing"
import { approval } from "../src/internal/ApprovalNode.ts"
import * as Outbound from "../src/Outbound.ts"
import type { Setting } from "./TestNode.ts"
import { clauses, failing, run } from "./TestNode.ts"

const asked = { title: "Sure?", roles: ["editor"], timeout: "1 hour" }

const guarded = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Outbound.layer())

/** What the node waits for, and keeps. */
const suspended = (inputs: Parameters<typeof run>[1], setting: Setting = {}) =>
  Effect.map(Effect.exit(guarded(run(approval, inputs, setting))), (exit) => {
    const defect = Exit.isFailure(exit) ? Cause.findDefect(exit.cause) : Result.fail(undefined)
    const { state, wait } = Result.getOrThrow(defect) as Suspension
    return { wait, state: state as unknown as ApprovalState }
  })

describe("approval", () => {
  it.effect("waits for a message that no signal is, until it expires", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000)
      const { state, wait } = yield* suspended(asked)
      assert.deepStrictEqual(wait, { for: "approval:node", until: 3_601_000 })
      assert.deepStrictEqual(
        [state.expiresAt, state.waitsUntil, state.roles],
        [3_601_000, 3_601_000, ["editor"]],
      )
      const forever = yield* suspended({ title: "Sure?", roles: ["editor"] })
      assert.deepStrictEqual(forever.wait, { for: "approval:node" })
    }),
  )

  it.effect("looks once more for a decision where its time passed while it waited to write", () =>
    Effect.gen(function* () {
      const { state } = yield* suspended(asked)
      // The wait for a reminder has ended, and nobody looked for hours.
      const resumed = { ...state, mailAt: 600_000, waitsUntil: 600_000 } as never
      yield* TestClock.setTime(9_000_000)
      const next = yield* suspended(asked, { resumed })
      assert.deepStrictEqual(next.wait, { for: "approval:node", until: 3_600_000 })
      const output = yield* guarded(run(approval, asked, { resumed: next.state as never }))
      assert.deepStrictEqual(output, {
        expired: { outcome: "expired", at: "1970-01-01T01:00:00.000Z" },
      })
    }),
  )

  it.effect("refuses to ask nobody, and to remind all the time", () =>
    Effect.gen(function* () {
      const reason = (inputs: Parameters<typeof run>[1]) => guarded(failing(approval, inputs))
      assert.strictEqual(yield* reason({ title: "Sure?" }), "expected approvers, roles, or both")
      assert.strictEqual(
        yield* reason({ ...asked, reminder: "10 seconds" }),
        "reminder: expected at least a minute",
      )
      assert.strictEqual(
        yield* reason({ ...asked, host: "mail.example.com" }),
        "expected host and from, or none of both",
      )
    }),
  )

  it("refuses titles of several lines, addresses that are several, and forms that are none", () => {
    const field = { name: "a", type: "text" }
    assert.lengthOf(clauses(approval, "title", "a\r\nBcc: b@example.com") ?? [], 1)
    assert.lengthOf(clauses(approval, "approvers", "a@example.com") ?? [], 0)
    assert.isNotEmpty(clauses(approval, "approvers", "a@example.com, b@example.com") ?? [])
    const many = Array.from({ length: 11 }, (_, at) => `a${at}@example.com`)
    assert.isNotEmpty(clauses(approval, "approvers", many) ?? [])
    assert.lengthOf(clauses(approval, "fields", [field]) ?? [], 0)
    assert.isNotEmpty(clauses(approval, "fields", [field, field]) ?? [])
    assert.isNotEmpty(clauses(approval, "fields", [{ name: "a", type: "select" }]) ?? [])
    assert.isNotEmpty(clauses(approval, "fields", [{ ...field, options: ["x"] }]) ?? [])
  })

  it("says of itself that no start can give what it puts out", () => {
    assert.isTrue(approval.type.waitsForSignal)
  })
})
