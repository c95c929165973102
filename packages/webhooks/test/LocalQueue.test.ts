/**
 * What a process keeps of its own deliveries while no dispatcher listens.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import { describe, expect, it } from "@effect/vitest"
import type { RunCommit, StartedRun } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Effect } from "effect"
import { DeliveryQueue, watched } from "../src/LocalQueue.ts"
import { delivery, services } from "./Harness.ts"

const many = (count: number) => Array.from({ length: count }, () => delivery())

/** Listens, and gives what is handed over. */
const listen = (queue: DeliveryQueue) => {
  const heard: Array<Delivery> = []
  return { heard, ignore: queue.listen((deliveries) => heard.push(...deliveries)) }
}

describe("DeliveryQueue.listen", () => {
  it("hands over what was put in before, and then what comes, each once and in its order", () => {
    const queue = new DeliveryQueue()
    const [first, second, third] = [many(3), many(2), many(2)]
    queue.put(first)
    queue.put(second)
    const { heard, ignore } = listen(queue)
    expect(heard).toEqual([...first, ...second])
    queue.put(third)
    expect(heard).toEqual([...first, ...second, ...third])
    ignore()
    const later = many(1)
    queue.put(later)
    expect(listen(queue).heard).toEqual(later)
    expect(heard).toHaveLength(7)
  })

  it("hands over to the last listener, also after an earlier one has ended", () => {
    const queue = new DeliveryQueue()
    const [one, other] = [listen(queue), listen(queue)]
    one.ignore()
    const all = many(2)
    queue.put(all)
    expect([one.heard, other.heard]).toEqual([[], all])
  })
})

describe("DeliveryQueue.put", () => {
  it("keeps 10,000, or 16 Mi characters of bodies, while nobody listens", () => {
    const queue = new DeliveryQueue()
    queue.put(many(10_001))
    const first = listen(queue)
    expect(first.heard).toHaveLength(10_000)
    first.ignore()
    const large = { ...delivery(), body: "x".repeat(4_194_304) }
    queue.put(Array.from({ length: 6 }, () => large))
    const second = listen(queue)
    expect(second.heard).toHaveLength(4)
    second.ignore()
    queue.put([large])
    expect(listen(queue).heard).toHaveLength(1)
  })
})

describe("LocalQueue.watched", () => {
  it.effect("puts in what a commit has stored, and nothing of one that fails", () =>
    Effect.gen(function* () {
      const away = new StorageError({ operation: "commit", cause: "away" })
      const given: Array<unknown> = []
      const store = yield* RunStore
      const queue = new DeliveryQueue()
      const { heard } = listen(queue)
      const commitOf = (
        deliveries: ReadonlyArray<Delivery>,
        ...ofStarts: ReadonlyArray<ReadonlyArray<Delivery>>
      ) => {
        const starts = ofStarts.map((own) => ({ deliveries: own }) as StartedRun)
        return { deliveries, starts } as Partial<RunCommit> as RunCommit
      }
      const good = watched(
        RunStore.of({ ...store, commit: (commit) => Effect.sync(() => void given.push(commit)) }),
        queue,
      )
      const all = many(5)
      yield* good.commit(commitOf(all.slice(0, 2)))
      yield* good.commit(commitOf([], []))
      yield* good.commit(commitOf(all.slice(2, 3), [], all.slice(3, 4), all.slice(4)))
      expect([heard, given.length]).toEqual([all, 3])
      const bad = watched(RunStore.of({ ...store, commit: () => Effect.fail(away) }), queue)
      yield* Effect.flip(bad.commit(commitOf(many(1))))
      expect(heard).toEqual(all)
    }).pipe(Effect.provide(services)),
  )
})
