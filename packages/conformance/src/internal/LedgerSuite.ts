/**
 * What every store must do with credits: it moves what runs move with their commits or not at all,
 * writes nothing of what is not covered, and does what an operator asks once.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { GrantRequest } from "@millrace/core/domain/Grant"
import type { AccountId } from "@millrace/core/domain/Id"
import type { NumberedEntry, RunEntry } from "@millrace/core/domain/Ledger"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { Run } from "@millrace/core/domain/Run"
import { auditAccount } from "@millrace/core/engine/Audit"
import { InsufficientCredits, LedgerStore } from "@millrace/core/ports/LedgerStore"
import { type RunCommit, RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore | LedgerStore>

const at = Samples.epoch
const operation = { actor: "ada", reason: "because" }

const grantOf = (
  accountId: AccountId,
  amount: number,
  more: Partial<GrantRequest> = {},
): GrantRequest => ({
  ...operation,
  id: "g",
  accountId,
  amount,
  priority: 0,
  expiresAt: null,
  ...more,
})

/** A metered account with so many micro-credits. */
const metered = Effect.fnUntraced(function* (accountId: AccountId, amount: number) {
  const ledger = yield* LedgerStore
  yield* ledger.meter({ ...operation, id: "m", accountId }, true)
  if (amount > 0) yield* ledger.grant(grantOf(accountId, amount))
})

/** The insert of a run that sets its estimate aside. */
const costly = (run: Run, amount: number, more?: Partial<RunCommit>): RunCommit =>
  Samples.newRun(
    { ...run, estimatedCredits: amount },
    { credits: [Ledger.reserve(amount, at)], ...more },
  )

const outcome = Effect.fnUntraced(function* (commit: RunCommit) {
  const store = yield* RunStore
  return yield* store.commit(commit).pipe(
    Effect.as("applied" as const),
    Effect.catchTag(["StaleRun", "InsufficientCredits"], (refusal) => Effect.succeed(refusal._tag)),
  )
})

const together = (commits: ReadonlyArray<RunCommit>) =>
  Effect.forEach(commits, outcome, { concurrency: "unbounded" })

/** What an account stands at, and its entries from the first one on. */
const bookOf = Effect.fnUntraced(function* (account: AccountId) {
  const ledger = yield* LedgerStore
  const { account: found, grants } = yield* ledger.find(account)
  const entries = yield* ledger.statement({ account, limit: 10_000 })
  return { ...found, grants, entries: entries.toReversed() }
})

const keysOf = (entries: ReadonlyArray<NumberedEntry>) => entries.map(({ key }) => key)

/** That nothing of an account fails an audit. */
const assertSound = (account: AccountId) =>
  Effect.map(auditAccount(account), (found) => assert.deepStrictEqual(found, []))

const moves = (it: Tests): void => {
  it.effect("moves what a run moves, with its commits", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const { account } = samples
      yield* metered(account, 100)
      const run = { ...samples.run({ status: "RUNNING" }), estimatedCredits: 30 }
      yield* store.commit(costly(run, 30))
      const begun = yield* bookOf(account)
      assert.deepStrictEqual([begun.posted, begun.reserved], [100, 30])
      const credits: ReadonlyArray<RunEntry> = [
        Ledger.extend(20, 2, at),
        Ledger.post(50, "a", 2, 10, at + 1),
        Ledger.post(40, "b", 2, 25, at + 2),
        Ledger.voidRest(15, at + 3),
      ]
      const end = { status: "COMPLETED", actualCredits: 35, finishedAt: at } as const
      yield* store.commit(Samples.step(run, end, { credits }))
      const ended = yield* bookOf(account)
      assert.deepStrictEqual([ended.posted, ended.reserved], [65, 0])
      const expected = [
        { ...Ledger.entryOf(account, run.id, Ledger.reserve(30, at)) },
        ...credits.map((entry) => Ledger.entryOf(account, run.id, entry)),
      ]
      const own = ended.entries.filter(({ runId }) => runId !== null)
      assert.deepStrictEqual(
        own.map(({ number: _, ...entry }) => entry),
        expected,
      )
      assert.deepStrictEqual(
        ended.grants.map(({ remaining }) => remaining),
        [65],
      )
      yield* assertSound(account)
    }),
  )

  it.effect("records both numbers of an account that is not metered, and refuses nothing", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account } = samples
      const run = { ...samples.run({ status: "RUNNING" }), estimatedCredits: 30 }
      assert.strictEqual(yield* outcome(costly(run, 30)), "applied")
      const credits = [Ledger.post(30, "a", 2, 40, at), Ledger.voidRest(0, at)]
      const end = { status: "FAILED", actualCredits: 40, finishedAt: at } as const
      assert.strictEqual(yield* outcome(Samples.step(run, end, { credits })), "applied")
      const { posted, reserved } = yield* bookOf(account)
      assert.deepStrictEqual([posted, reserved], [-40, 0])
      yield* assertSound(account)
    }),
  )
}

