/**
 * Looks at the store before and after every operation that arrives there, and says what should not
 * have happened. It reads through the same port as everybody else.
 */
import type { NewWorkflowSignal } from "@millrace/core/domain/WorkflowSignal"
import type { RunId, RunnerId } from "@millrace/core/domain/Id"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { isTerminal, notStarted } from "@millrace/core/domain/Run"
import type { NewMessage } from "@millrace/core/domain/Message"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { ClaimRequest, Expected, InboxRequest, RunCommit } from "@millrace/core/ports/RunStore"
import { namedBy } from "@millrace/core/domain/LargeValue"
import { Ids } from "@millrace/core/engine/Ids"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import type { TriggerAdvance } from "@millrace/core/ports/TriggerStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Cause, Clock, Effect, Exit, Option } from "effect"
import { hydrated, secretValue } from "./SimFlow.ts"
import { checkComputed, computedOf } from "./SimComputedRules.ts"
import { checkReruns, givenOf } from "./SimRerunRules.ts"
import { checkStart } from "./SimStartRules.ts"
import { checkEnd, checkEvents } from "./SimEndRules.ts"
import { answerOf, checkInbox, checkMessages } from "./SimMessageRules.ts"
import { checkNodes } from "./SimNodeRules.ts"
import { checkPaid, checkTaken, lossesWith } from "./SimQuarantineRules.ts"
import { type Machine, wallClock } from "./SimTime.ts"
import {
  checkCounts,
  checkIdentity,
  checkInputs,
  checkOwner,
  checkRows,
  checkWork,
} from "./SimStepRules.ts"
import type { Bench, Turned } from "./SimWatched.ts"
import { isSaid, isSame, shown, Watched } from "./SimWatched.ts"

/** What arrives at the store. */
export type Operation =
  | { readonly _tag: "Commit"; readonly commit: RunCommit }
  | { readonly _tag: "Claim"; readonly request: ClaimRequest }
  | { readonly _tag: "TakeOver"; readonly id: RunId; readonly runner: RunnerId }
  | { readonly _tag: "Heartbeat"; readonly runner: RunnerId; readonly leaseMillis: number }
  | { readonly _tag: "Requeue"; readonly runner: RunnerId; readonly ids: ReadonlyArray<RunId> }
  | { readonly _tag: "EndLease"; readonly runner: RunnerId }
  | { readonly _tag: "Pardon"; readonly id: RunId }
  | { readonly _tag: "Send"; readonly id: RunId; readonly message: NewMessage }
  | { readonly _tag: "Signal"; readonly signal: NewWorkflowSignal }
  | { readonly _tag: "Inboxes" }
  | { readonly _tag: "Read" }
  | { readonly _tag: "ChangeTrigger" }
  | { readonly _tag: "ClaimDue" }
  | { readonly _tag: "Advance"; readonly all: ReadonlyArray<TriggerAdvance> }

/** The run as it would have been just before its first commit. */
const beforeFirstCommit = ({ definition, run }: RunRecord): RunRecord => ({
  definition,
  nodeRuns: [],
  run: {
    ...run,
    ...notStarted,
    // What it was estimated to cost is set aside in any case.
    heldCredits: isTerminal(run.status) ? run.estimatedCredits : run.heldCredits,
    fence: run.fence,
    owner: run.owner,
    messages: run.messages,
  },
})

/** The step of a process that a commit stores. */
const stepKey = ({ name }: Machine, { run }: RunCommit): string =>
  `${name} ${run.id} ${run.revision}`

/** So late, no value is too young to be swept. */
const centuryMillis = 3_155_760_000_000

/** What changes when a run changes hands. */
type Hands = Pick<Run, "owner" | "fence" | "losses" | "dueAt" | "messages">

/** Watches every run of one store. */
export class Witness {
  readonly runs = new Map<RunId, Watched>()
  readonly #bench: Bench
  readonly #store: RunStore["Service"]
  readonly #storeClock: Clock.Clock
  /** Until when runners own what they own, by the store's clock. */
  readonly #leases = new Map<RunnerId, number>()
  /** The names under which runs were started. */
  readonly #names = new Set<string>()
  readonly #decided = new WeakMap<RunCommit, number>()
  readonly #firstDecided = new Map<string, number>()

