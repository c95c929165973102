/**
 * What can be seen of stores: everything that a script could have changed, read through the ports.
 *
 * Guarantees: what one command may have touched is a part of it, so that a trace of a refused
 * commit shows at once. Leaves out: leases, which only a claim can see.
 */
import type { RunId } from "@millrace/core/domain/Id"
import { Effect, Option } from "effect"
import { type Command, slots } from "./ModelCommands.ts"
import { byAge, type Scene, sortedRecords } from "./ModelTurn.ts"
import type { Stores } from "./StoreModel.ts"

/** Slots of the things to look at. */
export interface Touched {
  readonly accounts: ReadonlyArray<number>
  readonly workflows: ReadonlyArray<number>
  readonly runs: ReadonlyArray<number>
}

const all = (count: number): ReadonlyArray<number> => [...Array(count).keys()]

/** Every slot. */
export const everything: Touched = {
  accounts: all(slots.accounts),
  workflows: all(slots.workflows),
  runs: all(slots.runs),
}

const nothing: Touched = { accounts: [], workflows: [], runs: [] }

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
      return { ...nothing, workflows: [command.workflow] }
    case "Begin":
    case "Advance":
    case "Seize":
      return { ...nothing, runs: [command.run] }
    case "Together":
      return { ...nothing, runs: command.commits.map(({ run }) => run) }
    case "Claim":
    case "Abandon":
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

/** What stores show of some things. */
export const part = Effect.fnUntraced(function* (stores: Stores, scene: Scene, touched: Touched) {
  const { accounts, runs, workflows } = scene.cast
  return {
    keys: yield* Effect.forEach(touched.accounts, (slot) =>
      Effect.map(stores.keys.list(accounts[slot]!), byAge),
    ),
    workflows: yield* Effect.forEach(touched.workflows, (slot) =>
      Effect.forEach(accounts, (account) =>
        Effect.map(stores.workflows.find(account, workflows[slot]!), Option.getOrNull),
      ),
    ),
    runs: yield* runsIn(
      stores,
      scene,
      touched.runs.map((slot) => runs[slot]!),
    ),
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
