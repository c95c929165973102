/**
 * What was just stored in this process, for the dispatcher of this process: a first attempt need
 * not wait until somebody looks.
 *
 * Guarantees: what is put in here is stored already; nothing is lost if nobody takes it out, if it
 * is full, or if the process dies, because the dispatchers look for what is due from time to time.
 * Mutable; every method is one synchronous step.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { DeliveryId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Context, Effect, Layer } from "effect"
import type { Lane } from "./Slots.ts"

/** Beyond so many nothing more is remembered here. */
const mostWaiting = 10_000

interface Line extends Lane {
  readonly ids: Array<DeliveryId>
  next: number
}

/** Deliveries that wait for a first attempt, in a line for each lane. */
export class Letters {
  readonly #lines = new Map<string, Line>()
  #count = 0
  #hasOverflown = false
  #listener: () => void = () => undefined

  /** Calls back when something was put in. */
  onArrival(listener: () => void): void {
    this.#listener = listener
  }

  put(deliveries: ReadonlyArray<Delivery>): void {
    if (deliveries.length === 0) return
    for (const { accountId, id, origin } of deliveries) {
      if (this.#count >= mostWaiting) {
        this.#hasOverflown = true
        break
      }
      const key = `${accountId} ${origin}`
      const line = this.#lines.get(key)
      if (line === undefined) this.#lines.set(key, { accountId, origin, ids: [id], next: 0 })
      else line.ids.push(id)
      this.#count += 1
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
    reserve: (lane: Lane) => Place | undefined,
  ): ReadonlyArray<{ readonly id: DeliveryId; readonly place: Place }> {
    const taken: Array<{ id: DeliveryId; place: Place }> = []
    let going = [...this.#lines]
    while (going.length > 0) {
      const left: typeof going = []
      for (const [key, line] of going) {
        const place = taken.length < most ? reserve(line) : undefined
        if (place === undefined) continue
        taken.push({ id: line.ids[line.next]!, place })
        this.#count -= 1
        line.next += 1
        // To the end of the turn, so that no line comes first for ever.
        this.#lines.delete(key)
        if (line.next === line.ids.length) continue
        this.#lines.set(key, line)
        left.push([key, line])
      }
      going = left
    }
    return taken
  }
}

export class Mailbox extends Context.Service<Mailbox, Letters>()("@millrace/webhooks/Mailbox") {
  /** An empty one. */
  static readonly layer: Layer.Layer<Mailbox> = Layer.sync(Mailbox, () => new Letters())
}

/** The same run store; but the mailbox hears of the deliveries of every commit that was stored. */
export const watched = (store: RunStore["Service"], mailbox: Letters): RunStore["Service"] =>
  RunStore.of({
    ...store,
    commit: (commit) =>
      commit.deliveries.length === 0
        ? store.commit(commit)
        : Effect.tap(store.commit(commit), () => Effect.sync(() => mailbox.put(commit.deliveries))),
  })

/** {@link watched} over the run store that is there. */
export const layerRunStore: Layer.Layer<RunStore, never, RunStore | Mailbox> = Layer.effect(
  RunStore,
  Effect.gen(function* () {
    return watched(yield* RunStore, yield* Mailbox)
  }),
)
