/**
 * Races for the credits of an account, over several pools of connections to one database, as
 * several servers would run them.
 *
 * Guarantees: each race ends with an audit of the account and returns what came of it. Leaves out:
 * processes of their own; a pool shares nothing with another one but the database.
 */
import { assert } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import { AccountId } from "@millrace/core/domain/Id"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { Run } from "@millrace/core/domain/Run"
import { auditAccount } from "@millrace/core/engine/Audit"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { type RunCommit, RunStore } from "@millrace/core/ports/RunStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Effect, Layer, Option, type Redacted } from "effect"

/** One server's stores. */
export interface Server {
  readonly runs: RunStore["Service"]
  readonly ledger: LedgerStore["Service"]
}

/** So many servers on one database, each with connections of its own. */
export const servers = Effect.fnUntraced(function* (url: Redacted.Redacted, count: number) {
  const stores = Layer.provide(Stores.layer, Postgres.layer({ url, maxConnections: 4 }))
  return yield* Effect.forEach(Array.from({ length: count }), () =>
    Effect.map(Layer.build(Layer.fresh(stores)), (context): Server => ({
      runs: Context.get(context, RunStore),
      ledger: Context.get(context, LedgerStore),
    })),
  )
})

const { epoch: at } = Samples
const operation = { actor: "ada", reason: "because" }

/** A metered account with so much. */
const open = Effect.fnUntraced(function* (
  { ledger }: Server,
  accountId: AccountId,
  amount: number,
) {
  yield* ledger.meter({ ...operation, id: "m", accountId }, true)
  const grant = { ...operation, id: "g", accountId, amount, priority: 0, expiresAt: null }
  if (amount > 0) yield* ledger.grant(grant)
})

/** What does not add up on an account. */
export const audit = ({ ledger }: Pick<Server, "ledger">, account: AccountId) =>
  Effect.provideService(auditAccount(account), LedgerStore, ledger)

const outcome = ({ runs }: Server, commit: RunCommit) =>
  runs.commit(commit).pipe(
    Effect.as("applied" as const),
    Effect.catchTag(["StaleRun", "InsufficientCredits"], ({ _tag }) => Effect.succeed(_tag)),
  )

const newRun = (run: Run, amount: number): RunCommit =>
  Samples.newRun({ ...run, estimatedCredits: amount }, { credits: [Ledger.reserve(amount, at)] })

const ending = (run: Run, change: Partial<Run>, cost: number): RunCommit => {
  const posts = cost === 0 ? [] : [Ledger.post(run.estimatedCredits, "a", 2, cost, at)]
  const held = Math.max(0, run.estimatedCredits - cost)
  return Samples.step(
    run,
    { ...change, actualCredits: cost, finishedAt: at },
    { credits: [...posts, Ledger.voidRest(held, at)] },
  )
}

/** Starts of one price that are made at once, spread over the servers, against one balance. */
export const starts = Effect.fnUntraced(function* (
  all: ReadonlyArray<Server>,
  {
    balance,
    count,
    price,
  }: { readonly balance: number; readonly count: number; readonly price: number },
) {
  const samples = yield* Samples.make
  const { account } = samples
  const [first] = all
  yield* open(first!, account, balance)
  const runs = Array.from({ length: count }, () => samples.run())
  const outcomes = yield* Effect.forEach(
    runs,
    (run, index) => outcome(all[index % all.length]!, newRun(run, price)),
    { concurrency: "unbounded" },
  )
  const purse = yield* first!.ledger.find(account)
  const entries = yield* first!.ledger.statement({ account, limit: count })
  const stored = yield* Effect.forEach(runs, ({ id }) => first!.runs.find(account, id))
  assert.deepStrictEqual(yield* audit(first!, account), [])
  return {
    accepted: outcomes.filter((each) => each === "applied").length,
    refused: outcomes.filter((each) => each === "InsufficientCredits").length,
    stored: stored.filter(Option.isSome).length,
    reserved: purse.account.reserved,
    reserves: entries.filter(({ kind }) => kind === "reserve").length,
  }
})

/**
 * One run that is ended by its owner, canceled by two others and competes with a new start. Every
 * fourth run has ended before anybody cancels it, and every fourth is canceled before its owner
 * ends it, so that both happen on a machine of any speed; in the others all go at once.
 */
