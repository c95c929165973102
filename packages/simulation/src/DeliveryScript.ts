/**
 * Random scripts about deliveries, and what each of their commands does to the model and to a
 * store.
 *
 * Guarantees: the same seed draws the same script. Leaves out: choosing seeds, and shortening what
 * has failed.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { DeliveryOutcome } from "@millrace/core/domain/DeliveryStep"
import { AccountId, type DeliveryId, RunId } from "@millrace/core/domain/Id"
import type { AttemptRecord, Claim, DueRequest } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import * as Samples from "@millrace/conformance/Samples"
import { Clock, Effect, Option } from "effect"
import { DeliveryModel } from "./DeliveryModel.ts"
import * as Difference from "./ModelDifference.ts"
import * as Dice from "./ModelDice.ts"
import type { StoreClock } from "./ModelPlay.ts"

const hour = 3_600_000
const slots = 8

type Account = "own" | "other" | "operator"
type Ending = keyof typeof outcomes

/** One step of a script. Deliveries are named by their slot, claims by how long ago they were. */
export type DeliveryCommand =
  | { readonly _tag: "Insert"; readonly slot: number }
  | {
      readonly _tag: "Look"
      readonly limit: number
      readonly perOrigin: number
      readonly perAccount: number
      readonly busy: number
      readonly visibilityMillis: number
    }
  | {
      readonly _tag: "Claim"
      readonly slots: ReadonlyArray<number>
      readonly visibilityMillis: number
    }
  | {
      readonly _tag: "Record"
      readonly slot: number
      readonly back: number
      readonly ending: Ending
    }
  | { readonly _tag: "Redeliver"; readonly slot: number; readonly as: Account }
  | { readonly _tag: "RedeliverFailed"; readonly account: number; readonly since: number }
  | { readonly _tag: "Forget" }
  | { readonly _tag: "Wait"; readonly millis: number }

const { attempted } = Samples
const retry = (delayMillis: number) => ({ _tag: "Retry", delayMillis }) as const
const failed = { _tag: "Failed", isGone: false } as const
const unknown = { ...attempted, durationMillis: null, status: null, error: "unknown" } as const

/** How a claim may end. */
const outcomes = {
  delivered: { attempt: { ...attempted, status: 204, error: null }, next: { _tag: "Delivered" } },
  refused: { attempt: attempted, next: retry(hour) },
  again: { attempt: attempted, next: retry(0) },
  failed: { attempt: attempted, next: failed },
  gone: { attempt: attempted, next: { _tag: "Failed", isGone: true } },
  lost: { attempt: { ...unknown, answer: null }, next: retry(0) },
  lostForGood: { attempt: { ...unknown, answer: null }, next: failed },
  givenBack: { attempt: null, next: retry(0) },
  postponed: { attempt: null, next: retry(hour) },
  withheld: { attempt: null, next: failed },
} satisfies Record<string, DeliveryOutcome>

const endings = Object.keys(outcomes) as ReadonlyArray<Ending>

const draw = (dice: Dice.Dice, taste: ReadonlyArray<Ending>): DeliveryCommand => {
  const slot = dice.below(slots)
  const visibilityMillis = dice.of([0, 0, hour])
  switch (dice.below(13)) {
    case 0:
    case 1:
      return { _tag: "Insert", slot }
    case 2:
    case 3: {
      const bound = () => dice.of([1, 2, 3, 100])
      const bounds = { limit: bound(), perOrigin: bound(), perAccount: bound() }
      return { _tag: "Look", ...bounds, busy: dice.below(3), visibilityMillis }
    }
    case 4:
    case 5:
      return { _tag: "Claim", slots: dice.some([0, 1, 2, 3, 4, 5, 6, 7], 3), visibilityMillis }
    case 6:
      return { _tag: "Redeliver", slot, as: dice.of(["own", "other", "operator"]) }
    case 7:
      return { _tag: "RedeliverFailed", account: dice.below(2), since: dice.below(slots) }
    case 8:
      return dice.chance(20) ? { _tag: "Forget" } : { _tag: "Wait", millis: dice.of([1, hour]) }
    default:
      return { _tag: "Record", slot, back: dice.of([0, 0, 0, 1, 2]), ending: dice.of(taste) }
  }
}

