/**
 * The deliveries that this process has just stored, for its own dispatcher: their first attempt
 * need not wait for a poll.
 *
 * Guarantees: every delivery in the queue is stored already. None is lost if nobody listens, if the
 * queue is full, or if the process dies, because every dispatcher polls the store. The queue hands
 * over whole deliveries, so the dispatcher need not read them again.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import { localDeliveries, localDeliveriesLength } from "@millrace/core/domain/Limits"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { onSuccess } from "@millrace/core/ports/CallbackEffect"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Context, Effect, Layer } from "effect"

type Listener = (deliveries: ReadonlyArray<Delivery>) => void

/** Hands deliveries to a listener, and keeps those that come while nobody listens. Mutable. */
export class DeliveryQueue {
  readonly #kept: Array<Delivery> = []
  #characters = 0
  #listener: Listener | undefined

  /**
   * Calls the listener with the deliveries that were kept, and with all that are put in later,
   * until there is another listener or the returned function is called.
   */
  listen(listener: Listener): () => void {
    this.#listener = listener
    this.#characters = 0
    if (this.#kept.length > 0) listener(this.#kept.splice(0))
    return () => {
      if (this.#listener === listener) this.#listener = undefined
    }
  }

  /**
   * Deliveries that a full queue does not take are found by a poll. Without deliveries, it says
   * that some have become due.
   */
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
  /** An empty queue. */
  static readonly layer: Layer.Layer<LocalQueue> = Layer.sync(LocalQueue, () => new DeliveryQueue())
}

/** The deliveries of a commit, and of the runs that it starts which have ended already. */
const deliveriesOf = ({ deliveries, starts = [] }: RunCommit): ReadonlyArray<Delivery> => {
  const further = starts.flatMap((each) => each.deliveries ?? [])
  return further.length === 0 ? deliveries : [...deliveries, ...further]
}

/** The same run store, which puts the deliveries of every successful commit into the queue. */
export const watched = (store: RunStore["Service"], queue: DeliveryQueue): RunStore["Service"] =>
  RunStore.of({
    ...store,
    commit: (commit) => {
      const deliveries = deliveriesOf(commit)
      return deliveries.length === 0
        ? store.commit(commit)
        : onSuccess(store.commit(commit), () => queue.put(deliveries))
    },
  })

/** Replaces the run store by {@link watched}. */
export const layerRunStore: Layer.Layer<RunStore, never, RunStore | LocalQueue> = Layer.effect(
  RunStore,
  Effect.gen(function* () {
    return watched(yield* RunStore, yield* LocalQueue)
  }),
)

/**
 * The same store of deliveries, which puts new ones into the queue and says when deliveries are to
 * be sent again.
 */
const watchedDeliveries = (
  store: WebhookStore["Service"],
  queue: DeliveryQueue,
): WebhookStore["Service"] => {
  const look = Effect.sync(() => queue.put([]))
  return WebhookStore.of({
    ...store,
    insert: (delivery) =>
      Effect.tap(store.insert(delivery), () => Effect.sync(() => queue.put([delivery]))),
    redeliver: (account, id) => Effect.tap(store.redeliver(account, id), look),
    redeliverFailed: (account, since) => Effect.tap(store.redeliverFailed(account, since), look),
  })
}

/** Replaces the store of deliveries by one that tells the queue. */
export const layerWebhookStore: Layer.Layer<WebhookStore, never, WebhookStore | LocalQueue> =
  Layer.effect(
    WebhookStore,
    Effect.gen(function* () {
      return watchedDeliveries(yield* WebhookStore, yield* LocalQueue)
    }),
  )
