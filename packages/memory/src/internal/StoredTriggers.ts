/**
 * All triggers of the stores in memory, and the ends of runs that wait for them. The trigger store
 * changes them; the run store adds the ends.
 *
 * Guarantees: every method is one synchronous step. Leaves out: an order by due times: a claim
 * looks at every trigger.
 */
import type { AccountId, TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import { keptRequests, triggersPerWorkflow } from "@millrace/core/domain/Limits"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import type { Run } from "@millrace/core/domain/Run"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import { follows, isFollowed } from "@millrace/core/domain/RunEndTrigger"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Schedule, Trigger } from "@millrace/core/domain/Trigger"
import { factsOf } from "@millrace/core/domain/TriggerFacts"
import type { ReceivedRequest, WebhookTest } from "@millrace/core/domain/WebhookTest"
import type {
  ClaimedEnd,
  ClaimedTriggers,
  FinishedEnd,
  TriggerAdvance,
  TriggerClaim,
  TriggerKey,
  TriggerPause,
} from "@millrace/core/ports/TriggerStore"
import { TooManyTriggers } from "@millrace/core/ports/TriggerStore"
import { Context, Effect, Layer } from "effect"
import type { Drawings } from "./StoredWorkflows.ts"
import { StoredWorkflows } from "./StoredWorkflows.ts"
import { compare } from "./Timeline.ts"

/** The test address of a webhook. */
interface Address {
  readonly addressHash: string
  readonly expiresAt: Timestamp
}

/** An end that waits, and when it may be claimed. */
interface WaitingEnd extends Omit<ClaimedEnd, "trigger"> {
  readonly dueAt: Timestamp
}

const keyOfEnd = ({ runId, triggerId }: Pick<ClaimedEnd, "runId" | "triggerId">): string =>
  `${triggerId} ${runId}`

const isRunEnd = (trigger: Trigger): trigger is RunEndTrigger => trigger.type === "run_end"

const byDueTime = (left: Schedule, right: Schedule): number =>
  left.dueAt! - right.dueAt! || (left.id < right.id ? -1 : 1)

export class StoredTriggers extends Context.Service<StoredTriggers, Triggers>()(
  "@millrace/memory/StoredTriggers",
) {
  static readonly layer: Layer.Layer<StoredTriggers, never, StoredWorkflows> = Layer.effect(
    StoredTriggers,
    Effect.map(StoredWorkflows, (workflows) => new Triggers(workflows)),
  )
}

/** The triggers of one store. Mutable. */
export class Triggers {
  readonly #all = new Map<TriggerId, Trigger>()
  readonly #ends = new Map<string, WaitingEnd>()
  readonly #pauses = new Map<AccountId, TriggerPause>()
  readonly #tests = new Map<TriggerId, Address & Pick<WebhookTest, "requests">>()
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
    if (!this.#hasWorkflows(trigger)) return false
    if (this.of(accountId, workflowId).length >= triggersPerWorkflow) {
      return new TooManyTriggers({ limit: triggersPerWorkflow })
    }
    this.#all.set(id, trigger)
    return true
  }

  find({ accountId, id, workflowId }: TriggerKey): Trigger | undefined {
    return this.of(accountId, workflowId).find((each) => each.id === id)
  }

  /** True if what has started a run, an end or else its trigger, has this fence. */
  isClaimed({ after, triggerId }: Run, fence: number): boolean {
    const known = triggerId === null ? undefined : this.#all.get(triggerId)
    if (known === undefined || !this.#hasWorkflows(known)) return false
    const end = after === null ? known : this.#ends.get(keyOfEnd({ ...after, triggerId: known.id }))
    return end?.fence === fence
  }

  replace(trigger: Trigger): boolean {
    const known = this.find(trigger)
    if (known?.fence !== trigger.fence) return false
    const replaced = { ...trigger, fence: trigger.fence + 1 }
    const facts = known.type === "webhook" ? {} : factsOf(known)
    this.#all.set(trigger.id, { ...replaced, ...facts })
    if (!trigger.enabled) this.#forgetEnds(trigger.id)
    return true
  }

  findByAddress(addressHash: string): InboundWebhook | undefined {
    return this.#living().find(
      (each): each is InboundWebhook =>
        each.type === "webhook" &&
        each.addressHash === addressHash &&
        each.enabled &&
        this.pausedAt(each.accountId) === null,
    )
  }

  /** Gives a webhook a test address, or takes it away. False: there is no such webhook. */
  setTest(key: TriggerKey, test: Address | undefined): boolean {
    if (this.find(key)?.type !== "webhook") return false
    if (test === undefined) this.#tests.delete(key.id)
    else this.#tests.set(key.id, { ...test, requests: [] })
    return true
  }

  findTest(key: TriggerKey): WebhookTest | undefined {
    if (this.find(key)?.type !== "webhook") return undefined
    const { expiresAt = null, requests = [] } = this.#tests.get(key.id) ?? {}
    return { expiresAt, requests }
  }

