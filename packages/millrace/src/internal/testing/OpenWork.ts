/**
 * What is still to be done in the stores of a test engine, and when. Schedules are never done; the
 * next one that is due is a moment like others.
 *
 * Leaves out: the timers of the living process.
 */
import type { RunnerId } from "@millrace/core/domain/Id"
import type { Page, PagePosition } from "@millrace/core/domain/Page"
import type { Run } from "@millrace/core/domain/Run"
import { never } from "@millrace/core/domain/Timestamp"
import type { Stores } from "@millrace/core/engine/Engine"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Context, type Effect, Option } from "effect"
import type { InProgress } from "./InProgress.ts"

/** What to look at. */
export interface OpenWorkRequest {
  readonly stores: Context.Context<Stores>
  readonly read: <A, E>(effect: Effect.Effect<A, E>) => A
  readonly now: number
  /** How many commits of runs there were. The end of a run may be what another one follows. */
  readonly commits: number
  /** The living process, if there is one. */
  readonly runner: RunnerId | undefined
  readonly inProgress: InProgress | undefined
  /** When the leases of dead processes run out. */
  readonly leases: ReadonlyMap<RunnerId, number>
  readonly deliveriesFreeAt: number
}

/** What is to be done. */
export interface OpenWork {
  /** True if every run and every delivery has ended. */
  readonly isOver: boolean
  /** When something is to be done, in any order. A moment may have passed. */
  readonly moments: ReadonlyArray<number>
  /** Changes whenever a run or a delivery does, and when a run has come and gone. */
  readonly state: string
  /** Why nothing goes on, where nothing does. */
  readonly sentence: () => string
}

const pageLength = 1_000

/** All items of a listing. */
const all = <A>(list: (after: PagePosition | undefined) => Page<A>): ReadonlyArray<A> => {
  const items: Array<A> = []
  let after: PagePosition | undefined
  do {
    const page = list(after)
    items.push(...page.items)
    after = page.next
  } while (after !== undefined)
  return items
}

const momentOf = (run: Run, { leases, now, runner }: OpenWorkRequest): ReadonlyArray<number> => {
  if (run.dueAt !== null) return run.dueAt === never ? [] : [run.dueAt]
  if (run.owner === null) return [now]
  if (run.owner === runner) return []
  return [leases.get(run.owner) ?? now]
}

/** What a run waits for, as a clause. */
const reasonOf = (run: Run, { inProgress, read, runner, stores }: OpenWorkRequest): string => {
  const found = read(Context.get(stores, RunStore).find(run.accountId, run.id))
  const record = Option.getOrUndefined(found)
  const name = `run ${run.id} of "${run.workflowName}"`
  if (runner === undefined) return `${name} is ${run.status}, and no process executes it`
  const running = inProgress?.nodes.filter(({ runId }) => runId === run.id) ?? []
  if (running.length > 0) {
    const nodes = running.map(({ nodeId, nodeType }) => `node "${nodeId}" (${nodeType})`).join(", ")
    return `${name}: ${nodes} has not ended, and nothing ends it: give it a timeout, or a mock`
  }
  const waits = run.waiting.flatMap(({ for: message, due, ordinal }) => {
    if (message === undefined || due !== never) return []
    const node = record?.definition.nodes[ordinal]?.id ?? String(ordinal)
    return [`node "${node}" waits for the message "${message}", which no clock brings`]
  })
  if (waits.length > 0) return `${name}: ${waits.join(", ")}`
  return run.status === "QUEUED"
    ? `${name} stays QUEUED: this engine may not know a node type of it, or a cap holds it back`
    : `${name} does not go on`
}

/** The open runs of all accounts. */
const openRuns = ({ read, stores }: OpenWorkRequest): ReadonlyArray<Run> => {
  const { list } = Context.get(stores, RunStore)
  const { listAccounts } = Context.get(stores, KeyStore)
  return read(listAccounts).flatMap(({ id: account }) =>
    (["QUEUED", "RUNNING"] as const).flatMap((status) =>
      all((after) => read(list({ account, status, after, limit: pageLength }))),
    ),
  )
}

/** What is to be done in the stores of an engine. */
export const openWork = (request: OpenWorkRequest): OpenWork => {
  const { commits, deliveriesFreeAt, read, stores } = request
  const webhooks = Context.get(stores, WebhookStore)
  const runs = openRuns(request)
  const deliveries = all((after) =>
    read(webhooks.list({ account: null, state: "PENDING", after, limit: pageLength })),
  )
  const { claimDue } = Context.get(stores, TriggerStore)
  const { nextDueAt } = read(claimDue({ limit: 0, leaseMillis: 0 }))
  const ofSchedules = nextDueAt === null ? [] : [nextDueAt]
  const ofDeliveries = deliveries.map(({ nextAttemptAt }) => nextAttemptAt ?? deliveriesFreeAt)
  return {
    isOver: runs.length === 0 && deliveries.length === 0,
    moments: [...runs.flatMap((run) => momentOf(run, request)), ...ofDeliveries, ...ofSchedules],
    state: [
      ...runs.map(({ fence, id, revision }) => `${id} ${revision} ${fence}`),
      ...deliveries.map(({ attempts, id }) => `${id} ${attempts}`),
      ...ofSchedules,
      commits,
    ].join(),
    sentence: () => {
      const [run] = runs
      if (run !== undefined) return `runToEnd: ${reasonOf(run, request)}`
      return `runToEnd: ${deliveries.length} deliveries do not go on`
    },
  }
}