const staleness = (it: Tests): void => {
  it.effect("moves nothing with a commit that is stale", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account, stranger } = samples
      yield* metered(account, 100)
      const run = { ...samples.run({ status: "RUNNING" }), estimatedCredits: 30 }
      yield* outcome(costly(run, 30))
      const before = yield* bookOf(account)
      const credits = [Ledger.extend(10, 2, at), Ledger.post(40, "a", 2, 10, at)]
      const stale = [
        costly(run, 30),
        Samples.step({ ...run, fence: 9 }, {}, { credits }),
        Samples.step({ ...run, revision: 9 }, {}, { credits }),
        Samples.step({ ...run, accountId: stranger }, {}, { credits }),
      ]
      for (const commit of stale) assert.strictEqual(yield* outcome(commit), "StaleRun")
      assert.deepStrictEqual(yield* bookOf(account), before)
      assert.deepStrictEqual((yield* bookOf(stranger)).entries, [])
    }),
  )
}

const refusals = (it: Tests): void => {
  it.effect("refuses a run that is not covered, names both numbers, and writes nothing", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const { account } = samples
      yield* metered(account, 100)
      const before = yield* bookOf(account)
      const run = samples.run()
      const more = { nodeRuns: [Samples.nodeRun("a")], events: [Samples.event(run, 1)] }
      const error = yield* Effect.flip(store.commit(costly(run, 101, more)))
      assert.deepStrictEqual(error, new InsufficientCredits({ required: 101, available: 100 }))
      assert.isTrue(Option.isNone(yield* store.find(account, run.id)))
      assert.deepStrictEqual(yield* store.events(account, run.id, 0), [])
      assert.deepStrictEqual(yield* bookOf(account), before)
      assert.strictEqual(yield* outcome(costly(run, 100, more)), "applied")
    }),
  )

  it.effect("refuses an extension that is not covered, and leaves the run as it was", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const { account } = samples
      yield* metered(account, 100)
      const run = { ...samples.run({ status: "RUNNING" }), estimatedCredits: 90 }
      yield* outcome(costly(run, 90))
      const before = [yield* bookOf(account), yield* store.find(account, run.id)]
      const credits = [Ledger.extend(11, 2, at), Ledger.post(101, "a", 2, 101, at)]
      const error = yield* Effect.flip(store.commit(Samples.step(run, {}, { credits })))
      assert.deepStrictEqual(error, new InsufficientCredits({ required: 11, available: 10 }))
      assert.deepStrictEqual([yield* bookOf(account), yield* store.find(account, run.id)], before)
      const paid = Samples.step(run, { actualCredits: 101 }, { credits: credits.slice(1) })
      assert.strictEqual(yield* outcome(paid), "applied")
      assert.strictEqual((yield* bookOf(account)).posted, -1)
    }),
  )

  it.effect("calls a run that exists stale, also where it is not covered", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      yield* metered(samples.account, 100)
      const run = samples.run()
      assert.strictEqual(yield* outcome(costly(run, 60)), "applied")
      assert.strictEqual(yield* outcome(costly(run, 60)), "StaleRun")
    }),
  )

  it.effect("lets free runs start on an account that has nothing or owes", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const ledger = yield* LedgerStore
      const { account } = samples
      yield* metered(account, 0)
      yield* ledger.adjust({ ...operation, id: "a", accountId: account, amount: -5 })
      assert.strictEqual(yield* outcome(Samples.newRun(samples.run())), "applied")
      assert.strictEqual(yield* outcome(costly(samples.run(), 0)), "applied")
      assert.strictEqual(yield* outcome(costly(samples.run(), 1)), "InsufficientCredits")
    }),
  )
}

