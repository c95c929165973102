/**
 * What every store must do with a start that has a name and sets credits aside: it takes both or
 * neither.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { Run } from "@millrace/core/domain/Run"
import { auditAccount } from "@millrace/core/engine/Audit"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore | LedgerStore>

/** A start that sets so much aside, under a name if it has one. */
const start = (run: Run, amount: number, key?: string) =>
  RunStore.use((store) => {
    const idempotencyKey = key === undefined ? undefined : { key, bodyHash: "hash" }
    const definition = Samples.definitionFor(run)
    const newRun = Samples.newRun(
      { ...run, estimatedCredits: amount },
      {
        expected: { _tag: "New", definition, idempotencyKey },
        credits: [Ledger.reserve(amount, run.createdAt)],
      },
    )
    return store.commit(newRun).pipe(
      Effect.as("applied" as const),
      Effect.catchTag(["StaleRun", "InsufficientCredits"], ({ _tag }) => Effect.succeed(_tag)),
    )
  })

const fund = Effect.fnUntraced(function* (accountId: Run["accountId"], amount: number) {
  const ledger = yield* LedgerStore
  const operation = { accountId, actor: "ada", reason: "because" }
  yield* ledger.meter({ ...operation, id: "m" }, true)
  yield* ledger.grant({ ...operation, id: "g", amount, priority: 0, expiresAt: null })
})

const standing = Effect.fnUntraced(function* (account: Run["accountId"]) {
  assert.deepStrictEqual(yield* auditAccount(account), [])
  return (yield* LedgerStore.use((ledger) => ledger.find(account))).account.reserved
})

/** Registers the tests. */
export const namedCreditSuite = (it: Tests): void => {
  describe("RunStore.commit with a name and credits", () => {
    it.effect("takes no name where credits do not cover the run", () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const { account } = samples
        yield* fund(account, 10)
        assert.strictEqual(yield* start(samples.run(), 11, "k"), "InsufficientCredits")
        const known = yield* RunStore.use((store) => store.findStart(account, "k"))
        assert.isTrue(Option.isNone(known))
        assert.strictEqual(yield* start(samples.run(), 10, "k"), "applied")
        assert.strictEqual(yield* standing(account), 10)
      }),
    )

    it.effect("sets nothing aside where the name is taken", () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const { account } = samples
        yield* fund(account, 100)
        assert.strictEqual(yield* start(samples.run(), 10, "k"), "applied")
        assert.strictEqual(yield* start(samples.run(), 10, "k"), "StaleRun")
        assert.strictEqual(yield* standing(account), 10)
      }),
    )

    it.effect("refuses nobody for what a repeated start does not take", () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const { account } = samples
        yield* fund(account, 40)
        assert.strictEqual(yield* start(samples.run(), 10, "k"), "applied")
        const outcomes = yield* Effect.all(
          [
            start(samples.run(), 10, "k"),
            start(samples.run(), 10, "new"),
            start(samples.run(), 10, "new"),
            start(samples.run(), 10),
            start(samples.run(), 10),
          ],
          { concurrency: "unbounded" },
        )
        assert.strictEqual(outcomes.filter((each) => each === "applied").length, 3)
        assert.strictEqual(yield* standing(account), 40)
      }),
    )
  })
}
