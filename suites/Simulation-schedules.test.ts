/**
 * The simulation of schedules, over many more seeds than the package's own test plays, and what
 * gives it weight: stores with a fault are told from good ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Schedule } from "@millrace/core/domain/Trigger"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { brokenScheduleSeedOf, scheduleSimulation } from "@millrace/simulation/ScheduleSuite"
import { Stores } from "@millrace/memory"
import { Effect, Layer } from "effect"
import { contentFaults } from "./FaultyStores.ts"

scheduleSimulation("the stores in memory", Stores.layer, 1_000)

type Triggers = TriggerStore["Service"]

/** Good stores, of which something is changed. */
const faulty = (change: (good: Triggers) => Partial<Triggers>) =>
  Layer.effect(
    TriggerStore,
    Effect.map(TriggerStore, (good) => TriggerStore.of({ ...good, ...change(good) })),
  ).pipe(Layer.provideMerge(Stores.layer))

const faults = {
  ...contentFaults,
  "takes stale notes of starts for good ones": faulty(({ advance, list }) => ({
    advance: Effect.fnUntraced(function* (all) {
      const stored = yield* list(AccountId.make("acc_1"), WorkflowId.make("wf_1"))
      const fences = new Map(stored.map((each) => [each.id, (each as Schedule).fence]))
      yield* advance(all.map((each) => ({ ...each, fence: fences.get(each.id) ?? each.fence })))
    }),
  })),
  "forgets what became of claimed schedules": faulty(() => ({ advance: () => Effect.void })),
  "forgets that times were missed": faulty(({ advance }) => ({
    advance: (all) => advance(all.map((each) => ({ ...each, missed: 0 }))),
  })),
  "claims ends of runs and loses them": faulty(({ claimDue }) => ({
    claimDue: (claim) => Effect.map(claimDue(claim), (claimed) => ({ ...claimed, ends: [] })),
  })),
  "tells claims of no pause": faulty(({ claimDue }) => ({
    claimDue: (claim) => Effect.map(claimDue(claim), (claimed) => ({ ...claimed, pauses: [] })),
  })),
  "does not know when a pause began": faulty(({ claimDue }) => ({
    claimDue: (claim) =>
      Effect.map(claimDue(claim), ({ pauses, ...claimed }) => ({
        ...claimed,
        pauses: pauses.map((pause) => ({ ...pause, since: 0 })),
      })),
  })),
  "does not know when a pause ended": faulty(({ claimDue }) => ({
    claimDue: (claim) =>
      Effect.map(claimDue(claim), ({ pauses, ...claimed }) => ({
        ...claimed,
        pauses: pauses.filter(({ until }) => until === null),
      })),
  })),
  "forgets which run a schedule started last": faulty(({ advance }) => ({
    advance: (all) => advance(all.map(({ lastRunId: _, ...each }) => each)),
  })),
}

describe("brokenScheduleSeedOf", () => {
  for (const [fault, stores] of Object.entries(faults)) {
    const test = Effect.gen(function* () {
      const seeds = Array.from({ length: 150 }, (_, at) => at + 1)
      assert.match((yield* brokenScheduleSeedOf(stores, seeds)) ?? "", /^seed=\d+: /)
    })
    it.effect(`tells of a store that ${fault}`, () => test, { timeout: 120_000 })
  }
})
