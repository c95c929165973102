/**
 * How every webhook store must keep signing secrets: by account, and each until it expires.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { AccountId } from "@millrace/core/domain/Id"
import type { StoredSecret } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<WebhookStore>

const hour = 3_600_000

const secretOf = (accountId: AccountId, n: number): StoredSecret => ({
  id: `sec-${n}-of-${accountId}`,
  accountId,
  sealed: `sealed ${n}`,
  createdAt: Samples.epoch + n,
  expiresAt: null,
})

const sealed = (secrets: ReadonlyArray<StoredSecret>) => secrets.map((each) => each.sealed)

const ensures = (it: Tests): void => {
  it.effect("gives an account one first secret, however many ask at once", () =>
    Effect.gen(function* () {
      const { account, stranger } = yield* Samples.make
      const store = yield* WebhookStore
      const tries = Array.from({ length: 8 }, (_, n) => store.ensureSecret(secretOf(account, n)))
      const answers = yield* Effect.all(tries, { concurrency: 8 })
      const live = yield* store.secrets(account)
      assert.strictEqual(live.length, 1)
      for (const answer of answers) assert.deepStrictEqual(answer, live)
      assert.deepStrictEqual(yield* store.secrets(stranger), [])
    }),
  )
}

const rotates = (it: Tests): void => {
  it.effect("lets the old ones sign on for the overlap, and shows them oldest first", () =>
    Effect.gen(function* () {
      const { account } = yield* Samples.make
      const store = yield* WebhookStore
      for (const n of [1, 2, 3]) yield* store.rotateSecret(secretOf(account, n), n * hour)
      const live = yield* store.secrets(account)
      assert.deepStrictEqual(sealed(live), ["sealed 1", "sealed 2", "sealed 3"])
      const [first, second, third] = live.map(({ expiresAt }) => expiresAt)
      assert.isNull(third)
      // The first rotation left an hour to none, the second two to the first, the third no more.
      assert.isBelow(first!, second!)
      const after = yield* store.rotateSecret(secretOf(account, 4), hour)
      const expiries = after.map(({ expiresAt }) => expiresAt ?? Infinity)
      assert.isBelow(Math.max(...expiries.slice(0, 3)), second! - hour)
    }),
  )

  it.effect("ends the old ones at once where there is no overlap", () =>
    Effect.gen(function* () {
      const { account } = yield* Samples.make
      const store = yield* WebhookStore
      yield* store.ensureSecret(secretOf(account, 1))
      const live = yield* store.rotateSecret(secretOf(account, 2), 0)
      assert.deepStrictEqual(live, [secretOf(account, 2)])
      assert.deepStrictEqual(yield* store.secrets(account), live)
    }),
  )

  it.effect("hands the live ones of its account out with each delivery", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const { account, stranger } = samples
      const own = samples.delivery()
      const foreign = samples.delivery({ accountId: stranger })
      for (const each of [own, foreign]) yield* store.insert(each)
      yield* store.rotateSecret(secretOf(account, 1), hour)
      yield* store.rotateSecret(secretOf(account, 2), 0)
      yield* store.rotateSecret(secretOf(account, 3), hour)
      yield* store.ensureSecret(secretOf(stranger, 9))
      const claims = yield* store.claim([own.id, foreign.id], hour)
      const secrets = new Map(claims.map((each) => [each.id, each.secrets]))
      assert.deepStrictEqual(secrets.get(own.id), ["sealed 2", "sealed 3"])
      assert.deepStrictEqual(secrets.get(foreign.id), ["sealed 9"])
    }),
  )
}

const tells = (it: Tests): void => {
  it.effect("shows one live secret for each key that seals were made with", () =>
    Effect.gen(function* () {
      const { account, stranger } = yield* Samples.make
      const store = yield* WebhookStore
      const sealedAs = (accountId: AccountId, n: number, text: string) => ({
        ...secretOf(accountId, n),
        sealed: text,
      })
      const keys = ["v1.old", "v1.new"].map((name) => `${name}-of-${account}`)
      const [old, current] = keys
      yield* store.rotateSecret(sealedAs(account, 1, `v1.gone-of-${account}.1`), hour)
      yield* store.rotateSecret(sealedAs(account, 2, `${old}.2`), 0)
      yield* store.rotateSecret(sealedAs(account, 3, `${current}.3`), hour)
      yield* store.ensureSecret(sealedAs(stranger, 4, `${old}.4`))
      const found = sealed(yield* store.secretOfEachKey).filter((text) => text.includes(account))
      const names = found.map((text) => text.slice(0, text.lastIndexOf(".")))
      assert.deepStrictEqual(names.toSorted(), keys.toSorted())
    }),
  )
}

const reseals = (it: Tests): void => {
  it.effect("finds what other keys have sealed, and replaces a seal unless it was replaced", () =>
    Effect.gen(function* () {
      const { account, stranger } = yield* Samples.make
      const store = yield* WebhookStore
      yield* store.ensureSecret({ ...secretOf(account, 1), sealed: "v1.old.1" })
      yield* store.ensureSecret({ ...secretOf(stranger, 1), sealed: "v1.new.1" })
      const all = yield* store.sealedOtherwise("v1.new", 1_000_000)
      const [old, ...others] = all.filter(({ id }) =>
        [account, stranger].some((of) => id.endsWith(of)),
      )
      assert.deepStrictEqual([old?.sealed, others], ["v1.old.1", []])
      yield* store.reseal({ ...old!, sealed: "v1.old.other" }, "v1.new.wrong")
      assert.deepStrictEqual(sealed(yield* store.secrets(account)), ["v1.old.1"])
      yield* store.reseal(old!, "v1.new.2")
      assert.deepStrictEqual(sealed(yield* store.secrets(account)), ["v1.new.2"])
    }),
  )
}

/** Registers the tests. */
export const signingSecretSuite = (it: Tests): void => {
  describe("WebhookStore.ensureSecret", () => {
    ensures(it)
  })
  describe("WebhookStore.rotateSecret", () => {
    rotates(it)
  })
  describe("WebhookStore.secretOfEachKey", () => {
    tells(it)
  })
  describe("WebhookStore.reseal", () => {
    reseals(it)
  })
}