/** The script of a seed: it begins with all deliveries, and prefers some endings. */
export const scriptOf = (seed: number, length: number): ReadonlyArray<DeliveryCommand> => {
  const dice = Dice.make(seed)
  const taste = dice.chance(30) ? endings : dice.some(endings, 4)
  const first = Array.from({ length: slots }, (_, slot) => ({ _tag: "Insert", slot }) as const)
  return [...first, ...Array.from({ length }, () => draw(dice, taste))]
}

/** Two accounts, two origins, and runs of several deliveries; two deliveries are of no run. */
const castOf = (samples: Samples.Samples) => {
  const accounts = [AccountId.make(`${samples.account}-a`), AccountId.make(`${samples.account}-B`)]
  const deliveries = Array.from({ length: slots }, (_, slot): Delivery => {
    const accountId = accounts[slot % 2]!
    const origin = `https://${slot & 2 ? "x" : "y"}-of-${samples.account}.example`
    const runId = slot < 6 ? RunId.make(`run-of-${accountId}`) : null
    const sequence = runId === null ? null : slot
    return samples.delivery({ accountId, origin, runId, sequence })
  })
  return { accounts, deliveries }
}

/** What a play has gone through. */
interface Scene extends ReturnType<typeof castOf> {
  readonly model: DeliveryModel
  readonly store: WebhookStore["Service"]
  readonly slackMillis: number
  /** All claims of a delivery, latest first. */
  readonly claims: Map<DeliveryId, ReadonlyArray<Claim>>
  readonly stored: Set<DeliveryId>
}

/** The same without what is signed with, in one order. */
const shownClaims = (claims: ReadonlyArray<Claim>) =>
  claims
    .map(({ attempt, earlier, fence, id, isGone, lostAt }) => ({
      id,
      fence,
      attempt,
      earlier,
      isGone,
      lostAt,
    }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))

const note = ({ claims }: Scene, taken: ReadonlyArray<Claim>): void => {
  for (const each of taken) claims.set(each.id, [each, ...(claims.get(each.id) ?? [])])
}

const requestOf = (
  { accounts, deliveries }: Scene,
  command: Extract<DeliveryCommand, { readonly _tag: "Look" }>,
): DueRequest => {
  const { _tag, busy, ...bounds } = command
  const count = busy
  const { origin } = deliveries[0]!
  return { ...bounds, busy: busy === 0 ? [] : [{ accountId: accounts[0]!, origin, count }] }
}

/** What the model and the store answer to a look; the model takes what the store took. */
const look = Effect.fnUntraced(function* (
  scene: Scene,
  command: Extract<DeliveryCommand, { readonly _tag: "Look" }>,
  now: number,
) {
  const request = requestOf(scene, command)
  const all = yield* scene.store.claimDue(request)
  const taken = all.filter(({ id }) => scene.stored.has(id))
  const ids = taken.map(({ id }) => id)
  note(scene, taken)
  const problem = scene.model.problemOf(request, ids, now, scene.slackMillis)
  const ours = scene.model.claim(ids, request.visibilityMillis, now)
  return [
    { ours, problem: "none" },
    { ours: shownClaims(taken), problem: problem ?? "none" },
  ] as const
})

const claim = Effect.fnUntraced(function* (
  scene: Scene,
  command: Extract<DeliveryCommand, { readonly _tag: "Claim" }>,
  now: number,
) {
  const ids = command.slots.map((slot) => scene.deliveries[slot]!.id)
  const taken = yield* scene.store.claim(ids, command.visibilityMillis)
  note(scene, taken)
  return [scene.model.claim(ids, command.visibilityMillis, now), shownClaims(taken)] as const
})

const recordOf = (
  { claims, deliveries }: Scene,
  { back, ending, slot }: Extract<DeliveryCommand, { readonly _tag: "Record" }>,
): AttemptRecord | undefined => {
  const { id } = deliveries[slot]!
  const known = claims.get(id)?.[back]
  const outcome: DeliveryOutcome = outcomes[ending]
  return known && { ...outcome, id, fence: known.fence, number: known.attempt }
}

