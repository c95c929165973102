/**
 * What was just stored in this process, for the dispatcher of this process: a first attempt need
 * not wait until somebody looks.
 *
 * Guarantees: what is put in here is stored already; nothing is lost if nobody takes it out, if it
 * is full, or if the process dies, because the dispatchers look for what is due from time to time.
 * Whole deliveries wait here, so that whoever claims them need not read them again. Mutable; every
 * method is one synchronous step.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import { localDeliveries, localDeliveriesLength } from "@millrace/core/domain/Limits"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Context, Effect, Layer } from "effect"
import type { Partition } from "./internal/Concurrency.ts"

/** So many places of a line that never ends are kept at most after they have been taken out. */
const mostTaken = 1_024

interface Line extends Partition {
  readonly waiting: Array<Delivery | undefined>
  next: number
}

/** Deliveries that wait for a first attempt, in a list for each partition. */
export class DeliveryQueue {
  readonly #lines = new Map<string, Line>()
  #count = 0
  #characters = 0
  #hasOverflown = false
  #listener: () => void = () => undefined

  /** Calls back when something was put in. */
  onArrival(listener: () => void): void {
    this.#listener = listener
  }

  put(deliveries: ReadonlyArray<Delivery>): void {
    if (deliveries.length === 0) return
    for (const delivery of deliveries) {
      const { accountId, body, origin } = delivery
      if (this.#count >= localDeliveries || this.#characters >= localDeliveriesLength) {
        this.#hasOverflown = true
        break
      }
      const key = `${accountId} ${origin}`
      const line = this.#lines.get(key)
      if (line !== undefined) line.waiting.push(delivery)
      else this.#lines.set(key, { accountId, origin, waiting: [delivery], next: 0 })
      this.#count += 1
      this.#characters += body.length
    }
    this.#listener()
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** True, once, after something did not fit in. */
  takeOverflow(): boolean {
    const has = this.#hasOverflown
    this.#hasOverflown = false
    return has
  }

  /**
   * Takes out what there is a place for, at most so many, one of each line in turn. `reserve` is
   * asked for each and gives what comes back with it; nothing where there is no place.
   */
  take<Place>(
    most: number,
    reserve: (partition: Partition) => Place | undefined,
  ): ReadonlyArray<{ readonly delivery: Delivery; readonly place: Place }> {
    const taken: Array<{ delivery: Delivery; place: Place }> = []
    let going = [...this.#lines]
    while (going.length > 0) {
      const left: typeof going = []
      for (const [key, line] of going) {
        const place = taken.length < most ? reserve(line) : undefined
        if (place === undefined) continue
        taken.push({ delivery: this.#next(line), place })
        // To the end of the round, so that no line comes first for ever.
        this.#lines.delete(key)
        if (line.next === line.waiting.length) continue
        this.#lines.set(key, line)
        left.push([key, line])
      }
      going = left
    }
    return taken
  }

  #next(line: Line): Delivery {
    const delivery = line.waiting[line.next]!
    line.waiting[line.next] = undefined
    line.next += 1
    if (line.next === mostTaken) {
      line.waiting.splice(0, line.next)
      line.next = 0
    }
    this.#count -= 1
    this.#characters -= delivery.body.length
    return delivery
  }
}

export class LocalQueue extends Context.Service<LocalQueue, DeliveryQueue>()(
  "@millrace/webhooks/LocalQueue",
) {
  /** An empty one. */
  static readonly layer: Layer.Layer<LocalQueue> = Layer.sync(LocalQueue, () => new DeliveryQueue())
}

/**
 * The same run store; but the local queue hears of the deliveries of every commit that was stored.
 */
export const watched = (store: RunStore["Service"], queue: DeliveryQueue): RunStore["Service"] =>
  RunStore.of({
    ...store,
    commit: (commit) =>
      commit.deliveries.length === 0
        ? store.commit(commit)
        : Effect.tap(store.commit(commit), () => Effect.sync(() => queue.put(commit.deliveries))),
  })

/** {@link watched} over the run store that is there. */
export const layerRunStore: Layer.Layer<RunStore, never, RunStore | LocalQueue> = Layer.effect(
  RunStore,
  Effect.gen(function* () {
    return watched(yield* RunStore, yield* LocalQueue)
  }),
)
