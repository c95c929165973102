/**
 * How every store must keep sessions: one winner of a ticket, exact windows, and nothing of one
 * owner for another.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { SessionId, WorkflowId } from "@millrace/core/domain/Id"
import { requestsPerSessionMinute } from "@millrace/core/domain/Limits"
import type { Session } from "@millrace/core/domain/Session"
import { SessionStore } from "@millrace/core/ports/SessionStore"
import { Clock, Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<SessionStore>

const hour = 3_600_000

/** Sessions of an account. */
const scene = Effect.gen(function* () {
  const samples = yield* Samples.make
  let count = 0
  const createdAt = yield* Clock.currentTimeMillis
  const session = (fields: Partial<Session> = {}): Session => ({
    id: SessionId.make(`ses_${samples.account}_${(count += 1)}`),
    accountId: samples.account,
    role: "editor",
    workflows: null,
    createdAt: createdAt + count,
    expiresAt: createdAt + hour,
    idleMillis: null,
    lastUsedAt: null,
    ...fields,
  })
  return { samples, session, createdAt, store: yield* SessionStore }
})

const admits = (it: Tests): void => {
  it.effect("admits the session that the hash opens, and notes its use", () =>
    Effect.gen(function* () {
      const { samples, session, store } = yield* scene
      const workflows = [WorkflowId.make("wf_1"), WorkflowId.make("wf_2")]
      const one = session({ workflows, idleMillis: hour })
      const hash = samples.hash()
      yield* store.insert(one, hash)
      const found = yield* store.admit(hash)
      assert.strictEqual(found._tag, "Admitted")
      if (found._tag !== "Admitted") return
      assert.isNumber(found.session.lastUsedAt)
      assert.deepStrictEqual({ ...found.session, lastUsedAt: null }, one)
      const [listed] = yield* store.list(samples.account)
      assert.deepStrictEqual(listed, found.session)
    }),
  )

  it.effect("refuses what is unknown, over, or idle for too long", () =>
    Effect.gen(function* () {
      const { createdAt, samples, session, store } = yield* scene
      const over = [
        session({ expiresAt: createdAt - 1 }),
        session({ idleMillis: 1_000, createdAt: createdAt - 2_000 }),
        session({ idleMillis: 1_000, createdAt: createdAt - hour, lastUsedAt: createdAt - 2_000 }),
      ]
      for (const each of over) {
        const hash = samples.hash()
        yield* store.insert(each, hash)
        assert.deepStrictEqual(yield* store.admit(hash), { _tag: "Refused" })
      }
      assert.deepStrictEqual(yield* store.admit(samples.hash()), { _tag: "Refused" })
      assert.deepStrictEqual(yield* store.list(samples.account), [])
      assert.deepStrictEqual(yield* store.live(over.map(({ id }) => id)), [])
    }),
  )

  it.effect("admits exactly as many requests a minute as a session may make", () =>
    Effect.gen(function* () {
      const { samples, session, store } = yield* scene
      const [hash, other] = [samples.hash(), samples.hash()]
      yield* store.insert(session(), hash)
      yield* store.insert(session(), other)
      const asked = Array.from({ length: requestsPerSessionMinute + 20 }, () => store.admit(hash))
      const found = yield* Effect.all(asked, { concurrency: 20 })
      const admitted = found.filter(({ _tag }) => _tag === "Admitted").length
      // A minute of a real clock may end meanwhile.
      if (admitted !== found.length) assert.strictEqual(admitted, requestsPerSessionMinute)
      const limited = found.find(({ _tag }) => _tag === "Limited")
      if (limited?._tag === "Limited") {
        assert.isAtLeast(limited.retryAfterMillis, 0)
        assert.isAtMost(limited.retryAfterMillis, 60_000)
      }
      assert.strictEqual((yield* store.admit(other))._tag, "Admitted")
    }),
  )
}

