/**
 * The store of triggers in memory.
 *
 * Guarantees: every method is one synchronous step; leases follow Effect's clock. Leaves out:
 * durability.
 */
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { TriggerAdvance } from "@millrace/core/ports/TriggerStore"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { Clock, Effect, Layer, Option } from "effect"
import { Deliveries } from "./Deliveries.ts"
import { StoredTriggers } from "./StoredTriggers.ts"

const make = Effect.gen(function* () {
  const triggers = yield* StoredTriggers
  const deliveries = yield* Deliveries
  const advance = (given: TriggerAdvance, now: Timestamp) => {
    const { delivery } = given
    if (triggers.advance(given) && delivery !== undefined) deliveries.insert([delivery], now)
  }
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
    advance: (given) =>
      Effect.map(Clock.currentTimeMillis, (now) => given.forEach((each) => advance(each, now))),
    finish: (ends) => Effect.sync(() => ends.forEach((end) => triggers.finish(end))),
    beginTest: (key, addressHash, millis) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const expiresAt = now + millis
        return triggers.setTest(key, { addressHash, expiresAt })
          ? Option.some(expiresAt)
          : Option.none()
      }),
    endTest: (key) => Effect.sync(() => triggers.setTest(key, undefined)),
    findTest: (key) => Effect.sync(() => Option.fromUndefinedOr(triggers.findTest(key))),
    findByTestAddress: (addressHash) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        Option.fromUndefinedOr(triggers.findByTestAddress(addressHash, now)),
      ),
    noteRequest: (id, request) => Effect.sync(() => triggers.noteRequest(id, request)),
    pause: (account, at) => Effect.sync(() => triggers.pause(account, at)),
    resume: (account, at) => Effect.sync(() => triggers.resume(account, at)),
    pausedAt: (account) => Effect.sync(() => triggers.pausedAt(account)),
  })
})

/** A store of triggers. */
export const layer: Layer.Layer<TriggerStore, never, StoredTriggers | Deliveries> = Layer.effect(
  TriggerStore,
  make,
)
