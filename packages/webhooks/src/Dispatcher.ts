/**
 * Sends what is due: claims in batches, one fiber for each delivery in hand.
 *
 * Guarantees: what this process has just stored goes out without waiting for a look; slow origins
 * and accounts use up their own slots and nobody else's; several dispatchers share the work, since
 * the store hands each delivery to one of them. Told to stop, it claims nothing more and lets
 * attempts in progress end within the grace time; what is broken off is retried by whoever claims
 * it next. Leaves out: deciding what follows from an answer.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { DeliveryId } from "@millrace/core/domain/Id"
import type { Claim, ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import type { Webhooks } from "@millrace/core/engine/Webhooks"
import type { Egress } from "@millrace/egress/Egress"
import { Clock, Duration, Effect, Fiber, FiberSet, Latch, Layer, type Scope } from "effect"
import type { Prefetched } from "./internal/Prefetch.ts"
import { Prefetch } from "./internal/Prefetch.ts"
import { RetryTimer } from "./internal/RetryTimer.ts"
import { Scan } from "./internal/Scan.ts"
import type { DeliveryWorker } from "./internal/DeliveryWorker.ts"
import * as DeliveryWorkers from "./internal/DeliveryWorker.ts"
import type { DispatcherOptions } from "./DispatcherOptions.ts"
import { CurrentDispatcherOptions } from "./DispatcherOptions.ts"
import { LocalQueue } from "./LocalQueue.ts"
import type { Partition } from "./internal/Concurrency.ts"
import { Concurrency } from "./internal/Concurrency.ts"

/** How many deliveries one claim takes at most. */
const claimLimit = 128

/** Slots that have to come free before it is worth a claim of its own. */
const worthwhile = 16

/** How long slots that came free wait for more of them, while there is more to do. */
const gatherMillis = 5

/** What has ended long ago is removed in portions of this size, so often. */
const forgetLimit = 1_000
const forgetMillis = 600_000

/** Claims together with what they are claims of. */
const withDeliveries = (
  claims: ReadonlyArray<Claim>,
  known: ReadonlyMap<DeliveryId, Delivery>,
): ReadonlyArray<ClaimedDelivery> =>
  claims.flatMap((claim) => {
    const delivery = known.get(claim.id)
    return delivery === undefined ? [] : [{ ...claim, delivery, createdAt: delivery.createdAt }]
  })

const every = (millis: number, effect: Effect.Effect<void>) =>
  Effect.forkScoped(Effect.forever(Effect.andThen(effect, Effect.sleep(Duration.millis(millis)))))

/** What a dispatcher works with. */
interface Services {
  readonly store: WebhookStore["Service"]
  readonly queue: LocalQueue["Service"]
  readonly worker: DeliveryWorker
  readonly options: DispatcherOptions
  readonly clock: Clock.Clock
  readonly fibers: FiberSet.FiberSet<void>
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

/** The deliveries in hand, and when to look for more. Mutable, for one loop. */
class DispatchLoop {
  readonly #services: Services
  readonly #concurrency: Concurrency
  readonly #prefetch: Prefetch
  readonly #wake = Latch.makeUnsafe(false)
  /** Open when there is no reason to wait for more. */
  readonly #enough = Latch.makeUnsafe(false)
  readonly #scan: Scan
  /** A look is worth its while before the next one is due anyway. */
  #wantsLook = false
  #freed = 0
  #isStopped = false
  #nextLookAt = 0
  readonly #retryTimer = new RetryTimer()