const redeems = (it: Tests): void => {
  it.effect("turns a ticket into its session, for one of those who redeem it at once", () =>
    Effect.gen(function* () {
      const { createdAt, samples, session, store } = yield* scene
      const one = session({ idleMillis: hour })
      const ticket = samples.hash()
      yield* store.insertTicket(one, ticket, createdAt + hour)
      assert.deepStrictEqual(yield* store.admit(ticket), { _tag: "Refused" })
      const hashes = Array.from({ length: 8 }, () => samples.hash())
      const found = yield* Effect.all(
        hashes.map((hash) => store.redeem(ticket, hash)),
        { concurrency: 8 },
      )
      assert.lengthOf(found.filter(Option.isSome), 1)
      const winner = found.findIndex(Option.isSome)
      const begun = Option.getOrThrow(found[winner]!)
      assert.deepStrictEqual({ ...begun, lastUsedAt: null }, one)
      const admitted = yield* Effect.forEach(hashes, (hash) => store.admit(hash))
      assert.deepStrictEqual(
        admitted.map(({ _tag }) => _tag === "Admitted"),
        hashes.map((_, index) => index === winner),
      )
      assert.isTrue(Option.isNone(yield* store.redeem(ticket, samples.hash())))
    }),
  )

  it.effect("redeems no ticket that is too old, revoked or unknown, and no token", () =>
    Effect.gen(function* () {
      const { createdAt, samples, session, store } = yield* scene
      const refused = (hash: Uint8Array) =>
        Effect.map(store.redeem(hash, samples.hash()), (found) =>
          assert.isTrue(Option.isNone(found)),
        )
      const [late, revoked, ended, token] = Array.from({ length: 4 }, () => samples.hash())
      yield* store.insertTicket(session(), late!, createdAt - 1)
      yield* refused(late!)
      const one = session()
      yield* store.insertTicket(one, revoked!, createdAt + hour)
      assert.deepStrictEqual(
        (yield* store.list(samples.account)).map(({ id }) => id),
        [one.id],
      )
      assert.isTrue(yield* store.revoke(samples.account, one.id))
      yield* refused(revoked!)
      yield* store.insertTicket(session({ expiresAt: createdAt - 1 }), ended!, createdAt + hour)
      yield* refused(ended!)
      yield* store.insert(session(), token!)
      yield* refused(token!)
      yield* refused(samples.hash())
    }),
  )
}

const ends = (it: Tests): void => {
  it.effect("revokes one session, of its owner only", () =>
    Effect.gen(function* () {
      const { samples, session, store } = yield* scene
      const [one, other, operators] = [session(), session(), session({ accountId: null })]
      const hashes = [samples.hash(), samples.hash(), samples.hash()] as const
      yield* store.insert(one, hashes[0])
      yield* store.insert(other, hashes[1])
      yield* store.insert({ ...operators, role: "operator" }, hashes[2])
      assert.isFalse(yield* store.revoke(samples.stranger, one.id))
      assert.isFalse(yield* store.revoke(null, one.id))
      assert.isFalse(yield* store.revoke(samples.account, operators.id))
      assert.isFalse(yield* store.revoke(samples.account, SessionId.make("ses_none")))
      assert.isTrue(yield* store.revoke(samples.account, one.id))
      assert.isFalse(yield* store.revoke(samples.account, one.id))
      const tags = yield* Effect.forEach(hashes, (hash) => store.admit(hash))
      assert.deepStrictEqual(
        tags.map(({ _tag }) => _tag),
        ["Refused", "Admitted", "Admitted"],
      )
      const asked = [one, other, operators].map(({ id }) => id)
      assert.sameMembers([...(yield* store.live(asked))], [other.id, operators.id])
      assert.isTrue(yield* store.revoke(null, operators.id))
    }),
  )

  it.effect("revokes all sessions of an account, and lists the newest first", () =>
    Effect.gen(function* () {
      const { createdAt, samples, session, store } = yield* scene
      const hash = samples.hash()
      const [one, two] = [session(), session()]
      const foreign = session({ accountId: samples.stranger })
      yield* store.insert(one, samples.hash())
      yield* store.insertTicket(two, samples.hash(), createdAt + hour)
      yield* store.insert(foreign, hash)
      assert.deepStrictEqual(yield* store.list(samples.account), [two, one])
      assert.strictEqual(yield* store.revokeAll(samples.account), 2)
      assert.strictEqual(yield* store.revokeAll(samples.account), 0)
      assert.deepStrictEqual(yield* store.list(samples.account), [])
      assert.strictEqual((yield* store.admit(hash))._tag, "Admitted")
    }),
  )

  it.effect("forgets sessions that are over, and no others", () =>
    Effect.gen(function* () {
      const { createdAt, samples, session, store } = yield* scene
      const [hash, old] = [samples.hash(), samples.hash()]
      const over = session({ expiresAt: createdAt - 1 })
      yield* store.insert(session(), hash)
      yield* store.insert(over, old)
      yield* store.forget
      assert.strictEqual((yield* store.admit(hash))._tag, "Admitted")
      // The hash is free again only if the row is gone.
      yield* store.insert({ ...over, expiresAt: createdAt + hour }, old)
    }),
  )
}

/** Registers the tests. */
export const sessionStoreSuite = (it: Tests): void => {
  describe("SessionStore.admit", () => {
    admits(it)
  })
  describe("SessionStore.redeem", () => {
    redeems(it)
  })
  describe("SessionStore.revoke", () => {
    ends(it)
  })
}
