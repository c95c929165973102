/**
 * What a command asks of stores: the same steps for the model and for the store that is compared
 * with it, made out of the model's state.
 *
 * Answers are plain data, in which what may differ is left out: the order of answers that may come
 * in any order, and other people's accounts. Leaves out: comparing.
 */
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import type { AccountId } from "@millrace/core/domain/Id"
import type { Blocked } from "@millrace/core/domain/Loss"
import type { Page, PagePosition, PageRequest } from "@millrace/core/domain/Page"
import type { RunRecord } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { NumberedEntry } from "@millrace/core/domain/Ledger"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { ClaimRequest, Suspect } from "@millrace/core/ports/RunStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, Option } from "effect"
import * as Cast from "./ModelCast.ts"
import type { Asker, Block, Command, KeyCommand, Listing } from "./ModelCommands.ts"
import type { PublishCommand } from "./ModelVersions.ts"
import { mostVersions } from "./ModelVersions.ts"
import type { LedgerCommand, RunCommand, WorkflowCommand } from "./ModelCommands.ts"
import { commitOf } from "./ModelCommit.ts"
import { messageAct } from "./ModelMessages.ts"
import type { StoreModel, Stores } from "./StoreModel.ts"

/** Why a store refused; the tag and the message are compared. */
export interface Refusal {
  readonly _tag: string
  readonly message: string
}

/** Steps over one implementation of the ports. */
export type Act = (stores: Stores) => Effect.Effect<unknown, Refusal>

/** What a command is made from. */
export interface Scene {
  readonly cast: Cast.Cast
  readonly model: StoreModel
  /** What the clock says before the command. */
  readonly now: Timestamp
}

const dayMillis = 86_400_000

/** What was found, or `null`. */
const found = <A, E>(look: Effect.Effect<Option.Option<A>, E>): Effect.Effect<A | null, E> =>
  Effect.map(look, Option.getOrNull)

/** Records in an order that does not depend on the store. */
export const sortedRecords = (records: ReadonlyArray<RunRecord>): ReadonlyArray<RunRecord> =>
  records.toSorted((a, b) => (a.run.id < b.run.id ? -1 : 1))

/** Things by identifier, and whether they came oldest first: equally old ones come as they like. */
export const byAge = (things: ReadonlyArray<PagePosition>) => ({
  isOldestFirst: things.every(
    ({ createdAt }, index) => index === 0 || things[index - 1]!.createdAt <= createdAt,
  ),
  things: things.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
})

/** The account that asks for a thing; of a thing that nobody owns it is the first one. */
const askerOf = (
  { cast }: Scene,
  as: Asker,
  thing: { readonly accountId: AccountId } | undefined,
): AccountId => (as === "own" ? (thing?.accountId ?? cast.accounts[0]!) : cast.accounts[as]!)

const pageOf = (
  { cast }: Scene,
  { account, after, limit, search, skip }: Listing,
  ids: ReadonlyArray<string>,
  items: ReadonlyArray<PagePosition>,
) => {
  const id = after === undefined ? undefined : ids[after.slot]
  const item = items.find((each) => each.id === id)
  const position =
    after === undefined || id === undefined
      ? undefined
      : { createdAt: item?.createdAt ?? Cast.timeOf(after.age), id }
  return {
    account: cast.accounts[account]!,
    limit,
    after: position,
    skip,
    search: search?.replace("~", cast.runs[0]!.slice(0, -1)),
  }
}

/** All pages of a listing, each behind the end of the one before. */
const walk = Effect.fnUntraced(function* <A, Query extends PageRequest>(
  list: (query: Query) => Effect.Effect<Page<A>, StorageError>,
  query: Query,
) {
  const pages: Array<ReadonlyArray<A>> = []
  let after = query.after
  do {
    const page: Page<A> = yield* list({ ...query, after })
    pages.push(page.items)
    after = page.next
  } while (after !== undefined && pages.length < 50)
  return pages
})

const expiryOf = (now: Timestamp, expires: "never" | "past" | "future") =>
  expires === "never" ? null : now + (expires === "past" ? -dayMillis : dayMillis)