const groups = (it: Tests): void => {
  it.effect("accepts exactly as many concurrent starts as are covered", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const { account } = samples
      yield* metered(account, 500)
      const runs = Array.from({ length: 20 }, () => samples.run())
      const outcomes = yield* together(runs.map((run) => costly(run, 75)))
      assert.strictEqual(outcomes.filter((each) => each === "applied").length, 6)
      const stored = yield* store.findMany(
        account,
        runs.map(({ id }) => id),
      )
      assert.strictEqual(stored.length, 6)
      const { entries, posted, reserved } = yield* bookOf(account)
      assert.deepStrictEqual([posted, reserved, entries.length], [500, 450, 8])
      yield* assertSound(account)
    }),
  )

  it.effect("covers starts in the order in which they came, whatever their identifiers", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account } = samples
      yield* metered(account, 50)
      const runs = Array.from({ length: 12 }, () => samples.run())
      const sorted = runs.toSorted((a, b) => (a.id < b.id ? 1 : -1))
      const outcomes = yield* together(sorted.map((run) => costly(run, 10)))
      const covered = outcomes.map((each) => each === "applied")
      assert.deepStrictEqual(
        covered,
        covered.map((_, index) => index < 5),
      )
    }),
  )

  it.effect("refuses of starts that arrive together only what does not fit beside the others", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      yield* metered(samples.account, 100)
      const amounts = [60, 50, 30, 20, 10, 10]
      const outcomes = yield* together(amounts.map((amount) => costly(samples.run(), amount)))
      const { posted, reserved } = yield* bookOf(samples.account)
      const left = posted - reserved
      const refused = amounts.filter((_, index) => outcomes[index] !== "applied")
      assert.isTrue(
        left >= 0 && refused.every((amount) => amount > left),
        `refused ${refused.join(", ")} with ${left} left`,
      )
    }),
  )
}

const neighbours = (it: Tests): void => {
  it.effect("keeps a refused commit from harming those that came with it", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account, stranger } = samples
      yield* metered(account, 10)
      const open = Samples.newRun(samples.run())
      yield* outcome(open)
      const commits = [
        costly(samples.run(), 11),
        Samples.newRun(samples.run()),
        costly(samples.run({ accountId: stranger }), 11),
        Samples.step(open.run, { status: "RUNNING" }),
        costly(samples.run(), 10),
        Samples.step(samples.run(), {}),
      ]
      assert.deepStrictEqual(yield* together(commits), [
        "InsufficientCredits",
        "applied",
        "applied",
        "applied",
        "applied",
        "StaleRun",
      ])
    }),
  )

  it.effect("moves credits of hundreds of runs of many new accounts at once", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const accounts = Array.from({ length: 7 }, (_, n) => `${samples.account}-${n}` as AccountId)
      const runs = Array.from({ length: 350 }, (_, n) =>
        samples.run({ accountId: accounts[n % 7]!, status: "RUNNING", estimatedCredits: 4 }),
      )
      yield* together(runs.map((run) => costly(run, 4)))
      const end = { status: "COMPLETED", actualCredits: 3, finishedAt: at } as const
      const credits = [Ledger.post(4, "a", 2, 3, at), Ledger.voidRest(1, at)]
      yield* together(runs.map((run) => Samples.step(run, end, { credits })))
      for (const account of accounts) {
        const { entries, posted, reserved } = yield* bookOf(account)
        assert.deepStrictEqual([posted, reserved, entries.length], [-150, 0, 150])
        yield* assertSound(account)
      }
    }),
  )
}

const byHand = (it: Tests): void => {
  it.effect("makes a grant that is made again once, and answers with the first one", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const ledger = yield* LedgerStore
      const { account } = samples
      const first = yield* ledger.grant(grantOf(account, 100, { priority: 3 }))
      assert.deepInclude(first, { amount: 100, remaining: 100, priority: 3, actor: "ada" })
      const again = yield* Effect.forEach(
        [100, 7, 100, 1_000],
        (amount) => ledger.grant(grantOf(account, amount, { actor: "eve" })),
        { concurrency: "unbounded" },
      )
      for (const answer of again) assert.deepStrictEqual(answer, first)
      const { entries, posted } = yield* bookOf(account)
      assert.deepStrictEqual([posted, keysOf(entries)], [100, ["grant:g"]])
      const other = yield* ledger.grant(grantOf(samples.stranger, 5))
      assert.strictEqual(other.amount, 5)
    }),
  )

  it.effect("makes one of many concurrent grants of one name", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const ledger = yield* LedgerStore
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => n + 1),
        (amount) => ledger.grant(grantOf(samples.account, amount)),
        { concurrency: "unbounded" },
      )
      const { posted } = yield* bookOf(samples.account)
      assert.deepStrictEqual(
        answers.map(({ amount }) => amount),
        answers.map(() => posted),
      )
    }),
  )
}

