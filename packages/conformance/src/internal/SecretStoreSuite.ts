/**
 * How every store must keep the secrets of accounts: apart from each other, replaced in one step,
 * and no more than an account may have.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { AccountId } from "@millrace/core/domain/Id"
import { secretsPerAccount } from "@millrace/core/domain/Limits"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { SealedSecret } from "@millrace/core/ports/SecretStore"
import { SecretStore } from "@millrace/core/ports/SecretStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<SecretStore | WorkflowStore>

const secretOf = (
  accountId: AccountId,
  name: string,
  change: Partial<SealedSecret> = {},
): SealedSecret => ({
  accountId,
  name,
  hosts: ["api.example.com"],
  sealed: `v1.key.${name}`,
  createdAt: Samples.epoch,
  updatedAt: Samples.epoch,
  lastUsedAt: null,
  ...change,
})

const shownOf = ({ accountId: _, sealed: __, ...shown }: SealedSecret) => shown

const puts = (it: Tests): void => {
  it.effect("stores a secret, and lists it by name without its value", () =>
    Effect.gen(function* () {
      const { account } = yield* Samples.make
      const store = yield* SecretStore
      const [b, a, upper] = ["b_token", "a_token", "Z_token"].map((name) => secretOf(account, name))
      for (const each of [b!, a!, upper!]) {
        assert.deepStrictEqual(yield* store.put(each), shownOf(each))
      }
      assert.deepStrictEqual(yield* store.list(account), [upper!, a!, b!].map(shownOf))
      assert.deepStrictEqual(yield* store.find(account, ["a_token", "none"]), [a!])
    }),
  )

  it.effect("replaces value and hosts in one step, and keeps when it was made and used", () =>
    Effect.gen(function* () {
      const { account } = yield* Samples.make
      const store = yield* SecretStore
      yield* store.put(secretOf(account, "token"))
      yield* store.markUsed(account, ["token"])
      const [{ lastUsedAt } = { lastUsedAt: null }] = yield* store.list(account)
      assert.isNotNull(lastUsedAt)
      const next = Array.from({ length: 8 }, (_, n) =>
        secretOf(account, "token", {
          sealed: `v1.key.${n}`,
          hosts: [`${n}.example.com`],
          createdAt: Samples.epoch + 5,
          updatedAt: Samples.epoch + 5,
        }),
      )
      yield* Effect.all(next.map(store.put), { concurrency: 8 })
      const [found] = yield* store.find(account, ["token"])
      assert.deepInclude(found, { createdAt: Samples.epoch, updatedAt: Samples.epoch + 5 })
      assert.strictEqual(found!.lastUsedAt, lastUsedAt)
      assert.deepStrictEqual(found!.hosts, [`${found!.sealed.at(-1)}.example.com`])
    }),
  )
}

const bounds = (it: Tests): void => {
  it.effect("keeps accounts apart", () =>
    Effect.gen(function* () {
      const { account, stranger } = yield* Samples.make
      const store = yield* SecretStore
      yield* store.put(secretOf(account, "token"))
      yield* store.put(secretOf(stranger, "token", { sealed: "v1.key.theirs" }))
      yield* store.put(secretOf(stranger, "other"))
      assert.deepStrictEqual(yield* store.list(account), [shownOf(secretOf(account, "token"))])
      assert.deepStrictEqual(yield* store.find(account, ["other"]), [])
      assert.isFalse(yield* store.remove(account, "other"))
      yield* store.markUsed(account, ["token", "other"])
      const theirs = yield* store.find(stranger, ["token", "other"])
      assert.deepStrictEqual(
        theirs.map(({ lastUsedAt }) => lastUsedAt),
        [null, null],
      )
      assert.isTrue(yield* store.remove(account, "token"))
      assert.isFalse(yield* store.remove(account, "token"))
      assert.strictEqual((yield* store.find(stranger, ["token"]))[0]?.sealed, "v1.key.theirs")
    }),
  )

  it.effect("never keeps more of an account than the limit, however many come at once", () =>
    Effect.gen(function* () {
      const { account, stranger } = yield* Samples.make
      const store = yield* SecretStore
      const names = Array.from({ length: secretsPerAccount - 2 }, (_, n) => `s_${n}`)
      yield* Effect.forEach(names, (name) => store.put(secretOf(account, name)), {
        concurrency: 16,
        discard: true,
      })
      const more = Array.from({ length: 8 }, (_, n) =>
        Effect.result(store.put(secretOf(account, `more_${n}`))),
      )
      const results = yield* Effect.all(more, { concurrency: 8 })
      const refused = results.flatMap((each) => (each._tag === "Failure" ? [each.failure] : []))
      assert.deepStrictEqual(
        refused.map(({ message }) => message),
        Array.from({ length: 6 }, () => "The account already has 200 secrets; remove one first"),
      )
      assert.lengthOf(yield* store.list(account), secretsPerAccount)
      yield* store.put(secretOf(account, "s_0", { sealed: "v1.key.replaced" }))
      yield* store.put(secretOf(stranger, "s_0"))
      assert.isTrue(yield* store.remove(account, "s_1"))
      yield* store.put(secretOf(account, "after"))
    }),
  )
}

const tells = (it: Tests): void => {
  it.effect("says which workflows of the account name which secrets", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account, stranger } = samples
      const workflows = yield* WorkflowStore
      const store = yield* SecretStore
      const drawing = (text: string) => {
        const [first, ...rest] = samples.workflow().nodes
        return { nodes: [{ ...first!, data: { inputs: { text } } }, ...rest] }
      }
      const both = samples.workflow({
        id: WorkflowId.make(`wf-1-${account}`),
        name: 'Uses "two"',
        ...drawing("{{\n\tsecrets.token }}:{{secrets.a_1}} {{ secrets.token}}"),
      })
      const one = samples.workflow({
        id: WorkflowId.make(`wf-2-${account}`),
        ...drawing("Bearer {{ secrets.token_2 }}"),
      })
      const none = samples.workflow(drawing("secret.token, secrets of token"))
      const foreign = samples.workflow({
        accountId: stranger,
        ...drawing("{{ secrets.token }}"),
      })
      for (const each of [one, both, none, foreign]) yield* workflows.insert(each)
      assert.deepStrictEqual(yield* store.users(account), [
        { workflowId: both.id, workflowName: both.name, names: ["a_1", "token"] },
        { workflowId: one.id, workflowName: one.name, names: ["token_2"] },
      ])
      const publication = { account, id: one.id, expectedRevision: 1, number: 1, mostVersions: 9 }
      yield* workflows.publish({ ...publication, note: null, publishedAt: 1 })
      yield* workflows.replace({ ...one, ...drawing("{{ secrets.other }}"), revision: 2 }, 1)
      const ofOne = (yield* store.users(account)).find(({ workflowId }) => workflowId === one.id)
      assert.deepStrictEqual(ofOne?.names, ["other", "token_2"])
    }),
  )
}

const seals = (it: Tests): void => {
  it.effect("shows one secret for each key that seals were made with", () =>
    Effect.gen(function* () {
      const { account } = yield* Samples.make
      const store = yield* SecretStore
      const keys = ["old", "new"].map((name) => `v1.${name}-of-${account}`)
      for (const [n, key] of [...keys, ...keys].entries()) {
        yield* store.put(secretOf(account, `s_${n}`, { sealed: `${key}.${n}` }))
      }
      const found = (yield* store.secretOfEachKey).filter(({ sealed }) => sealed.includes(account))
      const names = found.map(({ sealed }) => sealed.slice(0, sealed.lastIndexOf(".")))
      assert.deepStrictEqual(names.toSorted(), keys.toSorted())
    }),
  )

  it.effect("finds what other keys have sealed, and replaces a seal unless it was replaced", () =>
    Effect.gen(function* () {
      const { account } = yield* Samples.make
      const store = yield* SecretStore
      yield* store.put(secretOf(account, "old", { sealed: "v1.old.1" }))
      yield* store.put(secretOf(account, "raced", { sealed: "v1.old.2" }))
      yield* store.put(secretOf(account, "new", { sealed: "v1.new.3" }))
      const otherwise = Effect.map(store.sealedOtherwise("v1.new", 1_000_000), (all) =>
        all.filter(({ accountId }) => accountId === account),
      )
      const [old, raced] = yield* otherwise
      assert.deepStrictEqual([old!.name, raced!.name], ["old", "raced"])
      assert.lengthOf(yield* store.sealedOtherwise("v1.new", 1), 1)
      yield* store.put(secretOf(account, "raced", { sealed: "v1.new.4" }))
      yield* store.reseal(old!, "v1.new.1")
      yield* store.reseal(raced!, "v1.new.2")
      const found = yield* store.find(account, ["old", "raced", "new"])
      assert.deepStrictEqual(found.map(({ sealed }) => sealed).toSorted(), [
        "v1.new.1",
        "v1.new.3",
        "v1.new.4",
      ])
      assert.deepStrictEqual(yield* otherwise, [])
    }),
  )
}

/** Registers the tests. */
export const secretStoreSuite = (it: Tests): void => {
  describe("SecretStore.put", () => {
    puts(it)
    bounds(it)
  })
  describe("SecretStore.users", () => {
    tells(it)
  })
  describe("SecretStore.reseal", () => {
    seals(it)
  })
}
