/**
 * Deliveries in memory against their model, and stores with a fault that are told from it.
 */
import { assert, describe, it } from "@effect/vitest"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Stores } from "@millrace/memory"
import {
  deliveryDifferenceOf,
  deliveryModelOnTestClock,
} from "@millrace/simulation/DeliveryModelSuite"
import { Effect, Layer } from "effect"

deliveryModelOnTestClock("the stores in memory", Stores.layer, { seeds: 300 })

type Store = WebhookStore["Service"]

/** A good store, of which something is changed. */
const faulty = (change: (good: Store) => Partial<Store>) =>
  Layer.effect(
    WebhookStore,
    WebhookStore.useSync((good) => WebhookStore.of({ ...good, ...change(good) })),
  ).pipe(Layer.provide(Stores.layer))

const faults = {
  "believes everybody": faulty(({ record }) => ({ record: (one) => Effect.as(record(one), true) })),
  "forgets that a receiver is gone": faulty(({ record }) => ({
    record: (one) =>
      record(one.next._tag === "Failed" ? { ...one, next: { ...one.next, isGone: false } } : one),
  })),
  "counts what was given back": faulty(({ record }) => ({
    record: (one) =>
      one.attempt === null
        ? record({
            ...one,
            attempt: { at: 0, durationMillis: 0, status: 1, error: null, answer: "" },
          })
        : record(one),
  })),
  "sends everybody's deliveries again": faulty(({ redeliver }) => ({
    redeliver: (_, id) => redeliver(null, id),
  })),
  "knows no bound per origin": faulty(({ claimDue }) => ({
    claimDue: (request) => claimDue({ ...request, perOrigin: 1_000 }),
  })),
  "knows no bound per account": faulty(({ claimDue }) => ({
    claimDue: (request) => claimDue({ ...request, perAccount: 1_000 }),
  })),
  "looks for one at a time": faulty(({ claimDue }) => ({
    claimDue: (request) => claimDue({ ...request, limit: 1 }),
  })),
  "holds claims for no time": faulty(({ claim }) => ({ claim: (ids) => claim(ids, 0) })),
}

describe("deliveryDifferenceOf", () => {
  for (const [fault, stores] of Object.entries(faults)) {
    it.effect(`tells a store that ${fault} from a good one`, () =>
      Effect.gen(function* () {
        const report = yield* deliveryDifferenceOf(stores, { seeds: 100 })
        assert.match(report ?? "", /^seed=\d+ step=\d+ command=\{.*\}\nat answer[.:]/)
      }),
    )
  }
})
