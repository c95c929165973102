/**
 * What can be seen of stores: everything that a script could have changed, read through the ports.
 *
 * Guarantees: what one command may have touched is a part of it, so that a trace of a refused
 * commit shows at once. Leaves out: leases, which only a claim can see.
 */
import type { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import { auditAccount } from "@millrace/core/engine/Audit"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { Effect, Option } from "effect"
import type { Command } from "./ModelCommands.ts"
import { slots } from "./ModelSlots.ts"
import { inboxesOf } from "./ModelMessages.ts"
import { byAge, ledgerOf, type Scene, sortedRecords } from "./ModelStep.ts"
import type { Stores } from "./StoreModel.ts"

/** Slots of the things to look at. */
export interface Touched {
  readonly accounts: ReadonlyArray<number>
  readonly workflows: ReadonlyArray<number>
  readonly runs: ReadonlyArray<number>
  readonly ledgers: ReadonlyArray<number>
}

const all = (count: number): ReadonlyArray<number> => [...Array(count).keys()]

/** Every slot. */
export const everything: Touched = {
  accounts: all(slots.accounts),
  workflows: all(slots.workflows),
  runs: all(slots.runs),
  ledgers: all(slots.accounts),
}

const nothing: Touched = { accounts: [], workflows: [], runs: [], ledgers: [] }

/** What a command may have changed. */
export const touchedBy = (command: Command): Touched => {
  switch (command._tag) {
    case "InsertKey":
    case "UpdateKey":
    case "RevokeKey":
      return { ...nothing, accounts: everything.accounts }
    case "InsertWorkflow":
    case "ReplaceWorkflow":
    case "RemoveWorkflow":
    case "PublishWorkflow":
    case "UnpublishWorkflow":
      return { ...nothing, workflows: [command.workflow] }
    case "TakeOver":
      return { ...nothing, runs: [command.run] }
    case "Send":
      return { ...nothing, runs: [command.run] }
    case "Begin":
      return { ...nothing, runs: [command.run], ledgers: everything.ledgers }
    case "Advance": {
      const { sends = [], starts = [] } = command.carried ?? {}
      const runs = [command, ...starts, ...sends].map(({ run }) => run)
      return { ...nothing, runs: [...new Set(runs)], ledgers: everything.ledgers }
    }
    case "Together": {
      const runs = command.commits.map(({ run }) => run)
      return { ...nothing, runs, ledgers: everything.ledgers }
    }
    case "Grant":
    case "Adjust":
    case "Meter":
      return { ...nothing, ledgers: [command.account] }
    case "Claim":
    case "Heartbeat":
    case "Requeue":
    case "EndLease":
    case "Pardon":
      return { ...nothing, runs: everything.runs }
    default:
      return nothing
  }
}

/** What stores show of some runs: to every account, and all that happened in them. */
const runsIn = Effect.fnUntraced(function* (
  { runs }: Stores,
  { cast, model }: Scene,
  ids: ReadonlyArray<RunId>,
) {
  if (ids.length === 0) return { records: [], events: [] }
  const records = yield* Effect.forEach(cast.accounts, (account) =>
    Effect.map(runs.findMany(account, ids), sortedRecords),
  )
  const events = yield* Effect.forEach(ids, (id) => {
    const owner = model.runs.runs().find((run) => run.id === id)?.accountId
    return runs.events(owner ?? cast.accounts[0]!, id, 0)
  })
  return { records, events }
})

/** What stores show of an account's credits, and what does not add up. */
const creditsOf = Effect.fnUntraced(function* ({ ledger }: Stores, account: AccountId) {
  const { account: balance, grants } = yield* ledger.find(account)
  return {
    balance,
    grants: grants.map(({ at: _, ...grant }) => grant).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ledger: yield* ledgerOf(ledger, account, 50),
    discrepancies: yield* Effect.provideService(auditAccount(account), LedgerStore, ledger),
  }
})

/** What stores show of a workflow, and of its versions. */
const workflowIn = Effect.fnUntraced(function* (
  { workflows }: Stores,
  account: AccountId,
  id: WorkflowId,
) {
  const versions = Option.getOrNull(yield* workflows.listVersions(account, id))
  return {
    draft: Option.getOrNull(yield* workflows.find(account, id)),
    current: Option.getOrNull(yield* workflows.findCurrent(account, id)),
    versions,
    contents: yield* Effect.forEach(versions?.items ?? [], ({ number }) =>
      Effect.map(workflows.findVersion(account, id, number), Option.getOrNull),
    ),
  }
})

/** What stores show of some things. */
export const part = Effect.fnUntraced(function* (stores: Stores, scene: Scene, touched: Touched) {
  const { accounts, runs, workflows } = scene.cast
  return {
    keys: yield* Effect.forEach(touched.accounts, (slot) =>
      Effect.map(stores.keys.list(accounts[slot]!), byAge),
    ),
    workflows: yield* Effect.forEach(touched.workflows, (slot) =>
      Effect.forEach(accounts, (account) => workflowIn(stores, account, workflows[slot]!)),
    ),
    runs: yield* runsIn(
      stores,
      scene,
      touched.runs.map((slot) => runs[slot]!),
    ),
    inboxes: yield* inboxesOf(stores.runs, scene.cast, { ...touched, after: 0, held: [] }),
    credits: yield* Effect.forEach(touched.ledgers, (slot) => creditsOf(stores, accounts[slot]!)),
  }
})

/** What stores show of everything, listings included. */
export const whole = Effect.fnUntraced(function* (stores: Stores, scene: Scene) {
  const { accounts } = scene.cast
  const known = yield* stores.keys.listAccounts
  return {
    ...(yield* part(stores, scene, everything)),
    accounts: byAge(known.filter(({ id }) => accounts.includes(id))),
    listings: yield* Effect.forEach(accounts, (account) =>
      Effect.all([
        stores.workflows.list({ account, limit: 50 }),
        stores.runs.list({ account, limit: 50 }),
      ]),
    ),
  }
})

/** The parts of a view that say how events are numbered. */
export type Numbered = Effect.Success<ReturnType<typeof part>>["runs"]

/** Says which run's events are not numbered from 1 to its sequence without gaps. */
export const gapIn = ({ events, records }: Numbered): string | undefined => {
  for (const { run } of records.flat()) {
    const own = events.flat().filter(({ runId }) => runId === run.id)
    const isWhole = own.every(({ sequence }, index) => sequence === index + 1)
    if (!isWhole || own.length !== run.sequence) {
      const numbers = own.map(({ sequence }) => sequence).join(", ")
      return `the events of ${run.id}, of which there are ${run.sequence}, are numbered ${numbers}`
    }
  }
  return undefined
}
