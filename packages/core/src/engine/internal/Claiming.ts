/**
 * Claims runs that nobody executes: runs whose owner's lease has run out, parked runs that are due,
 * and queued runs.
 *
 * Guarantees: claims no more runs than there is room for, and none while the process is overloaded.
 * Leaves runs with unknown node types to other runners. Leaves out: safety; the store's conditions
 * give that.
 */
import type { Clock } from "effect"
import { Effect, Queue } from "effect"
import type { AccountId, RunId, RunnerId } from "../../domain/Id.ts"
import { type NodeTypesByKey, typeOfNode } from "../../domain/NodeType.ts"
import { refusedRunsKnown } from "../../domain/Limits.ts"
import type { RunRecord } from "../../domain/Run.ts"
import { settingsOf } from "../../domain/Workflow.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import { BoundedMap } from "../BoundedMap.ts"
import type { Caps } from "./Caps.ts"
import type { ClaimBounds } from "./Slots.ts"
import type { RunScheduler } from "./RunScheduler.ts"
import type { NodeTypes } from "../NodeTypes.ts"
import type { RunnerOptions } from "../RunnerOptions.ts"
import { monotonicMillis } from "../StoreClock.ts"

/** How long a runner does not claim a run again that it cannot execute. */
const refusalMillis = 30_000

/** Runs with a node type that this process does not know. */
class Refusals {
  readonly #until = new BoundedMap<RunId, number>(refusedRunsKnown)

  add(id: RunId, now: number): void {
    this.#until.set(id, now + refusalMillis)
  }

  at(now: number): ReadonlyArray<RunId> {
    const refused = this.#until.entries()
    for (const [id, until] of refused) if (until <= now) this.#until.delete(id)
    return refused.flatMap(([id, until]) => (until > now ? id : []))
  }
}

/** The first type of a run that this process does not know, in the version that was drawn. */
const unknownType = ({ definition }: RunRecord, types: NodeTypesByKey) =>
  definition.nodes.find((node) => {
    const type = typeOfNode(types, node)
    const { version } = settingsOf(node)
    return type === undefined || (version !== undefined && version !== type.version)
  })?.type

/** What looking for runs needs. */
export interface Claiming {
  readonly id: RunnerId
  readonly store: RunStore["Service"]
  readonly types: NodeTypes["Service"]
  readonly scheduler: RunScheduler
  readonly clock: Clock.Clock
  readonly options: RunnerOptions
  readonly caps: Caps
  readonly room: () => number
  /** True while other processes' announcements are heard. */
  readonly isHeard: () => boolean
  /** Has the process look for runs again in a moment. */
  readonly lookSoon: () => void
  /** To be called when a claim has renewed the lease, with the monotonic time of its call. */
  readonly renewed: (at: number) => void
  /** To be called at every look, with how many milliseconds later it is than planned. */
  readonly late: (millis: number) => void
}

/** A runner that executes nothing and hears of new runs polls so many times less often. */
const idlePolls = 2

/** True if there may be more runs than a claim with this room has taken. */
const leavesMore = (claimed: ReadonlyArray<RunRecord>, bounds: ClaimBounds): boolean => {
  if (claimed.length === bounds.limit) return true
  const left = new Map(bounds.rooms)
  for (const { run } of claimed) {
    const room = left.get(run.accountId) ?? bounds.roomPerAccount
    if (room !== undefined) left.set(run.accountId, room - 1)
  }
  return [...left.values()].some((room) => room <= 0)
}

/** Claims runs as long as there is room. */
const claims = (needs: Claiming) => {
  const { caps, clock, scheduler, id, options, room, store, types } = needs
  const refusals = new Refusals()
  let after: AccountId | undefined
  const take = Effect.fnUntraced(function* (record: RunRecord) {
    const { run } = record
    after = run.accountId
    const unknown = unknownType(record, types.all())
    if (unknown === undefined) return scheduler.takeOver(record)
    refusals.add(run.id, monotonicMillis(clock))
    yield* Effect.logWarning(`run ${run.id} needs node type ${unknown}, which is not known here`)
    yield* store.requeue(id, [run.id])
  })
  /** One claim of a part of the slots. True if it has filled it, so that there may be more. */
  const claimPart = Effect.fnUntraced(
    function* (part: number) {
      const { given } = scheduler.slots
      const bounds = scheduler.slots.boundsFor(options.claimLimit, part)
      scheduler.slots.claiming(bounds.limit)
      const at = monotonicMillis(clock)
      const claimed = yield* store.claim({
        runner: id,
        leaseMillis: options.leaseMillis,
        except: refusals.at(at),
        after,
        ...bounds,
        ...caps.asked,
      })
      needs.renewed(at)
      for (const record of claimed) yield* take(record)
      const isMore = leavesMore(claimed, bounds)
      scheduler.slots.want(isMore)
      if (isMore && scheduler.slots.given > given) needs.lookSoon()
      return claimed.length === bounds.limit
    },
    Effect.ensuring(Effect.sync(() => scheduler.slots.claiming(0))),
  )
  return Effect.gen(function* () {
    const now = clock.currentTimeMillisUnsafe()
    if (scheduler.nextDue <= now) scheduler.nextDue = Number.POSITIVE_INFINITY
    // Starts must not take what a claim may need, so the first one, which mostly finds nothing,
    // leaves them half. If it is filled, runs wait, and new ones may wait behind them.
    for (let part = 0.5; room() > 0; part = 1) if (!(yield* claimPart(part))) return
    scheduler.slots.want(true)
  })
}

/** Reads new messages for runs that wait for messages in this process. */
const reading = ({ store, scheduler }: Claiming) =>
  Effect.suspend(() => {
    const requests = scheduler.listening()
    if (requests.length === 0) return Effect.void
    return Effect.map(store.inboxes(requests), (inboxes) => scheduler.receive(inboxes))
  })

/**
 * Claims runs and reads messages at every poll, after every wakeup, and when a parked run is due;
 * also when slots were given back that runs may wait for.
 */
export const claiming = (
  needs: Claiming,
  notifications: Queue.Dequeue<void>,
): Effect.Effect<never> => {
  const { clock, scheduler, options } = needs
  const { lagMillis, pollMillis } = options
  const claim = claims(needs)
  const read = reading(needs)
  let expectedAt = monotonicMillis(clock)

  const look = Effect.suspend(() => {
    const lag = monotonicMillis(clock) - expectedAt
    needs.late(lag)
    return lag > lagMillis ? read : Effect.andThen(read, claim)
  }).pipe(
    Effect.catchTag("StorageError", (error) => Effect.logWarning("could not look for runs", error)),
  )
  const pause = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    const isIdle = scheduler.runs.size === 0 && needs.isHeard()
    const poll = isIdle ? idlePolls * pollMillis : pollMillis
    const millis = Math.max(0, Math.min(poll, scheduler.nextDue - now))
    expectedAt = monotonicMillis(clock) + millis
    return Effect.timeoutOrElse(Queue.take(notifications), {
      duration: millis,
      orElse: () => Effect.void,
    })
  })
  return Effect.forever(Effect.andThen(look, pause))
}