const redeliver = (
  { accounts, deliveries, model, store }: Scene,
  { as, slot }: Extract<DeliveryCommand, { readonly _tag: "Redeliver" }>,
  now: number,
) => {
  const { accountId, id } = deliveries[slot]!
  const other = accounts.find((each) => each !== accountId)!
  const account = as === "operator" ? null : as === "own" ? accountId : other
  return Effect.map(
    store.redeliver(account, id),
    (theirs) => [model.redeliver(account, id, now), Option.getOrNull(theirs)] as const,
  )
}

/** Does a command on both sides, and gives their answers. */
const answersTo = Effect.fnUntraced(function* (scene: Scene, command: DeliveryCommand) {
  const now = yield* Clock.currentTimeMillis
  const { accounts, deliveries, model, store } = scene
  switch (command._tag) {
    case "Insert": {
      const delivery = deliveries[command.slot]!
      if (scene.stored.has(delivery.id) && model.find(delivery.id) !== null) return undefined
      scene.stored.add(delivery.id)
      yield* store.insert(delivery)
      model.insert(delivery, now)
      return undefined
    }
    case "Look":
      return yield* look(scene, command, now)
    case "Claim":
      return yield* claim(scene, command, now)
    case "Record": {
      const record = recordOf(scene, command)
      if (record === undefined) return undefined
      return [model.record(record, now), yield* store.record(record)] as const
    }
    case "Redeliver":
      return yield* redeliver(scene, command, now)
    case "RedeliverFailed": {
      const account = accounts[command.account]!
      const since = deliveries[command.since]!.createdAt
      const theirs = yield* store.redeliverFailed(account, since)
      return [model.redeliverFailed(account, since, now), theirs] as const
    }
    case "Forget":
      // A moment from now counts as long ago, so that all that has ended is forgotten.
      yield* store.forget(-60_000, 100_000)
      model.forget()
      return undefined
    case "Wait":
      return undefined
  }
})

/** Everything that can be read, of the model and of the store. */
const views = Effect.fnUntraced(function* ({ accounts, model, store, stored }: Scene) {
  const ids = [...stored].toSorted()
  const theirs = yield* Effect.forEach(ids, (id) =>
    Effect.map(store.find(null, id), Option.getOrNull),
  )
  const keys = accounts.flatMap((account) =>
    (["PENDING", "DELIVERED", "FAILED"] as const).map((state) => ({ account, state })),
  )
  const lists = yield* Effect.forEach(keys, (key) =>
    Effect.map(store.list({ ...key, limit: 50 }), ({ items }) =>
      items.map(({ id }) => id).toSorted(),
    ),
  )
  return [
    {
      found: ids.map((id) => model.find(id)),
      lists: keys.map(({ account, state }) => model.list(account, state)),
    },
    { found: theirs, lists },
  ] as const
})

/** Plays a script; `undefined` when nobody can tell the store from the model. */
export const play = Effect.fnUntraced(function* (
  script: ReadonlyArray<DeliveryCommand>,
  { slackMillis, wait }: StoreClock,
) {
  const store = yield* WebhookStore
  const samples = yield* Samples.make
  const bounds = { limit: 100_000, perOrigin: 100_000, perAccount: 100_000 }
  // Out of the way with what earlier plays have left.
  yield* store.claimDue({ ...bounds, busy: [], visibilityMillis: 24 * hour })
  const scene: Scene = {
    ...castOf(samples),
    model: new DeliveryModel(),
    store,
    slackMillis,
    claims: new Map(),
    stored: new Set(),
  }
  for (const [step, command] of script.entries()) {
    if (command._tag === "Wait") yield* wait(command.millis)
    const answers = yield* answersTo(scene, command)
    const both = [...(answers === undefined ? [] : [answers]), yield* views(scene)]
    for (const [ours, theirs] of both) {
      const difference = Difference.between(ours, theirs, slackMillis)
      if (difference === undefined) continue
      return { step, command, difference: difference.replaceAll(samples.account, "~") }
    }
  }
  return undefined
})
