// What a new session may be, and whom a text lets in: nobody gets more by a session than who makes
// it has.
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { workflowsPerSession } from "@millrace/core/domain/Limits"
import type { Session } from "@millrace/core/domain/Session"
import { Keys } from "@millrace/core/engine/Keys"
import type { NewSession } from "@millrace/core/engine/Sessions"
import { Sessions } from "@millrace/core/engine/Sessions"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { digest, engine } from "./TestEngine.ts"

const at = Effect.provide(Sessions.layer.pipe(Layer.provide(digest), Layer.provideMerge(engine())))

const day = 86_400_000
const [one, two, three] = ["wf_1", "wf_2", "wf_3"].map((id) => WorkflowId.make(id)) as [
  WorkflowId,
  WorkflowId,
  WorkflowId,
]

/** An account, and what says why a session of it is not made; `undefined` if it is. */
const scene = Effect.gen(function* () {
  const account = (yield* (yield* Keys).createAccount("Acme")).id
  const sessions = yield* Sessions
  const refusal = (wanted: NewSession, by?: Session) =>
    Effect.matchEffect(sessions.create(account, wanted, by), {
      onSuccess: () => Effect.undefined,
      onFailure: ({ message }) => Effect.succeed(message),
    })
  const made = (wanted: NewSession, by?: Session) =>
    Effect.map(sessions.create(account, wanted, by), ({ session }) => session)
  return { account, sessions, refusal, made }
})

describe("A new session", () => {
  it.effect("has no role above that of the session that makes it", () =>
    Effect.gen(function* () {
      const { made, refusal } = yield* scene
      const roles = ["viewer", "editor", "owner"] as const
      for (const [rank, role] of roles.entries()) {
        const by = yield* made({ role })
        for (const [other, wanted] of roles.entries()) {
          const expected =
            other <= rank
              ? undefined
              : `role: expected one that is not above ${role}, the role of this session`
          assert.strictEqual(yield* refusal({ role: wanted }, by), expected)
        }
      }
    }).pipe(at),
  )

  it.effect("sees no workflow that the session that makes it does not see", () =>
    Effect.gen(function* () {
      const { made, refusal } = yield* scene
      const role = "viewer" as const
      const by = yield* made({ role, workflows: [one, two, one] })
      assert.deepStrictEqual(by.workflows, [one, two])
      const wide = "workflows: expected some of those that this session sees"
      for (const workflows of [[three], [one, three], null, undefined]) {
        assert.strictEqual(yield* refusal({ role, workflows }, by), wide)
      }
      for (const workflows of [[one], [two, one]]) {
        assert.strictEqual(yield* refusal({ role, workflows }, by), undefined)
      }
      const all = yield* made({ role })
      assert.strictEqual(all.workflows, null)
      for (const workflows of [[three], null, undefined]) {
        assert.strictEqual(yield* refusal({ role, workflows }, all), undefined)
      }
    }).pipe(at),
  )

  it.effect("sees as many workflows as there may be, and one at least", () =>
    Effect.gen(function* () {
      const { refusal } = yield* scene
      const many = Array.from({ length: workflowsPerSession + 1 }, (_, n) =>
        WorkflowId.make(`wf_${n}`),
      )
      const words = `workflows: expected 1 to ${workflowsPerSession}`
      assert.strictEqual(yield* refusal({ role: "viewer", workflows: [] }), words)
      assert.strictEqual(yield* refusal({ role: "viewer", workflows: many }), words)
      assert.strictEqual(yield* refusal({ role: "viewer", workflows: many.slice(1) }), undefined)
    }).pipe(at),
  )

  it.effect("lives for a second at least and seven days at most, and not beyond its maker", () =>
    Effect.gen(function* () {
      const { made, refusal } = yield* scene
      const of = (expiresInMillis: number, by?: Session) =>
        refusal({ role: "viewer", expiresInMillis }, by)
      const bounds = "expiresIn: expected 1 second to 7 days"
      assert.strictEqual(yield* of(999), bounds)
      assert.strictEqual(yield* of(1_000), undefined)
      assert.strictEqual(yield* of(7 * day), undefined)
      assert.strictEqual(yield* of(7 * day + 1), bounds)
      const by = yield* made({ role: "owner", expiresInMillis: 60_000 })
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* of(40_000, by), undefined)
      const late = "expiresIn: expected a time at which this session still lives"
      assert.strictEqual(yield* of(40_001, by), late)
      assert.strictEqual((yield* made({ role: "viewer" }, by)).expiresAt, by.expiresAt)
    }).pipe(at),
  )

  it.effect("is told everything that is wrong with it in one sentence", () =>
    Effect.gen(function* () {
      const { made, refusal } = yield* scene
      const by = yield* made({ role: "viewer", workflows: [one] })
      const message = yield* refusal({ role: "owner", expiresInMillis: 1 }, by)
      assert.match(message ?? "", /^role: .*; workflows: .*; expiresIn: expected 1 second/)
    }).pipe(at),
  )

  it.effect("is of an account that there is", () =>
    Effect.gen(function* () {
      const { sessions } = yield* scene
      const none = AccountId.make("acc_none")
      const refused = yield* Effect.flip(sessions.create(none, { role: "viewer" }))
      assert.deepInclude(refused, { _tag: "AccountNotFound", accountId: none })
    }).pipe(at),
  )
})

describe("A text", () => {
  it.effect("lets in as a token only, and begins a session as a ticket only, once", () =>
    Effect.gen(function* () {
      const { account, sessions } = yield* scene
      const { session, token } = yield* sessions.create(account, { role: "viewer" })
      const { ticket } = yield* sessions.link(account, { role: "editor" })
      const admitted = yield* sessions.admit(token)
      assert.deepInclude(admitted, { _tag: "Admitted" })
      const wrong = [ticket, Redacted.make(""), Redacted.make(`${Redacted.value(token)}x`)]
      for (const text of wrong) {
        assert.deepStrictEqual(yield* sessions.admit(text), { _tag: "Refused" })
      }
      for (const text of [token, Redacted.make("x"), Redacted.make(`${Redacted.value(ticket)}x`)]) {
        assert.strictEqual((yield* Effect.flip(sessions.redeem(text)))._tag, "TicketRefused")
      }
      const begun = yield* sessions.redeem(ticket)
      assert.strictEqual(begun.session.role, "editor")
      assert.strictEqual((yield* Effect.flip(sessions.redeem(ticket)))._tag, "TicketRefused")
      yield* sessions.revoke(account, session.id)
      assert.deepStrictEqual(yield* sessions.admit(token), { _tag: "Refused" })
      const again = yield* Effect.flip(sessions.revoke(account, session.id))
      assert.deepInclude(again, { _tag: "SessionNotFound", sessionId: session.id })
    }).pipe(at),
  )
})