  constructor(services: Services) {
    this.#services = services
    this.#concurrency = new Concurrency(services.options)
    this.#prefetch = new Prefetch(services.options)
    this.#scan = new Scan(this.#concurrency)
    services.queue.onArrival(() => {
      Latch.openUnsafe(this.#enough)
      Latch.openUnsafe(this.#wake)
    })
  }

  /** Waits until there may be something to do, and does it. */
  next(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const at = Math.min(this.#nextLookAt, this.#retryTimer.next)
      const pause = Duration.millis(Math.max(0, at - this.#now()))
      return Effect.timeoutOption(this.#wake.await, pause).pipe(
        Effect.andThen(this.#gather()),
        // Once claimed, deliveries are to be dispatched, also when the loop is told to stop.
        Effect.andThen(FiberSet.run(this.#services.fibers, this.#round())),
        Effect.flatMap(Fiber.join),
      )
    })
  }

  /** A retry will be due in so long. */
  expect(delayMillis: number): void {
    const isNext = this.#retryTimer.next > this.#now() + delayMillis
    // A clock of whole milliseconds may be behind by almost one.
    this.#retryTimer.expect(this.#now() + delayMillis + 1)
    if (isNext) Latch.openUnsafe(this.#wake)
  }

  /** Gives back what was claimed ahead; from now on nothing is. */
  readonly stop: Effect.Effect<void> = Effect.sync(() => {
    const { worker, fork } = this.#services
    this.#isStopped = true
    for (const { claimed } of this.#prefetch.take(() => true)) fork(worker.giveBack(claimed))
  })

  #now(): number {
    return Number(this.#services.clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  }

  /** Slots that came free wait a moment for more of them; what arrived does not. */
  #gather(): Effect.Effect<unknown> {
    return Effect.suspend(() => {
      const isFew = this.#freed > 0 && this.#freed < worthwhile && this.#concurrency.total > 0
      return isFew ? Effect.timeoutOption(this.#enough.await, gatherMillis) : Effect.void
    })
  }

  #round(): Effect.Effect<void> {
    return Effect.suspend(() => {
      Latch.closeUnsafe(this.#wake)
      Latch.closeUnsafe(this.#enough)
      this.#freed = 0
      this.#giveBackStale()
      const rings = this.#retryTimer.ring(this.#now())
      if (this.#services.queue.takeOverflow() || rings) this.#wantsLook = true
      return Effect.andThen(this.#claimFresh(), this.#claimDue())
    }).pipe(
      Effect.catchTag("StorageError", (error) => {
        this.#nextLookAt = this.#now() + this.#services.options.pollMillis
        return Effect.logWarning("could not look for deliveries", error)
      }),
      Effect.ensuring(Effect.sync(() => this.#fill())),
    )
  }

  /** Takes what this process has just stored. */
  #claimFresh(): Effect.Effect<void, StorageError> {
    const { clock, queue, options, store } = this.#services
    return Effect.suspend(() => {
      if (this.#isStopped) return Effect.void
      const taken = queue.take(claimLimit, (partition) => this.#reserve(partition))
      if (taken.length === 0) return Effect.void
      const known = new Map(taken.map(({ delivery }) => [delivery.id, delivery]))
      const at = clock.monotonicTimeNanosUnsafe()
      // Whatever was claimed is given a place anew.
      const leave = Effect.sync(() => taken.forEach(({ place }) => place.leave()))
      return store.claim([...known.keys()], options.visibilityMillis).pipe(
        Effect.ensuring(leave),
        Effect.map((claims) => this.#dispatch(withDeliveries(claims, known), at)),
      )
    })
  }

  /** Takes what is due for whatever reason: retries, and what others have left behind. */
  #claimDue(): Effect.Effect<void, StorageError> {
    const { clock, options, store } = this.#services
    const { perAccount, perOrigin, pollMillis, visibilityMillis } = options
    return Effect.suspend(() => {
      const isDue = this.#wantsLook || this.#scan.hasRoom || this.#now() >= this.#nextLookAt
      if (!isDue || this.#isStopped) return Effect.void
      this.#nextLookAt = this.#now() + pollMillis
      const limit = Math.min(claimLimit, this.#concurrency.free)
      // Whoever releases a slot has this done then.
      this.#wantsLook = limit <= 0
      if (limit <= 0) return Effect.void
      const busy = this.#concurrency.busy()
      const at = clock.monotonicTimeNanosUnsafe()
      const request = { limit, perOrigin, perAccount, busy, visibilityMillis }
      this.#scan.ask()
      return Effect.map(store.claimDue(request), (claims) => {
        this.#dispatch(claims, at)
        this.#scan.note(request, claims)
        if (this.#scan.hasRoom) Latch.openUnsafe(this.#wake)
      })
    })
  }

  /** Makes room for one, in a slot or ahead of them; nothing where there is none. */
  #reserve(partition: Partition): { readonly leave: () => void } | undefined {
    if (this.#concurrency.room(partition) > 0) {
      this.#concurrency.take(partition)
      return { leave: () => this.#concurrency.release(partition) }
    }
    if (this.#prefetch.room(partition.origin) <= 0) return undefined
    this.#prefetch.reserve(partition.origin)
    return { leave: () => this.#prefetch.release(partition.origin) }
  }

  /** Begins with what there are slots for; the rest waits for one. */
  #dispatch(claims: ReadonlyArray<ClaimedDelivery>, claimedAtNanos: bigint): void {
    for (const claimed of claims) {
      const one = { claimed, claimedAtNanos }
      if (this.#concurrency.room(claimed.delivery) > 0) this.#begin(one)
      else this.#keep(one)
    }
  }

  #keep(one: Prefetched): void {
    const { worker, fork } = this.#services
    if (this.#isStopped) return void fork(worker.giveBack(one.claimed))
    this.#prefetch.reserve(one.claimed.delivery.origin)
    this.#prefetch.put(one)
  }

  /** Begins with what has waited, as far as there are slots. */
  #fill(): void {
    const hasSlot = ({ claimed }: Prefetched) => this.#concurrency.room(claimed.delivery) > 0
    for (const one of this.#prefetch.take(hasSlot)) this.#begin(one)
  }

  /** What has waited too long is for whoever has a slot for it; its origin is not so quick. */
  #giveBackStale(): void {
    const { clock, worker, fork, options } = this.#services
    const now = clock.monotonicTimeNanosUnsafe()
    const isStale = ({ claimedAtNanos }: Prefetched) =>
      now - claimedAtNanos > BigInt(options.freshMillis) * 1_000_000n
    for (const { claimed } of this.#prefetch.take(isStale)) {
      this.#prefetch.learn(claimed.delivery.origin, options.freshMillis)
      fork(worker.giveBack(claimed))
    }
  }

  #begin(one: Prefetched): void {
    const { worker, fork } = this.#services
    const { delivery } = one.claimed
    this.#concurrency.take(delivery)
    // A slot is for the receiver's time, not for the store's.
    let isHeld = true
    const onSent = (tookMillis: number | null) => {
      if (isHeld) this.#release(delivery, tookMillis)
      isHeld = false
    }
    // However it ends, also by a defect or before it has begun.
    fork(worker.carry({ ...one, onSent })).addObserver(() => onSent(null))
  }

  #release(partition: Partition, tookMillis: number | null): void {
    this.#concurrency.release(partition)
    if (tookMillis !== null) this.#prefetch.learn(partition.origin, tookMillis)
    this.#fill()
    // Also while a look is under way, of which nobody knows yet what it leaves behind.
    this.#freed += 1
    const wantsMore = this.#wantsLook || this.#scan.hasRoomFor(partition)
    if (!wantsMore && this.#services.queue.isEmpty) return
    if (this.#freed >= worthwhile) Latch.openUnsafe(this.#enough)
    Latch.openUnsafe(this.#wake)
  }
}

const run: Effect.Effect<void, never, WebhookStore | Webhooks | Egress | LocalQueue | Scope.Scope> =
  Effect.gen(function* () {
    const store = yield* WebhookStore
    const options = yield* CurrentDispatcherOptions
    const worker = yield* DeliveryWorkers.make(options, (delayMillis) => rounds.expect(delayMillis))
    const fibers = yield* FiberSet.make<void>()
    const queue = yield* LocalQueue
    const clock = yield* Clock.Clock
    const fork = yield* FiberSet.runtime(fibers)()
    const rounds: DispatchLoop = new DispatchLoop({
      store,
      queue,
      worker,
      options,
      clock,
      fibers,
      fork,
    })
    const forget = store
      .forget(options.keptMillis, forgetLimit)
      .pipe(Effect.repeat({ until: (count) => count < forgetLimit }), Effect.ignore({ log: true }))
    yield* every(forgetMillis, Effect.asVoid(forget))
    // A scope closes in the opposite order: no more claims, then what is in hand may end.
    const end = Effect.timeout(FiberSet.awaitEmpty(fibers), options.graceMillis)
    yield* Effect.addFinalizer(() => Effect.andThen(rounds.stop, Effect.ignore(end)))
    yield* Effect.forkScoped(Effect.forever(Effect.suspend(() => rounds.next())))
  })

/** A dispatcher that works as long as the layer's scope is open. */
export const layer: Layer.Layer<never, never, WebhookStore | Webhooks | Egress | LocalQueue> =
  Layer.effectDiscard(run)