const insertKey = (
  { cast, now }: Scene,
  command: Extract<KeyCommand, { readonly _tag: "InsertKey" }>,
): Act => {
  const key: ApiKey = {
    id: cast.keys[command.key]!,
    accountId: cast.accounts[command.account]!,
    label: command.label,
    prefix: "mr_123456789",
    perMinute: command.perMinute,
    perDay: command.perDay,
    expiresAt: expiryOf(now, command.expires),
    revokedAt: null,
    createdAt: Cast.timeOf(command.age),
    lastUsedAt: null,
  }
  return ({ keys }) => keys.insert(key, cast.hashes[command.hash]!)
}

const keyAct = (scene: Scene, command: KeyCommand): Act => {
  const { cast, model } = scene
  const ownerOf = (slot: number, as: Asker) => {
    const known = model.keys.keys().find(({ id }) => id === cast.keys[slot])
    return askerOf(scene, as, known)
  }
  switch (command._tag) {
    case "InsertAccount": {
      const account = Cast.accountOf(cast, command.account, command.age)
      return ({ keys }) => keys.insertAccount(account)
    }
    case "ListAccounts":
      return ({ keys }) =>
        Effect.map(keys.listAccounts, (all) =>
          byAge(all.filter(({ id }) => cast.accounts.includes(id))),
        )
    case "InsertKey":
      return insertKey(scene, command)
    case "UpdateKey": {
      const { _tag, as, key, ...change } = command
      const account = ownerOf(key, as)
      return ({ keys }) => found(keys.update(account, cast.keys[key]!, change))
    }
    case "RevokeKey": {
      const account = ownerOf(command.key, command.as)
      return ({ keys }) => found(keys.revoke(account, cast.keys[command.key]!))
    }
    case "ListKeys":
      return ({ keys }) => Effect.map(keys.list(cast.accounts[command.account]!), byAge)
    case "Admit":
      return ({ keys }) =>
        Effect.forEach(Array.from({ length: command.times }), () =>
          keys.admit(cast.hashes[command.hash]!),
        )
  }
}

const replaceWorkflow = (
  scene: Scene,
  command: Extract<WorkflowCommand, { readonly _tag: "ReplaceWorkflow" }>,
): Act => {
  const { cast, model } = scene
  const id = cast.workflows[command.workflow]!
  const known = model.workflows.workflows().find((each) => each.id === id)
  const present = known ?? Cast.workflowOf(cast, { ...command, account: 0, age: 0 })
  const expected = present.revision + command.revision
  const next = {
    ...present,
    accountId: askerOf(scene, command.as, known),
    name: command.name,
    nodes: Cast.nodesOf(command.flavor),
    description: command.flavor % 2 === 0 ? "Replaced" : null,
    revision: expected + 1,
    updatedAt: present.updatedAt + 1,
  }
  return ({ workflows }) => workflows.replace(next, expected)
}

const publishWorkflow = (scene: Scene, command: PublishCommand): Act => {
  const { cast, model } = scene
  const id = cast.workflows[command.workflow]!
  const known = model.workflows.workflows().find((each) => each.id === id)
  const account = askerOf(scene, command.as, known)
  const publication = {
    account,
    id,
    expectedRevision: (known?.revision ?? 1) + command.revision,
    number: model.workflows.newestOf(id) + command.number,
    note: command.note,
    publishedAt: Cast.timeOf(3),
    mostVersions,
  }
  return ({ workflows }) => workflows.publish(publication)
}

const workflowAct = (scene: Scene, command: WorkflowCommand): Act => {
  const { cast, model } = scene
  const all = model.workflows.workflows()
  switch (command._tag) {
    case "InsertWorkflow": {
      const workflow = Cast.workflowOf(cast, command)
      return ({ workflows }) => workflows.insert(workflow)
    }
    case "ReplaceWorkflow":
      return replaceWorkflow(scene, command)
    case "PublishWorkflow":
      return publishWorkflow(scene, command)
    case "RemoveWorkflow":
    case "UnpublishWorkflow":
    case "FindWorkflow": {
      const id = cast.workflows[command.workflow]!
      const known = all.find((each) => each.id === id)
      const account = askerOf(scene, command.as, known)
      if (command._tag === "FindWorkflow") {
        return ({ workflows }) => found(workflows.find(account, id))
      }
      return command._tag === "RemoveWorkflow"
        ? ({ workflows }) => workflows.remove(account, id)
        : ({ workflows }) => workflows.unpublish(account, id)
    }
    case "ListWorkflows":
    case "WalkWorkflows": {
      const query = pageOf(scene, command, cast.workflows, all)
      return command._tag === "ListWorkflows"
        ? ({ workflows }) => workflows.list(query)
        : ({ workflows }) => walk(workflows.list, query)
    }
  }
}

