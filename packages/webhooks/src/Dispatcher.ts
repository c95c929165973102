/**
 * The dispatcher: it sends deliveries that are due. `DispatcherStep.next` decides which calls to
 * make; this loop makes them, each in a fiber of its own.
 *
 * Guarantees: a delivery that this process has just stored is sent without waiting for a poll.
 * Several dispatchers share the work, because the store gives each delivery to one of them. A
 * dispatcher that stops begins no attempt, and attempts in progress may end within the grace time.
 * An attempt that is broken off is retried by the dispatcher that claims it next. Leaves out: every
 * decision.
 */
import type { Webhooks } from "@millrace/core/engine/Webhooks"
import type { Vault } from "@millrace/core/ports/Vault"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import type { Egress } from "@millrace/egress/Egress"
import { Clock, Context, Duration, Effect, FiberSet, Latch, Layer, Random } from "effect"
import type { Fiber } from "effect"
import type { DispatcherOptions } from "./DispatcherOptions.ts"
import { CurrentDispatcherOptions } from "./DispatcherOptions.ts"
import type { DispatcherCommand, DispatcherEvent } from "./DispatcherStep.ts"
import { makeState, next, dueAt } from "./DispatcherStep.ts"
import * as DeliveryWorkers from "./internal/DeliveryWorker.ts"
import { LocalQueue } from "./LocalQueue.ts"

/** What an engine asks of its dispatcher; without one, nothing is being sent. */
export const CurrentDispatcher = Context.Reference<{
  /** Attempts in progress. */
  readonly sending: () => number
  /**
   * Begins no further attempt, and gives back what waits for one. Ends when no attempt is in
   * progress, or the time has passed; what is left goes on until the dispatcher's scope closes.
   */
  readonly drain: (graceMillis: number) => Effect.Effect<void>
}>("@millrace/webhooks/Dispatcher", {
  defaultValue: () => ({ sending: () => 0, drain: () => Effect.void }),
})

/** How many old deliveries one statement removes at most, and how often they are removed. */
const forgetLimit = 1_000
const forgetMillis = 600_000

const every = (millis: number, effect: Effect.Effect<void>) =>
  Effect.forkScoped(Effect.forever(Effect.andThen(effect, Effect.sleep(Duration.millis(millis)))))

/** The services that the loop calls. */
interface Services {
  readonly store: WebhookStore["Service"]
  readonly worker: DeliveryWorkers.DeliveryWorker
  readonly options: DispatcherOptions
  readonly clock: Clock.Clock
  readonly random: Random.Random
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

type ClaimCommand = Extract<DispatcherCommand, { readonly _tag: "Claim" | "Poll" }>

/** Claims deliveries. The store need not return those that this process has just stored. */
const claimedFor = ({ options, store }: Services, command: ClaimCommand) => {
  if (command._tag === "Poll") return store.claimDue(command.request)
  const known = new Map(command.deliveries.map((delivery) => [delivery.id, delivery]))
  return Effect.map(store.claim([...known.keys()], options.visibilityMillis), (claims) =>
    claims.flatMap((each) => {
      const delivery = known.get(each.id)
      return delivery === undefined ? [] : [{ ...each, delivery, createdAt: delivery.createdAt }]
    }),
  )
}

/** The same without claims if the store fails. */
const claimed = (services: Services, command: ClaimCommand) =>
  Effect.catchCause(claimedFor(services, command), (cause) =>
    Effect.as(Effect.logWarning("could not claim deliveries", cause), []),
  )

/** How to tell a dispatcher of an event, and one turn of its loop: sleep, and wake. */
const makeLoop = (services: Services) => {
  const { clock, fork, options, random, worker } = services
  const state = makeState(options)
  const awake = Latch.makeUnsafe(false)
  let sleepsUntil = Number.POSITIVE_INFINITY

  const elapsedNow = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

  const step = (event: DispatcherEvent) => {
    const commands = next(state, event, {
      elapsed: elapsedNow(),
      now: clock.currentTimeMillisUnsafe(),
      random: () => 2 * random.nextDoubleUnsafe() - 1,
    })
    if (dueAt(state) < sleepsUntil) Latch.openUnsafe(awake)
    return commands
  }

  const tell = (event: DispatcherEvent): void => step(event).forEach(start)

  /** Carries a command out, and tells the dispatcher its result. */
  const perform = (command: DispatcherCommand): Effect.Effect<void> => {
    switch (command._tag) {
      case "Claim":
      case "Poll":
        return Effect.map(claimed(services, command), (claims) => tell({ _tag: "Claimed", claims }))
      case "Send":
        return Effect.flatMap(worker.send(command.job.claimed), (sent) => {
          const [record, ...others] = step({ _tag: "Sent", job: command.job, sent })
          others.forEach(start)
          return perform(record!)
        })
      case "Record": {
        const { job, outcome } = command
        return Effect.map(worker.record(job.claimed, outcome), (isStored) => {
          if (isStored) tell({ _tag: "Over", job, outcome })
        })
      }
    }
  }

  const start = (command: DispatcherCommand): void => {
    const fiber = fork(perform(command))
    if (!("job" in command)) return
    const { job } = command
    // However the fiber ends, also by a defect or before it has begun.
    fiber.addObserver(() => {
      if (job.hasSlot) tell({ _tag: "Over", job })
    })
  }

  const turn = Effect.suspend(() => {
    Latch.closeUnsafe(awake)
    sleepsUntil = dueAt(state)
    const pause = Math.max(0, sleepsUntil - elapsedNow())
    return Effect.timeoutOption(awake.await, Duration.millis(pause))
  }).pipe(Effect.andThen(Effect.sync(() => tell({ _tag: "Woke" }))))

  return { tell, turn, sending: () => state.partitions.sending }
}

const run = Effect.gen(function* () {
  const options = yield* CurrentDispatcherOptions
  const store = yield* WebhookStore
  const queue = yield* LocalQueue
  const fibers = yield* FiberSet.make<void>()
  const { sending, tell, turn } = makeLoop({
    store,
    options,
    worker: yield* DeliveryWorkers.make(options.timeoutMillis),
    clock: yield* Clock.Clock,
    random: yield* Random.Random,
    fork: yield* FiberSet.runtime(fibers)(),
  })
  const forget = store
    .forget(options.keptMillis, forgetLimit)
    .pipe(Effect.repeat({ until: (count) => count < forgetLimit }), Effect.ignore({ log: true }))
  yield* every(forgetMillis, Effect.asVoid(forget))
  // A scope closes in the opposite order: no more claims, then attempts in progress may end.
  const ignore = queue.listen((deliveries) => tell({ _tag: "Arrived", deliveries }))
  const stop = Effect.sync(() => {
    ignore()
    tell({ _tag: "Stopped" })
  })
  const drain = (graceMillis: number) =>
    Effect.andThen(stop, Effect.ignore(Effect.timeout(FiberSet.awaitEmpty(fibers), graceMillis)))
  yield* Effect.addFinalizer(() => drain(options.graceMillis))
  yield* Effect.forkScoped(Effect.forever(turn))
  return Context.make(CurrentDispatcher, { sending, drain })
})

/** A dispatcher that works as long as the layer's scope is open. */
export const layer: Layer.Layer<
  never,
  never,
  WebhookStore | Webhooks | Vault | Egress | LocalQueue
> = Layer.effectContext(run)