  readonly #values: ValueStore["Service"]

  constructor(
    bench: Bench,
    stores: { readonly runs: RunStore["Service"]; readonly values: ValueStore["Service"] },
    storeClock: Clock.Clock,
  ) {
    this.#bench = bench
    this.#store = stores.runs
    this.#values = stores.values
    this.#storeClock = storeClock
  }

  /** Has an operation done, and judges what it did. */
  observe<A, E>(
    machine: Machine,
    operation: Operation,
    act: () => Exit.Exit<A, E>,
  ): Exit.Exit<A, E> {
    if (operation._tag === "Commit") return this.#observeCommit(machine, operation.commit, act)
    const now = this.#storeClock.currentTimeMillisUnsafe()
    const exit = act()
    switch (operation._tag) {
      case "Read":
      case "Inboxes":
      case "Signal":
      case "ChangeTrigger":
      case "ClaimDue":
      case "Advance":
        break
      case "Send":
        this.#observeSend(operation, exit, now)
        break
      case "EndLease":
        this.#takeBack(operation.runner)
        this.#leases.delete(operation.runner)
        break
      case "Pardon":
        this.#handOver((run) => (run.id === operation.id ? { ...run, losses: [] } : run))
        break
      case "Heartbeat":
        this.#takeBack(operation.runner)
        this.#leases.set(operation.runner, now + operation.leaseMillis)
        this.#checkOwned(operation.runner, exit)
        break
      case "Claim":
        this.#checkClaim(operation.request, now)
        this.#leases.set(operation.request.runner, now + operation.request.leaseMillis)
        break
      case "TakeOver":
        this.#handOver((run) =>
          run.id === operation.id
            ? { ...run, owner: operation.runner, fence: run.fence + 1, dueAt: null }
            : run,
        )
        break
      case "Requeue": {
        const { ids, runner } = operation
        this.#handOver((run) =>
          run.owner === runner && ids.includes(run.id)
            ? { ...run, owner: null, fence: run.fence + 1 }
            : run,
        )
      }
    }
    return exit
  }

  /** Something is sent, perhaps not for the first time. */
  note(machine: Machine, operation: Operation): void {
    if (operation._tag !== "Commit" || this.#decided.has(operation.commit)) return
    this.#decided.set(operation.commit, machine.now)
    const step = stepKey(machine, operation.commit)
    if (!this.#firstDecided.has(step)) this.#firstDecided.set(step, machine.now)
  }

  /** Reads a run anew. */
  recordOf({ accountId, id }: Pick<Run, "accountId" | "id">): RunRecord | undefined {
    const found = Option.getOrUndefined(Effect.runSync(this.#store.find(accountId, id)))
    return found === undefined ? undefined : this.whole(found)
  }

  /** A record with its large values, which must be there. */
  whole(stored: RunRecord): RunRecord {
    const { gone, record } = hydrated(stored, this.#values)
    if (gone.length > 0) {
      const what = `${stored.run.id}: ${gone.join(", ")}`
      this.#bench.report("a value that a run names is there", what)
    }
    return record
  }

  /** No record has a secret. */
  checkSecrets(text: string, where: string): void {
    if (text.includes(secretValue)) this.#bench.report("no record has a secret", where)
  }

  /** Once everything has ended and was swept, there are only values that runs name. */
  #checkValues(): void {
    const values = this.#values
    const late = wallClock(this.#bench.time, () => centuryMillis)
    const swept = LargeValues.use(({ sweep }) => sweep).pipe(
      Effect.provide(LargeValues.layer),
      Effect.provideService(RunStore, this.#store),
      Effect.provideService(ValueStore, values),
      Effect.provideService(StoreManifest, { name: "simulation", ports: ["values"] }),
      Effect.provide(Ids.layerSequential),
      Effect.provideService(Clock.Clock, late),
    )
    Effect.runSync(swept)
    const named = new Set<string>()
    for (const { record } of this.runs.values()) {
      for (const { id } of namedBy(record)) named.add(id)
    }
    for (const { id } of Effect.runSync(values.list(undefined, 10_000))) {
      if (!named.delete(id)) this.#bench.report("what nothing names is swept", id)
    }
    for (const id of named) this.#bench.report("a value that a run names is there", id)
  }

  /** How many runs are before a run, of which it is the rerun of a rerun. */
  generationOf(id: RunId): number {
    const earlier = this.runs.get(id)?.record.run.rerunOf ?? null
    return earlier === null ? 0 : 1 + this.generationOf(earlier)
  }

  /** True when no run is left open. */
  get isQuiet(): boolean {
    return [...this.runs.values()].every(({ record }) => isTerminal(record.run.status))
  }

  /** What nobody wrote has not changed. */
  checkAll(): void {
    this.#checkValues()
    checkReruns(this.#bench, this.runs)
    this.#handOver((run) => run)
  }

  #observeCommit<A, E>(
    machine: Machine,
    commit: RunCommit,
    act: () => Exit.Exit<A, E>,
  ): Exit.Exit<A, E> {
    const { id } = commit.run
    this.checkSecrets(JSON.stringify(commit), id)
    const before = this.recordOf(commit.run)
    const exit = act()
    const after = this.recordOf(commit.run)
    const isDue = this.#mayWrite(machine, commit, before?.run)
    const hasWritten = after !== undefined && !isSame(before?.run, after.run)
    if (Exit.isSuccess(exit) !== isDue || hasWritten !== isDue) {
      const what = `${machine.name} at ${shown(commit.expected)} of ${shown(before?.run)}`
      this.#bench.report("only the owner writes, on what it knows", `${id}: ${what}`)
    }
    if (after === undefined || !hasWritten) return exit
    const name = nameOf(commit.run, commit.expected)
    if (name !== undefined) this.#names.add(name)
    const watched =
      this.runs.get(id) ??
      new Watched(beforeFirstCommit(after), givenOf(this.#bench, after, this.runs))
    this.runs.set(id, watched)
    watched.record = after
    const isCancel = watched.cancelers.has(machine) && commit.run.status === "CANCELED"
    const computed = isCancel
      ? new Map()
      : computedOf(this.#bench, watched, machine, before === undefined)
    this.#check({
      watched,
      before: before ?? beforeFirstCommit(after),
      after,
      computed,
      events: Effect.runSync(this.#store.events(after.run.accountId, id, 0)),
      machine,
      implied: commit.implied,
      decidedAt: this.#decided.get(commit)!,
      firstDecidedAt: this.#firstDecided.get(stepKey(machine, commit))!,
      isCancel,
    })
    watched.tenures.set(machine, after.run.fence)
    return exit
  }

  #observeSend(
    { id, message }: Extract<Operation, { readonly _tag: "Send" }>,
    exit: Exit.Exit<unknown, unknown>,
    now: number,
  ): void {
    const watched = this.runs.get(id)
    const expected = answerOf(watched, message, now)
    const answer = Exit.isSuccess(exit) ? exit.value : reasonOf(exit)
    if (!isSaid(answer, expected)) {
      const what = `${id} ${shown(message)}: ${shown(answer)}, not ${shown(expected)}`
      this.#bench.report("an id makes one message, in a run that has room for it", what)
    }
    const isNew = expected._tag === "Sent" && !expected.isReplay
    this.#handOver((run) => (isNew && run.id === id ? wokenBy(run, now) : run))
    if (watched !== undefined) this.#checkInbox(watched)
  }

  #checkInbox(watched: Watched): void {
    const read = (request: InboxRequest) =>
      Effect.provideService(this.#store.inboxes([request]), Clock.Clock, this.#storeClock)
    checkInbox(this.#bench, watched, (request) => Effect.runSync(read(request)))
  }

  /** Whether a commit must be accepted. */
  #mayWrite(
    machine: Machine,
    { expected, run, seen }: RunCommit,
    stored: Run | undefined,
  ): boolean {
    if (expected._tag === "New") {
      const name = nameOf(run, expected)
      const isFree = name === undefined || !this.#names.has(name)
      const isCurrent = expected.isCurrent !== true || this.#bench.editions.isCurrent(run)
      return stored === undefined && isFree && isCurrent
    }
    if (stored === undefined || isTerminal(stored.status)) return false
    if (stored.fence !== expected.fence || stored.revision !== expected.revision) return false
    if (seen !== undefined && stored.messages > seen) return false
    if (stored.owner === machine.runner) return true
    this.#bench.report("nobody writes but the owner", `${machine.name} writes ${run.id}`)
    return true
  }

  #check(turned: Turned): void {
    const bench = this.#bench
    checkStart(bench, turned, this.runs)
    checkIdentity(bench, turned)
    checkRows(bench, turned)
    checkInputs(bench, turned)
    checkComputed(bench, turned)
    checkNodes(bench, turned)
    checkMessages(bench, turned)
    this.#checkInbox(turned.watched)
    checkWork(bench, turned)
    checkOwner(bench, turned)
    checkCounts(bench, turned)
    checkEnd(bench, turned)
    checkEvents(bench, turned)
    checkPaid(bench, turned)
  }

  #checkOwned(runner: RunnerId, exit: Exit.Exit<unknown, unknown>): void {
    if (!Exit.isSuccess(exit) || !(exit.value instanceof Map)) return
    const owned = [...this.runs.values()].filter(
      ({ record: { run } }) => run.owner === runner && !isTerminal(run.status),
    )
    const right = owned.every(
      ({ record: { run } }) => (exit.value as Map<unknown, unknown>).get(run.id) === run.fence,
    )
    if (right && owned.length === exit.value.size) return
    this.#bench.report("a heartbeat tells what is owned", runner)
  }

  #checkClaim({ runner }: ClaimRequest, now: number): void {
    const taken: Array<Run> = []
    this.#handOver((run) => {
      const stored = this.recordOf(run)?.run
      if (stored?.fence === run.fence) return run
      const isFree = run.owner === null && (run.dueAt === null || run.dueAt <= now)
      const isOrphan = run.owner !== null && (this.#leases.get(run.owner) ?? 0) <= now
      if (isTerminal(run.status) || (!isFree && !isOrphan)) {
        this.#bench.report("nobody claims what has a living owner", `${runner}: ${shown(run)}`)
      }
      if (run.owner !== runner) taken.push(stored ?? run)
      const lostAt = run.owner === null ? undefined : this.#leases.get(run.owner)
      const losses = lossesWith(run, runner, lostAt)
      return { ...run, owner: runner, fence: run.fence + 1, losses }
    })
    checkTaken(this.#bench, runner, taken, this.runs.values())
  }

  /** A runner that is heard of has not died. */
  #takeBack(runner: RunnerId): void {
    this.#handOver((run) => {
      const losses = run.losses.filter((loss) => loss.runner !== runner)
      return { ...run, losses }
    })
  }

  /** Judges every run that is not as it was: only whose it is may have changed. */
  #handOver(expected: (run: Run) => Hands): void {
    for (const watched of this.runs.values()) {
      const { record } = watched
      const after = this.recordOf(record.run)
      const hands = isTerminal(record.run.status) ? record.run : expected(record.run)
      if (after === undefined || !isHandedOver(record.run, after.run, hands)) {
        const what = `${shown(after?.run)}, not ${shown(hands)}`
        this.#bench.report("runs change hands as they are asked to", what)
      }
      if (after !== undefined && !isSame(after.nodeRuns, record.nodeRuns)) {
        this.#bench.report("nodes change by commits only", record.run.id)
      }
      if (after === undefined) continue
      if (after.run.fence !== record.run.fence) watched.takenOverAt = this.#bench.time.now
      watched.record = after
    }
  }
}

const nameOf = ({ accountId }: Run, expected: Expected): string | undefined =>
  expected._tag === "New" && expected.idempotencyKey !== undefined
    ? `${accountId} ${expected.idempotencyKey.key}`
    : undefined

/** A run after a message to it: it is woken, if it is parked and not due. */
const wokenBy = (run: Run, now: number): Hands => {
  const isParked = run.owner === null && run.dueAt !== null && run.dueAt > now
  return { ...run, messages: run.messages + 1, dueAt: isParked ? null : run.dueAt }
}

const isHandedOver = (before: Run, after: Run, hands: Hands): boolean => {
  if (after === before && hands === before) return true
  const { dueAt, fence, losses, messages, owner } = hands
  // Compared in the order of the keys of one of them: what counts is what it says.
  return isSame({ ...after, ...before, dueAt, fence, losses, owner, messages }, after)
}

/** Why an operation failed, as a word. */
export const reasonOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "done"
  const error = Cause.squash(exit.cause)
  return typeof error === "object" && error !== null && "_tag" in error
    ? String(error._tag)
    : String(error)
}
