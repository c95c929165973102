/**
 * Usage: what an account's runs were expected to cost, and what they cost, by day, workflow and
 * key.
 *
 * A run counts on the day on which it was created, with everything that it has cost so far.
 * Guarantees: pure. Leaves out: reading the runs, and who may ask.
 */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"
import { MicroCredits } from "./Credits.ts"
import type { AccountId } from "./Id.ts"
import { KeyId, WorkflowId } from "./Id.ts"
import { usageRows } from "./Limits.ts"
import type { Run } from "./Run.ts"
import { dayOf, format, type Timestamp } from "./Timestamp.ts"

const parseDay = (text: string) => {
  const millis = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return millis >= 0 && format(millis).startsWith(text)
    ? Effect.succeed(millis)
    : Effect.fail(new SchemaIssue.InvalidValue({ message: "expected a day: 2026-01-31" }, text))
}

/** A day as its beginning; on the wire `2026-01-31`. */
export const Day: Schema.Codec<number, string> = Schema.String.pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transformEffect(parseDay),
    encode: SchemaGetter.transform((millis: Timestamp) => format(millis).slice(0, 10)),
  }),
)

const sums = {
  /** How many runs were created. */
  runs: Schema.Int,
  estimatedCredits: MicroCredits,
  actualCredits: MicroCredits,
}

/** Usage in some days. */
export const Usage = Schema.Struct({
  /** Days on which runs were created, in order. */
  days: Schema.Array(Schema.Struct({ day: Day, ...sums })),
  /** By workflow, with its name at its latest run. The highest cost comes first. */
  workflows: Schema.Array(
    Schema.Struct({ workflowId: WorkflowId, workflowName: Schema.String, ...sums }),
  ),
  /**
   * By the key that started the runs; `null` for runs without a key. The highest cost comes first.
   * Empty for a session that sees only some workflows.
   */
  keys: Schema.Array(Schema.Struct({ keyId: Schema.NullOr(KeyId), ...sums })),
})
export type Usage = typeof Usage.Type

/** Which account, and which runs: those that were created from `from` to before `until`. */
export interface UsageQuery {
  readonly account: AccountId
  readonly from: Timestamp
  readonly until: Timestamp
  /** Only runs of these workflows. Then nothing is said of keys. */
  readonly workflows?: ReadonlyArray<WorkflowId> | undefined
}

/** The sums of a group of runs. */
export type UsageSums = Schema.Struct.Type<typeof sums>

/** Sorts by cost, the highest first; then by the number of runs, then by name. */
export const dearest = <A extends UsageSums>(
  rows: ReadonlyArray<A>,
  nameOf: (row: A) => string | null,
): ReadonlyArray<A> =>
  rows
    .toSorted(
      (a, b) =>
        b.actualCredits - a.actualCredits ||
        b.runs - a.runs ||
        ((nameOf(a) ?? "") < (nameOf(b) ?? "") ? -1 : 1),
    )
    .slice(0, usageRows)

/** A run, or runs of one day, workflow, name and key together, with the latest of their places. */
export interface CountedRun extends Pick<
  Run,
  | "accountId"
  | "actualCredits"
  | "createdAt"
  | "estimatedCredits"
  | "id"
  | "keyId"
  | "workflowId"
  | "workflowName"
> {
  /** How many runs; absent: one. */
  readonly runs?: number
}

/** The sums of runs, grouped by a key. */
const grouped = <K>(
  runs: ReadonlyArray<CountedRun>,
  keyOf: (run: CountedRun) => K,
): Map<K, UsageSums> => {
  const groups = new Map<K, UsageSums>()
  for (const run of runs) {
    const key = keyOf(run)
    const before = groups.get(key) ?? { runs: 0, estimatedCredits: 0, actualCredits: 0 }
    groups.set(key, {
      runs: before.runs + (run.runs ?? 1),
      estimatedCredits: before.estimatedCredits + run.estimatedCredits,
      actualCredits: before.actualCredits + run.actualCredits,
    })
  }
  return groups
}

/** The usage of these runs, in any order. Runs outside of the query do not count. */
export const usageOf = (
  runs: ReadonlyArray<CountedRun>,
  { account, from, until, workflows: some }: UsageQuery,
): Usage => {
  const own = runs
    .filter((run) => run.accountId === account && run.createdAt >= from && run.createdAt < until)
    .filter(({ workflowId }) => some?.includes(workflowId) ?? true)
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  const names = new Map(own.map(({ workflowId, workflowName }) => [workflowId, workflowName]))
  const days = [...grouped(own, ({ createdAt }) => dayOf(createdAt))]
  const workflows = [...grouped(own, ({ workflowId }) => workflowId)]
  const keys = some === undefined ? [...grouped(own, ({ keyId }) => keyId)] : []
  return {
    days: days.map(([day, sum]) => ({ day, ...sum })),
    workflows: dearest(
      workflows.map(([workflowId, sum]) => {
        return { workflowId, workflowName: names.get(workflowId)!, ...sum }
      }),
      ({ workflowId }) => workflowId,
    ),
    keys: dearest(
      keys.map(([keyId, sum]) => ({ keyId, ...sum })),
      ({ keyId }) => keyId,
    ),
  }
}