const operations = (it: Tests): void => {
  it.effect("keeps who adjusted or metered an account, and why, and does it once", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const ledger = yield* LedgerStore
      const { account } = samples
      const adjustment = { ...operation, id: "x", accountId: account, amount: -3 }
      const first = yield* ledger.adjust(adjustment)
      const again = yield* ledger.adjust({ ...adjustment, amount: 9, actor: "eve" })
      assert.deepStrictEqual(again, first)
      assert.deepInclude(first, { key: "adjust:x", posted: -3, actor: "ada", reason: "because" })
      const on = yield* ledger.meter({ ...operation, id: "x", accountId: account }, true)
      yield* ledger.meter({ ...operation, id: "x", accountId: account }, true)
      assert.deepInclude(on, { key: "meter:x", posted: 0, runId: null })
      yield* ledger.meter({ ...operation, id: "y", accountId: account }, false)
      const { entries, metered: isMetered } = yield* bookOf(account)
      assert.isFalse(isMetered)
      assert.deepStrictEqual(keysOf(entries), ["adjust:x", "meter:x", "unmeter:y"])
      yield* assertSound(account)
    }),
  )

  it.effect("uses first what ends first, and takes back what is over before anything moves", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const ledger = yield* LedgerStore
      const { account } = samples
      yield* metered(account, 0)
      const far = 4_000_000_000_000
      yield* ledger.grant(grantOf(account, 10, { id: "forever" }))
      yield* ledger.grant(grantOf(account, 10, { id: "far", expiresAt: far }))
      yield* ledger.grant(grantOf(account, 10, { id: "over", expiresAt: at }))
      assert.strictEqual(yield* outcome(costly(samples.run(), 21)), "InsufficientCredits")
      const run = { ...samples.run({ status: "RUNNING" }), estimatedCredits: 20 }
      assert.strictEqual(yield* outcome(costly(run, 20)), "applied")
      const credits = [Ledger.post(20, "a", 2, 12, at)]
      yield* outcome(Samples.step(run, { actualCredits: 12 }, { credits }))
      const { entries, grants, posted } = yield* bookOf(account)
      assert.strictEqual(posted, 8)
      assert.deepStrictEqual(
        grants.map(({ id, remaining }) => [id, remaining]),
        [["forever", 8]],
      )
      const over = entries.find(({ kind }) => kind === "expire")
      assert.deepInclude(over, { key: "expire:over:10", posted: -10 })
      yield* assertSound(account)
    }),
  )
}

const reads = (it: Tests): void => {
  it.effect("tells of an account's ledger newest first, in pages, and of nobody else's", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const ledger = yield* LedgerStore
      const { account, stranger } = samples
      for (let n = 1; n <= 5; n++) {
        yield* ledger.adjust({ ...operation, id: `${n}`, accountId: account, amount: n })
        yield* ledger.adjust({ ...operation, id: `${n}`, accountId: stranger, amount: n })
      }
      const first = yield* ledger.statement({ account, limit: 2 })
      const before = first.at(-1)!.number
      const rest = yield* ledger.statement({ account, before, limit: 10 })
      assert.deepStrictEqual(
        [...first, ...rest].map(({ posted }) => posted),
        [5, 4, 3, 2, 1],
      )
      assert.deepStrictEqual(yield* ledger.statement({ account, before: 0, limit: 10 }), [])
    }),
  )

  it.effect("knows of an account without credits that it has none", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const ledger = yield* LedgerStore
      const { account } = samples
      const empty = { account: Ledger.unopened(account), grants: [] }
      assert.deepStrictEqual(yield* ledger.find(account), empty)
      assert.deepStrictEqual(yield* ledger.statement({ account, limit: 5 }), [])
      assert.notInclude(yield* ledger.accounts, account)
      yield* assertSound(account)
      yield* ledger.grant(grantOf(account, 1))
      assert.include(yield* ledger.accounts, account)
    }),
  )

  it.effect("hands an audit what was never booked", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const ledger = yield* LedgerStore
      const { account } = samples
      const run = samples.run({ estimatedCredits: 5 })
      yield* outcome(Samples.newRun(run))
      const lines: Array<unknown> = []
      yield* ledger.audit(account, () => (line) => void lines.push(line))
      const { actualCredits, estimatedCredits, id, startAt, status } = run
      const facts = { id, status, estimatedCredits, actualCredits, startAt }
      assert.deepStrictEqual(lines, [{ entry: null, run: facts }])
      assert.include(yield* ledger.accounts, account)
    }),
  )
}

/** Registers the tests. */
export const ledgerSuite = (it: Tests): void => {
  describe("RunStore.commit with credits", () => {
    moves(it)
    staleness(it)
    refusals(it)
    groups(it)
    neighbours(it)
  })
  describe("LedgerStore", () => {
    byHand(it)
    operations(it)
    reads(it)
  })
}