/** The outcome of each of several commits that are made at the same time. */
const together = (
  { cast, model }: Scene,
  { commits }: Extract<RunCommand, { readonly _tag: "Together" }>,
): Act => {
  const all = commits.map((each) => commitOf(cast, model, each))
  return ({ runs }) =>
    Effect.forEach(
      all,
      (commit) =>
        runs.commit(commit).pipe(
          Effect.as("applied"),
          Effect.catchTag(["StaleRun", "InsufficientCredits"], ({ message }) =>
            Effect.succeed(message),
          ),
        ),
      { concurrency: "unbounded" },
    )
}

type Handing = Extract<
  RunCommand,
  { readonly _tag: "Claim" | "Heartbeat" | "Requeue" | "EndLease" }
>

const blockOf = (cast: Cast.Cast, block: Block | undefined): Blocked | undefined =>
  block === undefined ? undefined : { run: cast.runs[block.run]!, millis: block.millis }

/** What runners do for themselves. */
const handingAct = ({ cast }: Scene, command: Handing): Act => {
  const runner = cast.runners[command.runner]!
  switch (command._tag) {
    case "Claim": {
      const { after, except, limit, rooms = [], ...rest } = command
      const request: ClaimRequest = {
        ...rest,
        runner,
        limit,
        except: except?.map((slot) => cast.runs[slot]!),
        after: after === undefined ? undefined : cast.accounts[after],
        rooms: new Map(rooms.map(([account, room]) => [cast.accounts[account]!, room])),
      }
      return ({ runs }) => runs.claim(request)
    }
    case "Heartbeat": {
      const blocked = blockOf(cast, command.blocked)
      return ({ runs }) =>
        Effect.map(runs.heartbeat(runner, command.leaseMillis, blocked), (fences) =>
          Object.fromEntries(fences),
        )
    }
    case "Requeue": {
      const ids = command.runs.map((slot) => cast.runs[slot]!)
      return ({ runs }) => runs.requeue(runner, ids)
    }
    case "EndLease": {
      const blocked = blockOf(cast, command.blocked)
      return ({ runs }) => runs.endLease(runner, blocked)
    }
  }
}

/** Those of the cast: what earlier plays left behind in the same database is none of this one's. */
const suspectsOf =
  ({ cast }: Scene) =>
  (suspects: ReadonlyArray<Suspect>): ReadonlyArray<Suspect> =>
    suspects
      .filter(({ record }) => cast.runs.includes(record.run.id))
      .toSorted((a, b) => (a.record.run.id < b.record.run.id ? -1 : 1))

const runAct = (scene: Scene, command: Exclude<RunCommand, Handing>): Act => {
  const { cast, model } = scene
  const ownerOf = (slot: number, as: Asker) =>
    askerOf(
      scene,
      as,
      model.runs.runs().find(({ id }) => id === cast.runs[slot]),
    )
  switch (command._tag) {
    case "Send":
    case "Signal":
    case "Inboxes":
      return messageAct(cast, model, command)
    case "Begin":
    case "Advance": {
      const commit = commitOf(cast, model, command)
      return ({ runs }) => runs.commit(commit)
    }
    case "Together":
      return together(scene, command)
    case "TakeOver": {
      const account = ownerOf(command.run, command.as)
      const runner = cast.runners[command.runner]!
      return ({ runs }) => found(runs.takeOver(account, cast.runs[command.run]!, runner))
    }
    case "Suspects":
      return ({ runs }) => Effect.map(runs.suspects(1_000), suspectsOf(scene))
    case "Pardon":
      return ({ runs }) => runs.clearLosses(cast.runs[command.run]!)
    case "FindRun": {
      const account = ownerOf(command.run, command.as)
      return ({ runs }) => found(runs.find(account, cast.runs[command.run]!))
    }
    case "FindRuns": {
      const ids = command.runs.map((slot) => cast.runs[slot]!)
      const account = cast.accounts[command.account]!
      return ({ runs }) => Effect.map(runs.findMany(account, ids), sortedRecords)
    }
    case "LatestOutputs": {
      const account = cast.accounts[command.account]!
      const workflow = cast.workflows[command.workflow]!
      const nodes = [...Cast.nodeIds, "unknown"].slice(0, command.nodes)
      return ({ runs }) =>
        Effect.map(runs.latestOutputs(account, workflow, nodes), (outputs) =>
          Object.fromEntries(outputs),
        )
    }
    case "ListRuns":
    case "WalkRuns": {
      const { source, status, workflow } = command
      const workflowId = workflow === undefined ? undefined : cast.workflows[workflow]
      const page = pageOf(scene, command, cast.runs, model.runs.runs())
      const query = { ...page, workflowId, status, source }
      const list =
        ({ runs }: Stores) =>
        (request: typeof query) =>
          Effect.catchTag(runs.list(request), "SearchTooBroad", Effect.die)
      return command._tag === "ListRuns"
        ? (stores) => list(stores)(query)
        : (stores) => walk(list(stores), query)
    }
    case "Events": {
      const account = ownerOf(command.run, command.as)
      return ({ runs }) => runs.events(account, cast.runs[command.run]!, command.after)
    }
  }
}

