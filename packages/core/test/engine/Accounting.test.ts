// The operations on credits: who is known, what has a default, what is done once, and the audit.
import { AccountId } from "@millrace/core/domain/Id"
import type { NumberedEntry } from "@millrace/core/domain/Ledger"
import { Accounting } from "@millrace/core/engine/Accounting"
import { Ids } from "@millrace/core/engine/Ids"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import type { StatementQuery } from "@millrace/core/ports/LedgerStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import * as Memory from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"

const stores = Layer.mergeAll(Memory.layer, Ids.layerSequential)
const at = Effect.provide(Layer.provideMerge(Accounting.layer, stores))

const [ada, bob] = [AccountId.make("acc_ada"), AccountId.make("acc_bob")]
const by = { actor: "olga", reason: "test" }

const insert = Effect.fnUntraced(function* (...ids: ReadonlyArray<AccountId>) {
  const keys = yield* KeyStore
  for (const id of ids) yield* keys.insertAccount({ id, name: id, createdAt: 0, runsAtOnce: null })
})

/** A ledger that lies about an account. */
const lying = Layer.effect(
  LedgerStore,
  Effect.map(LedgerStore, (ledger) => ({
    ...ledger,
    audit: (account: AccountId, reader: Parameters<typeof ledger.audit>[1]) =>
      ledger.audit(account, (head) =>
        reader({ ...head, account: { ...head.account, posted: head.account.posted + 1 } }),
      ),
  })),
)

describe("Accounting", () => {
  it.effect("refuses every operation on an account that does not exist", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const grant = { ...by, amount: 1 }
      const refusals = [
        Effect.asVoid(accounting.find(ada)),
        Effect.asVoid(accounting.grant(ada, grant)),
        Effect.asVoid(accounting.adjust(ada, grant)),
        Effect.asVoid(accounting.meter(ada, by, true)),
        Effect.asVoid(accounting.statement({ account: ada, limit: 1 })),
      ]
      for (const refused of refusals) {
        const error = yield* Effect.flip(refused)
        assert.strictEqual(error._tag, "AccountNotFound")
      }
      const ledger = yield* LedgerStore
      assert.deepStrictEqual(yield* ledger.accounts, [])
    }).pipe(at),
  )

  it.effect("grants for ever and first of all, unless something else is said", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      yield* insert(ada)
      const usual = yield* accounting.grant(ada, { ...by, amount: 5 })
      assert.deepInclude(usual, { accountId: ada, amount: 5, priority: 0, expiresAt: null, ...by })
      assert.match(usual.id, /^deed_/)
      const other = { ...by, id: "g", amount: 7, priority: 3, expiresAt: 9_000 }
      const { at: _, remaining, ...given } = yield* accounting.grant(ada, other)
      assert.deepStrictEqual(given, { ...other, accountId: ada })
      assert.strictEqual(remaining, 7)
      const { account, grants } = yield* accounting.find(ada)
      assert.strictEqual(account.posted, 12)
      assert.strictEqual(grants.length, 2)
    }).pipe(at),
  )

  it.effect("does an operation once for each id, and as often as it is asked to without one", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      yield* insert(ada)
      for (const id of ["x", "x", undefined, undefined]) {
        yield* accounting.grant(ada, { ...by, id, amount: 1 })
        yield* accounting.adjust(ada, { ...by, id, amount: 10 })
      }
      assert.strictEqual((yield* accounting.find(ada)).account.posted, 33)
    }).pipe(at),
  )

  it.effect("turns metering on and off, and tells of it", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      yield* insert(ada)
      for (const metered of [true, false]) {
        const entry = yield* accounting.meter(ada, by, metered)
        assert.deepInclude(entry, { kind: metered ? "meter" : "unmeter", ...by })
        assert.strictEqual((yield* accounting.find(ada)).account.metered, metered)
      }
      const told = yield* accounting.statement({ account: ada, limit: 1 })
      assert.deepStrictEqual(
        told.map(({ kind }) => kind),
        ["unmeter"],
      )
    }).pipe(at),
  )

  let reads = 0
  const counting = Layer.effect(
    LedgerStore,
    Effect.map(LedgerStore, (ledger) => ({
      ...ledger,
      statement: (query: StatementQuery) =>
        Effect.suspend(() => {
          reads += 1
          return ledger.statement(query)
        }),
    })),
  )

  it.effect("reads all entries of an account, in as many pages as they take", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const ledger = yield* LedgerStore
      yield* insert(ada)
      const read = Stream.runCollect(accounting.entries(ada))
      const numbersOf = (entries: ReadonlyArray<NumberedEntry>) => entries.map(({ part }) => part)
      assert.deepStrictEqual(numbersOf(yield* read), [])
      const made: Array<string> = []
      for (let n = 0; n < 2_001; n++) {
        const id = `a${n}`
        made.unshift(id)
        yield* ledger.adjust({ ...by, accountId: ada, id, amount: 0 })
        if (n === 999 || n === 1_000) assert.deepStrictEqual(numbersOf(yield* read), made)
      }
      reads = 0
      assert.deepStrictEqual(numbersOf(yield* read), made)
      assert.strictEqual(reads, 3)
    }).pipe(Effect.provide(Layer.provide(Layer.fresh(Accounting.layer), counting)), at),
  )

  it.effect("finds nothing wrong with books that add up, and counts every account", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      yield* insert(ada, bob)
      yield* accounting.grant(ada, { ...by, amount: 1 })
      // The books of an account outlive it in a store that forgets accounts.
      const ledger = yield* LedgerStore
      assert.deepStrictEqual(yield* accounting.audit, { accounts: 2, discrepancies: [] })
      for (const id of ["acc_c", "acc_d"]) {
        const accountId = AccountId.make(id)
        yield* ledger.adjust({ ...by, accountId, id: "x", amount: 1 })
      }
      assert.strictEqual((yield* accounting.audit).accounts, 3)
    }).pipe(at),
  )

  it.effect("names what does not add up, by its account", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      yield* insert(ada, bob)
      for (const account of [ada, bob]) yield* accounting.grant(account, { ...by, amount: 1 })
      const { accounts, discrepancies } = yield* accounting.audit
      assert.strictEqual(accounts, 2)
      assert.deepStrictEqual(
        [...new Set(discrepancies.map(({ accountId }) => accountId))],
        [ada, bob],
      )
    }).pipe(
      Effect.provide(Accounting.layer.pipe(Layer.provideMerge(lying), Layer.provideMerge(stores))),
    ),
  )
})
