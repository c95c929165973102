/**
 * What a database holds in the end, and what must hold of it whatever was killed when.
 *
 * Guarantees: the rules are pure functions over what was read. Leaves out: reading quickly.
 */
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import { audit } from "@millrace/core/engine/Audit"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { fromNumber } from "@millrace/core/domain/Credits"
import * as Postgres from "@millrace/postgres/Postgres"
import * as Stores from "@millrace/postgres/Stores"
import { Effect, Layer, Redacted } from "effect"
import type { Acknowledged } from "./Traffic.ts"
import type { Attempt, Drawing } from "./Work.ts"
import { workCredits } from "./Work.ts"

/** A run with everything that is stored of it. */
export interface Story extends RunRecord {
  readonly events: ReadonlyArray<RunEvent>
}

const pageSize = 200

const storiesOf = Effect.gen(function* () {
  const runs = yield* RunStore
  const accounts = yield* (yield* KeyStore).listAccounts
  const stories: Array<Story> = []
  for (const { id: account } of accounts) {
    let after
    do {
      const page: { items: ReadonlyArray<Run>; next?: any } = yield* runs.list({
        account,
        after,
        limit: pageSize,
      })
      const ids = page.items.map(({ id }) => id)
      for (const record of yield* runs.findMany(account, ids)) {
        stories.push({ ...record, events: yield* runs.events(account, record.run.id, 0) })
      }
      after = page.next
    } while (after !== undefined)
  }
  return stories
})

const storesOf = (url: string) =>
  Stores.layerStorage.pipe(
    Layer.provide(Postgres.layer({ url: Redacted.make(url), maxConnections: 1 })),
  )

/** Everything that is stored of every run. */
export const readStories = (url: string): Promise<ReadonlyArray<Story>> =>
  Effect.runPromise(Effect.provide(storiesOf, storesOf(url)))

/** Makes every account one that needs credits, and gives it plenty. */
export const meterAll = (url: string): Promise<void> => {
  const all = Effect.gen(function* () {
    const ledger = yield* LedgerStore
    for (const { id: accountId } of yield* (yield* KeyStore).listAccounts) {
      const operation = { accountId, actor: "the test", reason: "to be metered" }
      yield* ledger.meter({ ...operation, id: "metered" }, true)
      const amount = fromNumber(1_000_000)
      yield* ledger.grant({ ...operation, id: "plenty", amount, priority: 0, expiresAt: null })
    }
  })
  return Effect.runPromise(Effect.provide(all, storesOf(url)))
}

/** What does not add up in the ledger, and what is set aside although every run has ended. */
export const readDiscrepancies = (url: string): Promise<ReadonlyArray<string>> => {
  const found = Effect.gen(function* () {
    const ledger = yield* LedgerStore
    const { discrepancies } = yield* audit
    const problems = discrepancies.map(({ accountId, message }) => `${accountId}: ${message}`)
    for (const id of yield* ledger.accounts) {
      const { reserved } = (yield* ledger.find(id)).account
      if (reserved !== 0) problems.push(`${id}: ${reserved} are reserved for nothing`)
    }
    return problems
  })
  return Effect.runPromise(Effect.provide(found, storesOf(url)))
}

/** How many runs have not ended. */
export const countOpen = async (url: string): Promise<number> => {
  const count = Effect.gen(function* () {
    const runs = yield* RunStore
    const accounts = yield* (yield* KeyStore).listAccounts
    let open = 0
    for (const { id: account } of accounts) {
      for (const status of ["QUEUED", "RUNNING"] as const) {
        open += (yield* runs.list({ account, status, limit: 1_000 })).items.length
      }
    }
    return open
  })
  return Effect.runPromise(Effect.provide(count, storesOf(url)))
}

const duplicatesIn = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name, index) => names.indexOf(name) !== index)

/** What is wrong with the rows of a run's nodes. */
const problemsOfNodes = ({ nodeRuns }: Story, { nodeIds }: Drawing): ReadonlyArray<string> => {
  const ids = nodeRuns.map(({ nodeId }) => nodeId)
  const open = nodeRuns.filter(({ status }) => status !== "COMPLETED")
  return [
    ...duplicatesIn(ids).map((id) => `node ${id} is recorded twice`),
    ...nodeIds.filter((id) => !ids.includes(id)).map((id) => `node ${id} is not recorded`),
    ...open.map(({ nodeId, status }) => `node ${nodeId} is ${status}`),
  ]
}