/** An entry without what is a store's own: its number and, of what is done by hand, its time. */
const told = ({ at, number: _, ...entry }: NumberedEntry) =>
  entry.runId === null ? entry : { ...entry, at }

/** An account's whole ledger, newest first, in pages of some length. */
export const ledgerOf = Effect.fnUntraced(function* (
  ledger: LedgerStore["Service"],
  account: AccountId,
  limit: number,
) {
  const entries: Array<NumberedEntry> = []
  let before: number | undefined
  do {
    const page: ReadonlyArray<NumberedEntry> = yield* ledger.statement({ account, before, limit })
    entries.push(...page)
    before = page.at(-1)?.number
  } while (before !== undefined)
  // A store may take back what is over whenever it likes, if nothing moves before that.
  const isOver = ({ kind }: NumberedEntry) => kind === "expire"
  return {
    told: entries.filter((entry) => !isOver(entry)).map(told),
    over: entries
      .filter(isOver)
      .map(told)
      .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  }
})

const ledgerAct = ({ cast, now }: Scene, command: LedgerCommand): Act => {
  const accountId = cast.accounts[command.account]!
  if (command._tag === "Statement") {
    return ({ ledger }) => ledgerOf(ledger, accountId, command.limit)
  }
  const operation = {
    id: `operation${command.operation}`,
    accountId,
    actor: "ada",
    reason: `${command.operation}`,
  }
  switch (command._tag) {
    case "Grant": {
      const { amount, expires, priority } = command
      const expiresAt = expiryOf(now, expires)
      const request = { ...operation, amount, priority, expiresAt }
      return ({ ledger }) =>
        Effect.map(ledger.grant(request), ({ at: _, remaining: _left, ...grant }) => grant)
    }
    case "Adjust":
      return ({ ledger }) =>
        Effect.map(ledger.adjust({ ...operation, amount: command.amount }), told)
    case "Meter":
      return ({ ledger }) => Effect.map(ledger.meter(operation, command.isMetered), told)
  }
}

/** What a command asks of stores in this scene. */
export const actOf = (scene: Scene, command: Exclude<Command, { readonly _tag: "Wait" }>): Act => {
  switch (command._tag) {
    case "InsertAccount":
    case "ListAccounts":
    case "InsertKey":
    case "UpdateKey":
    case "RevokeKey":
    case "ListKeys":
    case "Admit":
      return keyAct(scene, command)
    case "InsertWorkflow":
    case "ReplaceWorkflow":
    case "RemoveWorkflow":
    case "PublishWorkflow":
    case "UnpublishWorkflow":
    case "FindWorkflow":
    case "ListWorkflows":
    case "WalkWorkflows":
      return workflowAct(scene, command)
    case "Grant":
    case "Adjust":
    case "Meter":
    case "Statement":
      return ledgerAct(scene, command)
    case "Claim":
    case "Heartbeat":
    case "Requeue":
    case "EndLease":
      return handingAct(scene, command)
    default:
      return runAct(scene, command)
  }
}
