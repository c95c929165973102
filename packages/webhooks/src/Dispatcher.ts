/**
 * Sends what is due: claims in batches, one fiber for each delivery in hand.
 *
 * Guarantees: what this process has just stored goes out without waiting for a look; slow origins
 * and accounts use up their own slots and nobody else's; several dispatchers share the work, since
 * the store hands each delivery to one of them. Told to stop, it claims nothing more and lets
 * attempts in progress end within the grace time; what is broken off is retried by whoever claims
 * it next. Leaves out: deciding what follows from an answer.
 */
import type { ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import type { Webhooks } from "@millrace/core/engine/Webhooks"
import type { Egress } from "@millrace/egress/Egress"
import { Clock, Duration, Effect, Fiber, FiberSet, Latch, Layer, type Scope } from "effect"
import { Alarm } from "./Alarm.ts"
import type { Courier } from "./Courier.ts"
import * as Couriers from "./Courier.ts"
import type { DispatcherOptions } from "./DispatcherOptions.ts"
import { CurrentDispatcherOptions } from "./DispatcherOptions.ts"
import { Mailbox } from "./Mailbox.ts"
import type { Lane } from "./Slots.ts"
import { Slots } from "./Slots.ts"

/** How many deliveries one claim takes at most. */
const claimLimit = 128

/** Slots that have to come free before it is worth a claim of its own. */
const worthwhile = 16

/** How long slots that came free wait for more of them, while there is more to do. */
const gatherMillis = 5

/** What has ended long ago is removed in portions of this size, so often. */
const forgetLimit = 1_000
const forgetMillis = 600_000

const every = (millis: number, effect: Effect.Effect<void>) =>
  Effect.forkScoped(Effect.forever(Effect.andThen(effect, Effect.sleep(Duration.millis(millis)))))

/** What a dispatcher works with. */
interface Services {
  readonly store: WebhookStore["Service"]
  readonly letters: Mailbox["Service"]
  readonly courier: Courier
  readonly options: DispatcherOptions
  readonly clock: Clock.Clock
  readonly fibers: FiberSet.FiberSet<void>
}

/** The deliveries in hand, and when to look for more. Mutable, for one loop. */
class Rounds {
  readonly #services: Services
  readonly #slots: Slots
  readonly #wake = Latch.makeUnsafe(false)
  /** Origins and accounts of which more may be due than there was room for. */
  readonly #wanted = new Set<string>()
  /** The last look took as much as it asked for. */
  #hasMore = false
  /** A look is worth its while before the next one is due anyway. */
  #wantsLook = false
  /** Something has arrived; else it was only slots that came free. */
  #isUrgent = false
  #freed = 0
  #nextLookAt = 0
  readonly #alarm = new Alarm()

  constructor(services: Services) {
    this.#services = services
    this.#slots = new Slots(services.options)
    services.letters.onArrival(() => {
      this.#isUrgent = true
      Latch.openUnsafe(this.#wake)
    })
  }

  /** Waits until there may be something to do, and does it. */
  next(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const at = Math.min(this.#nextLookAt, this.#alarm.next)
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
    const isNext = this.#alarm.next > this.#now() + delayMillis
    // A clock of whole milliseconds may be behind by almost one.
    this.#alarm.expect(this.#now() + delayMillis + 1)
    if (isNext) Latch.openUnsafe(this.#wake)
  }

  #now(): number {
    return Number(this.#services.clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  }

  /** Slots that came free wait a moment for more of them; what arrived does not. */
  #gather(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const isFew = this.#freed > 0 && this.#freed < worthwhile && this.#slots.total > 0
      return isFew && !this.#isUrgent ? Effect.sleep(gatherMillis) : Effect.void
    })
  }

  #round(): Effect.Effect<void> {
    return Effect.suspend(() => {
      Latch.closeUnsafe(this.#wake)
      this.#freed = 0
      this.#isUrgent = false
      const rings = this.#alarm.ring(this.#now())
      if (this.#services.letters.takeOverflow() || rings) this.#wantsLook = true
      return Effect.andThen(this.#claimFresh(), this.#claimDue())
    }).pipe(
      Effect.catchTag("StorageError", (error) => {
        this.#nextLookAt = this.#now() + this.#services.options.pollMillis
        return Effect.logWarning("could not look for deliveries", error)
      }),
    )
  }

  /** Takes what this process has just stored. */
  #claimFresh(): Effect.Effect<void, StorageError> {
    const { clock, letters, options, store } = this.#services
    return Effect.suspend(() => {
      const taken = letters.take(claimLimit, (lane) => this.#slots.room(lane))
      // Two lanes may share an origin or an account, and together be too many.
      const fits = taken.filter((lane) => this.#reserve(lane))
      if (fits.length < taken.length) this.#wantsLook = true
      if (fits.length === 0) return Effect.void
      const ids = fits.map(({ id }) => id)
      const at = clock.monotonicTimeNanosUnsafe()
      return store.claim(ids, options.visibilityMillis).pipe(
        Effect.onError(() => Effect.sync(() => fits.forEach((lane) => this.#slots.release(lane)))),
        Effect.flatMap((claims) => {
          const got = new Set(claims.map(({ delivery }) => delivery.id))
          for (const lane of fits) if (!got.has(lane.id)) this.#slots.release(lane)
          return this.#dispatch(claims, at)
        }),
      )
    })
  }

  /** Takes what is due for whatever reason: retries, and what others have left behind. */
  #claimDue(): Effect.Effect<void, StorageError> {
    const { clock, options, store } = this.#services
    const { perAccount, perOrigin, pollMillis, visibilityMillis } = options
    return Effect.suspend(() => {
      const limit = Math.min(claimLimit, this.#slots.free)
      if (limit <= 0 || (!this.#wantsLook && this.#now() < this.#nextLookAt)) return Effect.void
      this.#nextLookAt = this.#now() + pollMillis
      this.#wantsLook = false
      const busy = this.#slots.busy()
      const at = clock.monotonicTimeNanosUnsafe()
      const request = { limit, perOrigin, perAccount, busy, visibilityMillis }
      return Effect.flatMap(store.claimDue(request), (claims) => {
        for (const { delivery } of claims) this.#slots.take(delivery)
        this.#noteMore(claims, limit)
        return this.#dispatch(claims, at)
      })
    })
  }

  /** Remembers of whom there may be more than a look could take. */
  #noteMore(claims: ReadonlyArray<ClaimedDelivery>, limit: number): void {
    this.#hasMore = claims.length === limit
    for (const { delivery } of claims) {
      if (this.#slots.room(delivery) > 0) continue
      this.#wanted.add(delivery.origin)
      this.#wanted.add(delivery.accountId)
    }
  }

  #reserve(lane: Lane): boolean {
    if (this.#slots.room(lane) <= 0) return false
    this.#slots.take(lane)
    return true
  }

  #dispatch(claims: ReadonlyArray<ClaimedDelivery>, at: bigint): Effect.Effect<void> {
    const { courier, fibers } = this.#services
    const carry = (claimed: ClaimedDelivery) => {
      // A slot is for the receiver's time, not for the store's.
      let isHeld = true
      const onSent = () => {
        if (isHeld) this.#release(claimed.delivery)
        isHeld = false
      }
      return Effect.ensuring(courier({ claimed, claimedAtNanos: at, onSent }), Effect.sync(onSent))
    }
    return Effect.forEach(claims, (claimed) => FiberSet.run(fibers, carry(claimed)), {
      discard: true,
    })
  }

  #release(lane: Lane): void {
    this.#slots.release(lane)
    const wasWanted = this.#wanted.delete(lane.origin)
    if (this.#wanted.delete(lane.accountId) || wasWanted || this.#hasMore) this.#wantsLook = true
    if (!this.#wantsLook && this.#services.letters.isEmpty) return
    this.#freed += 1
    Latch.openUnsafe(this.#wake)
  }
}

const run: Effect.Effect<void, never, WebhookStore | Webhooks | Egress | Mailbox | Scope.Scope> =
  Effect.gen(function* () {
    const store = yield* WebhookStore
    const options = yield* CurrentDispatcherOptions
    const courier = yield* Couriers.make(options, (delayMillis) => rounds.expect(delayMillis))
    const fibers = yield* FiberSet.make<void>()
    const letters = yield* Mailbox
    const clock = yield* Clock.Clock
    const rounds: Rounds = new Rounds({ store, letters, courier, options, clock, fibers })
    const forget = store
      .forget(options.keptMillis, forgetLimit)
      .pipe(Effect.repeat({ until: (count) => count < forgetLimit }), Effect.ignore({ log: true }))
    yield* every(forgetMillis, Effect.asVoid(forget))
    // A scope closes in the opposite order: no more claims, then what is in hand may end.
    yield* Effect.addFinalizer(() =>
      Effect.ignore(Effect.timeout(FiberSet.awaitEmpty(fibers), options.graceMillis)),
    )
    yield* Effect.forkScoped(Effect.forever(Effect.suspend(() => rounds.next())))
  })

/** A dispatcher that works as long as the layer's scope is open. */
export const layer: Layer.Layer<never, never, WebhookStore | Webhooks | Egress | Mailbox> =
  Layer.effectDiscard(run)