  findByTestAddress(addressHash: string, now: Timestamp): InboundWebhook | undefined {
    return this.#living().find((each): each is InboundWebhook => {
      const test = this.#tests.get(each.id)
      return test?.addressHash === addressHash && test.expiresAt > now
    })
  }

  noteRequest(id: TriggerId, request: ReceivedRequest): void {
    const test = this.#tests.get(id)
    if (test === undefined) return
    this.#tests.set(id, { ...test, requests: [request, ...test.requests].slice(0, keptRequests) })
  }

  remove(key: TriggerKey): boolean {
    if (this.find(key) === undefined) return false
    this.#tests.delete(key.id)
    this.#forgetEnds(key.id)
    return this.#all.delete(key.id)
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
    const ends = this.#claimEnds({ leaseMillis, limit }, now)
    later.push(...[...this.#ends.values()].flatMap(({ dueAt }) => (dueAt > now ? [dueAt] : [])))
    const nextDueAt = later.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY)
    const next = nextDueAt === Number.POSITIVE_INFINITY ? null : nextDueAt
    const accounts = [...triggers, ...ends.map(({ trigger }) => trigger)]
    const ids = new Set(accounts.flatMap((trigger) => trigger?.accountId ?? []))
    const pauses = [...ids].flatMap((accountId) => this.#pauses.get(accountId) ?? [])
    return { now, triggers, ends, pauses, nextDueAt: next }
  }

  pause(accountId: AccountId, at: Timestamp): Timestamp {
    const since = this.pausedAt(accountId) ?? at
    this.#pauses.set(accountId, { accountId, since, until: null })
    return since
  }

  resume(accountId: AccountId, at: Timestamp): void {
    const since = this.pausedAt(accountId)
    if (since !== null) this.#pauses.set(accountId, { accountId, since, until: at })
  }

  pausedAt(accountId: AccountId): Timestamp | null {
    const known = this.#pauses.get(accountId)
    return known?.until === null ? known.since : null
  }

  /** False: the trigger has another fence, or is gone. */
  advance({ delivery: _, missed, ...advance }: TriggerAdvance): boolean {
    const known = this.#all.get(advance.id)
    if (known?.type !== "schedule" || known.fence !== advance.fence) return false
    const sums = { fence: known.fence + 1, missed: known.missed + missed }
    this.#all.set(known.id, { ...known, ...advance, ...sums })
    return true
  }

  /** Adds the end of a run for every trigger that follows it. */
  addEnd(run: Run, now: Timestamp): void {
    if (!isFollowed(run)) return
    for (const trigger of this.#living()) {
      if (!isRunEnd(trigger) || !follows(trigger, run)) continue
      const end = { triggerId: trigger.id, runId: run.id, fence: 0, dueAt: now }
      this.#ends.set(keyOfEnd(end), end)
    }
  }

  #claimEnds({ leaseMillis, limit }: TriggerClaim, now: Timestamp): ReadonlyArray<ClaimedEnd> {
    const due = [...this.#ends.values()].filter(({ dueAt }) => dueAt <= now)
    const first = due.toSorted((left, right) => left.dueAt - right.dueAt).slice(0, limit)
    return first.map(({ dueAt: _, fence, ...end }) => {
      const claimed = { ...end, fence: fence + 1 }
      this.#ends.set(keyOfEnd(end), { ...claimed, dueAt: now + leaseMillis })
      const trigger = this.#all.get(end.triggerId)
      return { ...claimed, trigger: trigger?.type === "run_end" ? trigger : null }
    })
  }

  finish({ fence, missed, runId, triggerId, ...facts }: FinishedEnd): void {
    const key = keyOfEnd({ runId, triggerId })
    if (this.#ends.get(key)?.fence !== fence) return
    this.#ends.delete(key)
    const known = this.#all.get(triggerId)
    if (known?.type !== "run_end") return
    this.#all.set(triggerId, { ...known, ...facts, missed: known.missed + missed })
  }

  #forgetEnds(id: TriggerId): void {
    for (const [key, end] of this.#ends) if (end.triggerId === id) this.#ends.delete(key)
  }

  #hasWorkflows(trigger: Trigger): boolean {
    const { accountId, workflowId } = trigger
    const needed = trigger.type === "run_end" ? [workflowId, trigger.watch] : [workflowId]
    return needed.every((id) => this.#workflows.find(accountId, id) !== undefined)
  }

  /** The triggers whose workflows are there. The others are forgotten. */
  #living(): ReadonlyArray<Trigger> {
    for (const trigger of this.#all.values()) {
      if (this.#hasWorkflows(trigger)) continue
      this.#all.delete(trigger.id)
      this.#tests.delete(trigger.id)
    }
    return [...this.#all.values()]
  }
}
