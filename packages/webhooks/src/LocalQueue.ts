/**
 * What was just stored in this process, for the dispatcher of this process: a first attempt need
 * not wait until somebody looks.
 *
 * Guarantees: what is put in here is stored already; nothing is lost if nobody listens, if it is
 * full, or if the process dies, because the dispatchers look for what is due from time to time.
 * Whole deliveries are handed over, so that whoever claims them need not read them again.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import { localDeliveries, localDeliveriesLength } from "@millrace/core/domain/Limits"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Context, Effect, Layer } from "effect"

type Listener = (deliveries: ReadonlyArray<Delivery>) => void

/** Hands deliveries to a listener, and keeps what comes while nobody listens. Mutable. */
export class DeliveryQueue {
  readonly #kept: Array<Delivery> = []
  #characters = 0
  #listener: Listener | undefined

  /** Calls back with what was kept and with what is put in from now on. */
  listen(listener: Listener | undefined): void {
    this.#listener = listener
    if (listener === undefined) return
    this.#characters = 0
    listener(this.#kept.splice(0))
  }

  put(deliveries: ReadonlyArray<Delivery>): void {
    if (this.#listener !== undefined) return this.#listener(deliveries)
    for (const delivery of deliveries) {
      const isFull = this.#characters >= localDeliveriesLength
      if (isFull || this.#kept.length >= localDeliveries) return
      this.#kept.push(delivery)
      this.#characters += delivery.body.length
    }
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
