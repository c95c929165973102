/**
 * The store of triggers in memory.
 *
 * Guarantees: every method is one synchronous step; leases follow Effect's clock. Leaves out:
 * durability, and an order by due times: a claim looks at every trigger.
 */
import type { TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import { triggersPerWorkflow } from "@millrace/core/domain/Limits"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import type { Schedule, Trigger } from "@millrace/core/domain/Trigger"
import type {
  ClaimedTriggers,
  TriggerAdvance,
  TriggerClaim,
  TriggerKey,
} from "@millrace/core/ports/TriggerStore"
import { TooManyTriggers, TriggerStore } from "@millrace/core/ports/TriggerStore"
import { Clock, Effect, Layer, Option } from "effect"
import type { Drawings } from "./StoredWorkflows.ts"
import { StoredWorkflows } from "./StoredWorkflows.ts"
import { compare } from "./Timeline.ts"

const byDueTime = (left: Schedule, right: Schedule): number =>
  left.dueAt! - right.dueAt! || (left.id < right.id ? -1 : 1)

/** The triggers of one store. Mutable. */
class Triggers {
  readonly #all = new Map<TriggerId, Trigger>()
  readonly #workflows: Drawings

  constructor(workflows: Drawings) {
    this.#workflows = workflows
  }

  of(account: Trigger["accountId"], workflowId: WorkflowId): ReadonlyArray<Trigger> {
    const own = this.#living().filter(
      (each) => each.accountId === account && each.workflowId === workflowId,
    )
    return own.toSorted(compare)
  }

  insert(trigger: Trigger): boolean | TooManyTriggers {
    const { accountId, id, workflowId } = trigger
    if (this.#workflows.find(accountId, workflowId) === undefined) return false
    if (this.of(accountId, workflowId).length >= triggersPerWorkflow) {
      return new TooManyTriggers({ limit: triggersPerWorkflow })
    }
    this.#all.set(id, trigger)
    return true
  }

  find({ accountId, id, workflowId }: TriggerKey): Trigger | undefined {
    return this.of(accountId, workflowId).find((each) => each.id === id)
  }

  replace(trigger: Trigger): boolean {
    const known = this.find(trigger)
    if (known?.fence !== trigger.fence) return false
    const replaced = { ...trigger, fence: trigger.fence + 1 }
    if (known.type === "webhook") {
      this.#all.set(trigger.id, replaced)
      return true
    }
    const { lastAt, lastError, lastMissedAt, lastRunId, missed } = known
    const facts = { lastAt, lastError, lastMissedAt, lastRunId, missed }
    this.#all.set(trigger.id, { ...replaced, ...facts })
    return true
  }

  findByAddress(addressHash: string): InboundWebhook | undefined {
    return this.#living().find(
      (each): each is InboundWebhook =>
        each.type === "webhook" && each.addressHash === addressHash && each.enabled,
    )
  }

  remove(key: TriggerKey): boolean {
    return this.find(key) !== undefined && this.#all.delete(key.id)
  }

  claim({ leaseMillis, limit }: TriggerClaim, now: Timestamp): ClaimedTriggers {
    const waiting = this.#living().filter(
      (each): each is Schedule => each.type === "schedule" && each.dueAt !== null,
    )
    const due = waiting.filter(({ dueAt }) => dueAt! <= now).toSorted(byDueTime)
    const later = waiting.flatMap(({ dueAt }) => (dueAt! > now ? [dueAt!] : []))
    const triggers = due.slice(0, limit).map((trigger) => {
      const claimed = { ...trigger, dueAt: now + leaseMillis, fence: trigger.fence + 1 }
      this.#all.set(trigger.id, claimed)
      return claimed
    })
    const nextDueAt = later.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY)
    return { now, triggers, nextDueAt: nextDueAt === Number.POSITIVE_INFINITY ? null : nextDueAt }
  }

  advance({ missed, ...advance }: TriggerAdvance): void {
    const known = this.#all.get(advance.id)
    if (known?.type !== "schedule" || known.fence !== advance.fence) return
    const sums = { fence: known.fence + 1, missed: known.missed + missed }
    this.#all.set(known.id, { ...known, ...advance, ...sums })
  }

  /** The triggers whose workflows are there. The others are forgotten. */
  #living(): ReadonlyArray<Trigger> {
    for (const { accountId, id, workflowId } of this.#all.values()) {
      if (this.#workflows.find(accountId, workflowId) === undefined) this.#all.delete(id)
    }
    return [...this.#all.values()]
  }
}

const make = Effect.map(StoredWorkflows, (workflows) => {
  const triggers = new Triggers(workflows)
  return TriggerStore.of({
    insert: (trigger) =>
      Effect.suspend(() => {
        const stored = triggers.insert(trigger)
        return typeof stored === "boolean" ? Effect.succeed(stored) : stored
      }),
    replace: (trigger) => Effect.sync(() => triggers.replace(trigger)),
    remove: (key) => Effect.sync(() => triggers.remove(key)),
    find: (key) => Effect.sync(() => Option.fromUndefinedOr(triggers.find(key))),
    findByAddress: (addressHash) =>
      Effect.sync(() => Option.fromUndefinedOr(triggers.findByAddress(addressHash))),
    list: (account, workflowId) => Effect.sync(() => triggers.of(account, workflowId)),
    claimDue: (claim) => Effect.map(Clock.currentTimeMillis, (now) => triggers.claim(claim, now)),
    advance: (advances) =>
      Effect.sync(() => advances.forEach((advance) => triggers.advance(advance))),
  })
})

/** A store of triggers. It reads the workflows of the workflow store. */
export const layer: Layer.Layer<TriggerStore, never, StoredWorkflows> = Layer.effect(
  TriggerStore,
  make,
)
