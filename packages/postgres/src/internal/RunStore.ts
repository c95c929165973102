/**
 * The run store on Postgres.
 *
 * Guarantees: commits that arrive at the same time share a statement, and so do reads of runs. A
 * commit in a transaction of the caller takes part in it. Leaves out: the statements; other modules
 * of this folder have them.
 */
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import { definitionsCached } from "@millrace/core/domain/Limits"
import type { Definition, RunRecord } from "@millrace/core/domain/Run"
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { ClaimRequest, RunCommit, Suspect } from "@millrace/core/ports/RunStore"
import { RunStore, StaleRun } from "@millrace/core/ports/RunStore"
import { type Context, Effect, Exit, Latch, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { dueAtOnce } from "./ClaimStatement.ts"
import { databasePort } from "./DatabaseError.ts"
import * as ExpiredRows from "./ExpiredRows.ts"
import * as Inboxes from "./Inboxes.ts"
import * as Outbox from "./Outbox.ts"
import * as Quarantine from "./Quarantine.ts"
import * as RunClaims from "./RunClaims.ts"
import * as RunCommits from "./RunCommits.ts"
import * as RunCredits from "./RunCredits.ts"
import * as RunBatches from "./RunBatches.ts"
import * as RunRecords from "./RunRecords.ts"
import { typesInUse } from "./TypesInUse.ts"
import * as IdempotencyKeys from "./IdempotencyKeys.ts"
import * as Signals from "./Signals.ts"
import * as Statements from "./Statements.ts"
import * as UsageChanges from "./UsageChanges.ts"
import { WrittenRuns } from "./WrittenRuns.ts"

/** How many commits one statement applies at most. */
const commitsPerFlush = 256

/**
 * How many records one statement reads at most, and how many such statements run at once. Both are
 * small, because records may be large: together they are in memory, and each waits for the largest
 * of its statement.
 */
const recordsPerRead = 8
const concurrentReads = 4

/** Writes commits, and remembers what was written if no transaction of a caller may undo it. */
const flush = (sql: SqlClient, written: WrittenRuns) => (commits: ReadonlyArray<RunCommit>) =>
  Effect.contextWith((context: Context.Context<never>) => {
    const isUndoable = Statements.isWithin(sql, context)
    return RunCommits.write({ sql, written: isUndoable ? undefined : written }, commits)
  })

/** True for a commit that changes the usage of its account; now and then for another one, too. */
const addsUsage = ({ expected, run, starts = [] }: RunCommit): boolean =>
  expected._tag === "New" || run.actualCredits !== 0 || starts.length > 0

const makeCommit = Effect.fnUntraced(function* (sql: SqlClient) {
  const written = new WrittenRuns()
  const submit = yield* Statements.gather<RunCommit, RunCommits.Outcome>(sql, {
    keyOf: ({ run }) => run.id,
    exclusivityKeyOf: (commit) =>
      RunCredits.movesCredits(commit) ? commit.run.accountId : undefined,
    flush: flush(sql, written),
    maxMembers: commitsPerFlush,
  })
  const noteUsage = yield* UsageChanges.keepFolded(sql)
  return (commit: RunCommit) => {
    if (addsUsage(commit)) noteUsage()
    if (Outbox.hasOutbox(commit)) {
      // Nothing more is written of a run that ends with this.
      if (commit.run.finishedAt !== null) written.forget(commit.run)
      return Outbox.write(sql, commit)
    }
    return submit(commit).mapExit(
      (exit): Exit.Exit<void, SqlError | StaleRun | InsufficientCredits> => {
        if (Exit.isFailure(exit)) return exit
        const outcome = exit.value
        if (outcome === "applied") return Exit.void
        return Exit.fail(outcome === "stale" ? new StaleRun({ runId: commit.run.id }) : outcome)
      },
    )
  }
})

/**
 * Puts all due runs into the queue, some at a time, whenever more runs are due than a claim sees.
 * Otherwise an account with few due runs would wait for an account with many.
 */
const queueing = (sql: SqlClient, isCrowded: Latch.Latch): Effect.Effect<never> =>
  isCrowded.await.pipe(
    Effect.andThen(isCrowded.close),
    Effect.andThen(
      Effect.repeat(RunClaims.queueDue(sql), { while: (count) => count === dueAtOnce }),
    ),
    Effect.catch((error) => Effect.logWarning("could not put due runs into the queue", error)),
    Effect.forever,
  )

const makeClaim = Effect.fnUntraced(function* (sql: SqlClient) {
  const known = new BoundedMap<string, Definition>(definitionsCached)
  const isCrowded = yield* Latch.make(false)
  yield* Effect.forkScoped(queueing(sql, isCrowded))
  const habits: RunClaims.LastClaim = {
    isIdle: true,
    isQueueing: false,
    onCrowd: () => Latch.openUnsafe(isCrowded),
  }
  return (request: ClaimRequest) =>
    Effect.flatMap(RunClaims.claim(sql, request, habits), (runs) =>
      RunRecords.complete(sql, runs, known),
    )
})

/** Reads that arrive at the same time share a statement. */
const makeFind = (sql: SqlClient) =>
  Effect.map(
    Statements.gather<RunRecords.Wanted, Option.Option<RunRecord>>(sql, {
      keyOf: () => undefined,
      flush: (wanted) => RunRecords.readEach(sql, wanted),
      maxMembers: recordsPerRead,
      flushesAtOnce: concurrentReads,
    }),
    (submit) => (account: AccountId, id: RunId) => submit({ account, id }),
  )

const takeOver = Effect.fnUntraced(function* (
  sql: SqlClient,
  account: AccountId,
  id: RunId,
  runner: RunnerId,
) {
  const run = yield* RunClaims.takeOver(sql, account, id, runner)
  if (run === undefined) return (yield* RunRecords.readEach(sql, [{ account, id }]))[0]!
  return Option.fromUndefinedOr((yield* RunRecords.complete(sql, [run], new Map()))[0])
})

/** Reads the suspects, then their records. A record may be newer than its holder. */
const suspects = Effect.fnUntraced(function* (sql: SqlClient, limit: number) {
  const found = yield* Quarantine.suspects(sql, limit)
  const ids = found.map(({ id }) => id)
  const read = ids.length === 0 ? [] : yield* RunRecords.read(sql, null, ids)
  const records = new Map(read.map((record) => [record.run.id, record]))
  return found.flatMap(({ holder, id }): ReadonlyArray<Suspect> => {
    const record = records.get(id)
    return record === undefined ? [] : [{ record, holder }]
  })
})

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  yield* ExpiredRows.keepTidy(sql, "start_keys")
  yield* ExpiredRows.keepTidy(sql, "workflow_signals")
  return databasePort<RunStore["Service"]>("RunStore", {
    ...RunClaims.make(sql),
    ...RunRecords.make(sql),
    ...Inboxes.make(sql),
    ...Signals.make(sql),
    ...IdempotencyKeys.make(sql),
    commit: yield* makeCommit(sql),
    claim: yield* makeClaim(sql),
    takeOver: (account, id, runner) => takeOver(sql, account, id, runner),
    suspects: (limit) => suspects(sql, limit),
    clearLosses: (id) => Quarantine.clearLosses(sql, id),
    typesInUse: (oldest) => typesInUse(sql, oldest),
    find: yield* makeFind(sql),
    findMany: (account, ids, mostBytes) =>
      mostBytes === undefined
        ? RunRecords.read(sql, account, ids)
        : RunBatches.read(sql, account, ids, mostBytes),
  })
})

/** The run store over an existing client. The tables must exist. */
export const layer: Layer.Layer<RunStore, never, SqlClient> = Layer.effect(RunStore, make)
