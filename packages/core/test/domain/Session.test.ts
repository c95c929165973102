// Sessions: what a role may do, and when a session ends.
import type { Session } from "@millrace/core/domain/Session"
import { endOf, isAtLeast, SessionWorkflows } from "@millrace/core/domain/Session"
import { workflowsPerSession } from "@millrace/core/domain/Limits"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const roles = ["viewer", "editor", "owner", "operator"] as const

describe("Session.isAtLeast", () => {
  it("orders the roles, each of which may do all that those before it may", () => {
    for (const [rank, role] of roles.entries()) {
      const may = roles.filter((needed) => isAtLeast(role, needed))
      assert.deepStrictEqual(may, roles.slice(0, rank + 1))
    }
  })
})

describe("Session.endOf", () => {
  const session = { createdAt: 100, expiresAt: 1_000, idleMillis: 50, lastUsedAt: 200 } as Session

  it("is its expiry, or earlier if nobody uses it for so long", () => {
    assert.strictEqual(endOf(session), 250)
    assert.strictEqual(endOf({ ...session, lastUsedAt: null }), 150)
    assert.strictEqual(endOf({ ...session, lastUsedAt: 990 }), 1_000)
    assert.strictEqual(endOf({ ...session, idleMillis: null }), 1_000)
  })
})

describe("Session.SessionWorkflows", () => {
  it("are one at least, and no more than the bound", () => {
    const many = Array.from({ length: workflowsPerSession + 1 }, (_, n) => `wf_${n}`)
    const is = Schema.is(SessionWorkflows)
    assert.isTrue(is(many.slice(0, 1)) && is(many.slice(1)))
    assert.isFalse(is([]) || is(many))
  })
})