/** What is wrong with the events of a run. */
const problemsOfEvents = ({ events, run }: Story, { nodeIds }: Drawing): ReadonlyArray<string> => {
  const numbers = events.map(({ sequence }) => sequence)
  const told = events.flatMap(({ data, type }) =>
    type === "node.completed" ? [String(data["nodeId"])] : [],
  )
  const ends = [events[0]?.type, events.at(-1)?.type]
  return [
    ...(numbers.some((number, index) => number !== index + 1)
      ? [`events are numbered ${numbers.join(" ")}`]
      : []),
    ...(run.sequence === events.length
      ? []
      : [`counts ${run.sequence} of ${events.length} events`]),
    ...(ends.join() === "run.started,run.completed" ? [] : [`begins and ends: ${ends.join()}`]),
    ...(events.length === nodeIds.length + 2 ? [] : [`has ${events.length} events`]),
    ...duplicatesIn(told).map((id) => `the end of ${id} is told twice`),
    ...nodeIds.filter((id) => !told.includes(id)).map((id) => `the end of ${id} is not told`),
  ]
}

/** What is wrong with the row of a run. */
const problemsOfRun = ({ nodeRuns, run }: Story, drawing: Drawing): ReadonlyArray<string> => {
  const credits = nodeRuns.reduce((sum, row) => sum + row.credits, 0)
  const expected = fromNumber(workCredits) * (drawing.nodeIds.length - 1)
  const facts: ReadonlyArray<readonly [string, unknown, unknown]> = [
    ["status", run.status, "COMPLETED"],
    ["error", run.error, null],
    ["output", run.output, drawing.output],
    ["nodeRunCount", run.nodeRunCount, drawing.nodeIds.length],
    ["actualCredits", run.actualCredits, expected],
    ["credits of its nodes", credits, expected],
    ["active", run.active.length, 0],
  ]
  return facts
    .filter(([, is, should]) => is !== should)
    .map(([name, is, should]) => `${name} is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`)
}

/** Each attempt begins at most once, and none after the one that was recorded. */
const problemsOfAttempts = (
  stories: ReadonlyArray<Story>,
  journal: ReadonlyArray<Attempt>,
): ReadonlyArray<string> => {
  const recorded = new Map<string, number>(
    stories.flatMap(({ nodeRuns, run }) =>
      nodeRuns.map((row) => [`${run.id} ${row.nodeId}`, row.attempt] as const),
    ),
  )
  const begun = new Map<string, number>()
  const problems: Array<string> = []
  for (const { attempt, nodeId, runId } of journal) {
    const name = `${runId} ${nodeId}`
    const last = recorded.get(name)
    if (last === undefined) problems.push(`${name} was executed and is not recorded`)
    else if (attempt > last)
      problems.push(`${name}: attempt ${attempt} follows the recorded ${last}`)
    const times = (begun.get(`${name} ${attempt}`) ?? 0) + 1
    begun.set(`${name} ${attempt}`, times)
    if (times > 1) problems.push(`${name}: attempt ${attempt} began ${times} times`)
  }
  for (const [name, attempt] of recorded) {
    if (name.endsWith(" answer") || begun.has(`${name} ${attempt}`)) continue
    problems.push(`${name}: attempt ${attempt} is recorded and was never executed`)
  }
  return problems
}

/** Everything that is wrong: with runs that were answered for, and with all others as well. */
export const problemsOf = (
  stories: ReadonlyArray<Story>,
  acknowledged: ReadonlyArray<Acknowledged>,
  journal: ReadonlyArray<Attempt>,
  drawings: ReadonlyMap<string, Drawing>,
): ReadonlyArray<string> => {
  const stored = new Set<string>(stories.map(({ run }) => run.id))
  const ids = acknowledged.map(({ runId }) => runId)
  return [
    ...duplicatesIn(ids).map((id) => `${id} was given out twice`),
    ...ids.filter((id) => !stored.has(id)).map((id) => `${id} was answered for and is lost`),
    ...stories.flatMap((story) => {
      const drawing = drawings.get(story.run.workflowName)
      if (drawing === undefined) return [`${story.run.id} is a run of nothing`]
      return [problemsOfRun, problemsOfNodes, problemsOfEvents]
        .flatMap((rule) => rule(story, drawing))
        .map((problem) => `${story.run.id}: ${problem}`)
    }),
    ...problemsOfAttempts(stories, journal),
  ]
}