const contested = Effect.fnUntraced(function* (
  all: ReadonlyArray<Server>,
  samples: Samples.Samples,
  round: number,
) {
  const pick = (offset: number) => all[(round + offset) % all.length]!
  const owner = samples.runner()
  const run = { ...samples.run({ status: "RUNNING", owner, fence: 1 }), estimatedCredits: 3 }
  if ((yield* outcome(pick(0), newRun(run, 3))) !== "applied") return { end: "none", isHeld: false }
  const cancel = Effect.fnUntraced(function* (server: Server) {
    const taken = yield* server.runs.takeOver(run.accountId, run.id, samples.runner())
    const { run: seen } = Option.getOrThrow(taken)
    if (seen.finishedAt !== null) return "ended" as const
    return yield* outcome(server, ending(seen, { status: "CANCELED" }, 0))
  })
  const complete = outcome(pick(1), ending(run, { status: "COMPLETED" }, 2))
  const first = round % 4 === 0 ? yield* complete : undefined
  const early = round % 4 === 1 ? yield* cancel(pick(2)) : undefined
  const outcomes = yield* Effect.all(
    [
      first === undefined ? complete : Effect.succeed(first),
      early === undefined ? cancel(pick(2)) : Effect.succeed(early),
      cancel(pick(3)),
      outcome(pick(round % 3), newRun(samples.run(), 3)),
    ],
    { concurrency: "unbounded" },
  )
  const [completed, ...canceled] = outcomes.slice(0, 3).map((each) => each === "applied")
  const ends = [completed, ...canceled].filter(Boolean).length
  const end = ends > 1 ? "twice" : completed ? "completed" : ends === 1 ? "canceled" : "none"
  return { end, isHeld: outcomes[3] === "applied" }
})

/** Many contested runs on one account, and what is left of its credits. */
export const settlements = Effect.fnUntraced(function* (
  all: ReadonlyArray<Server>,
  { balance, rounds }: { readonly balance: number; readonly rounds: number },
) {
  const samples = yield* Samples.make
  const { account } = samples
  const [first] = all
  yield* open(first!, account, balance)
  const outcomes = yield* Effect.forEach(
    Array.from({ length: rounds }, (_, round) => round),
    (round) => contested(all, samples, round),
    { concurrency: 40 },
  )
  const purse = yield* first!.ledger.find(account)
  assert.deepStrictEqual(yield* audit(first!, account), [])
  const entries = yield* first!.ledger.statement({ account, limit: rounds * 10 })
  const posted = entries.filter(({ kind }) => kind === "post").length
  const held = outcomes.filter(({ isHeld }) => isHeld).length
  assert.strictEqual(purse.account.posted, balance - 2 * posted)
  assert.strictEqual(purse.account.reserved, 3 * held)
  return {
    ended: outcomes.filter(({ end }) => end !== "none").length,
    endedTwice: outcomes.filter(({ end }) => end === "twice").length,
    completed: outcomes.filter(({ end }) => end === "completed").length,
    canceled: outcomes.filter(({ end }) => end === "canceled").length,
    posted,
  }
})

/** Each run is started and ended by all servers at once, as after answers that got lost. */
export const twins = Effect.fnUntraced(function* (all: ReadonlyArray<Server>, rounds: number) {
  const samples = yield* Samples.make
  const { account } = samples
  // Enough for all twins: one that comes late may be counted beside its elder when it is decided
  // who is covered, and would crowd out others where credits are short.
  const balance = 3 * rounds * all.length
  yield* open(all[0]!, account, balance)
  const byAll = (commit: RunCommit) =>
    Effect.map(
      Effect.forEach(all, (server) => outcome(server, commit), { concurrency: "unbounded" }),
      (outcomes) => outcomes.filter((each) => each === "applied").length,
    )
  const round = Effect.gen(function* () {
    const run = { ...samples.run({ status: "RUNNING" }), estimatedCredits: 3 }
    const started = yield* byAll(newRun(run, 3))
    const ended = yield* byAll(ending(run, { status: "COMPLETED" }, 3))
    return started === 1 && ended === 1
  })
  const rows = yield* Effect.forEach(Array.from({ length: rounds }), () => round, {
    concurrency: 20,
  })
  const purse = yield* all[0]!.ledger.find(account)
  assert.deepStrictEqual(yield* audit(all[0]!, account), [])
  assert.deepInclude(purse.account, { posted: balance - 3 * rounds, reserved: 0 })
  return rows.filter(Boolean).length
})

/** Starts over many accounts in every order, while grants come and end on all of them. */
export const crossings = Effect.fnUntraced(function* (
  all: ReadonlyArray<Server>,
  { accounts, rounds }: { readonly accounts: number; readonly rounds: number },
) {
  const samples = yield* Samples.make
  const ids = Array.from({ length: accounts }, (_, n) => AccountId.make(`${samples.account}-${n}`))
  yield* Effect.forEach(ids, (id) => open(all[0]!, id, 0))
  const round = (index: number) =>
    Effect.gen(function* () {
      const server = all[index % all.length]!
      const accountId = ids[(index * 7) % accounts]!
      const expiresAt = index % 2 === 0 ? at : null
      const grant = { ...operation, id: `${index}`, accountId, amount: 5, priority: 0, expiresAt }
      const run = samples.run({ accountId, status: "RUNNING", estimatedCredits: 4 })
      const [, outcomeOfStart] = yield* Effect.all(
        [server.ledger.grant(grant), outcome(server, newRun(run, 4))],
        { concurrency: "unbounded" },
      )
      if (outcomeOfStart !== "applied") return
      const other = all[(index + 1) % all.length]!
      yield* outcome(other, ending(run, { status: "COMPLETED" }, index % 5))
    })
  yield* Effect.forEach(
    Array.from({ length: rounds }, (_, index) => index),
    round,
    { concurrency: 60 },
  )
  return (yield* Effect.forEach(ids, (id) => audit(all[0]!, id))).flat()
})
