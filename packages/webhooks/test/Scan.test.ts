/**
 * What only looks can find: on the test clock, with a store whose looks take their time, while
 * attempts begin and end.
 */
import { assert, describe, expect, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import type { DueRequest } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Scan, takenUp } from "../src/internal/Scan.ts"
import { Concurrency } from "../src/internal/Concurrency.ts"
import type { Receive } from "./Harness.ts"
import { account, answer, claimFor, delivery, dispatcher, receiver, services } from "./Harness.ts"

const recorded = Effect.repeat(Effect.yieldNow, { times: 100 })

/** The store that is there, but what a look has taken is heard of only after a while. */
const slowLooks = (requests: Array<DueRequest>) =>
  Layer.effect(
    WebhookStore,
    WebhookStore.useSync((store) =>
      WebhookStore.of({
        ...store,
        claimDue: (request) => {
          requests.push(request)
          return Effect.tap(store.claimDue(request), () => Effect.sleep(20))
        },
      }),
    ),
  )

/** Takes 5, 15, 25 and 35 ms in turn, so that slots come free one after the other. */
const makeReceiver = () => {
  let calls = 0
  const receive: Receive = () => Effect.as(Effect.sleep(5 + 10 * (calls++ % 4)), answer(200))
  return receiver(receive)
}

const pass = Effect.fnUntraced(function* (millis: number) {
  for (let passed = 0; passed < millis; passed += 5) {
    yield* Effect.andThen(TestClock.adjust(5), recorded)
  }
})

describe("Dispatcher.layer, over a backlog", () => {
  it.effect("goes on looking while it finds as many as it has room for, and no longer", () =>
    Effect.gen(function* () {
      const requests: Array<DueRequest> = []
      const store = yield* WebhookStore
      for (let n = 0; n < 60; n++) yield* store.insert(delivery())
      const sends = dispatcher(makeReceiver(), { perOrigin: 4, pollMillis: 60_000 })
      yield* Layer.build(Layer.provide(sends, slowLooks(requests)))
      yield* pass(1_000)
      const { items } = yield* store.list({ account: null, limit: 100 })
      assert.isTrue(items.every(({ state }) => state === "DELIVERED"))
      // Slots that come free one by one are looked for together, and the last looks find nothing.
      assert.isAtMost(requests.length, 40)
      const before = requests.length
      yield* pass(1_000)
      assert.strictEqual(requests.length, before)
    }).pipe(Effect.provide(services)),
  )
})

const [a, b] = ["https://a.example", "https://b.example"]
const other = AccountId.make("acc_2")

const bounds = { perOrigin: 2, perAccount: 3 }
const request = { ...bounds, limit: 10, busy: [], visibilityMillis: 1 }

describe("Scan.takenUp", () => {
  it("names origins and accounts that have all they may, with what was in hand before", () => {
    const busy = [{ accountId: account, origin: a, count: 1 }]
    const claims = [claimFor(account, a), claimFor(account, b)]
    expect(takenUp({ ...request, busy }, claims)).toEqual({
      limit: false,
      origins: [a],
      accounts: [account],
    })
    expect(takenUp(request, claims)).toEqual({ limit: false, origins: [], accounts: [] })
  })

  it("names nobody of whom nothing was found, and says when the limit was reached", () => {
    const busy = [{ accountId: account, origin: a, count: 3 }]
    expect(takenUp({ ...request, busy, limit: 1 }, [claimFor(other, b)])).toEqual({
      limit: true,
      origins: [],
      accounts: [],
    })
    expect(takenUp({ ...request, busy }, [])).toEqual({ limit: false, origins: [], accounts: [] })
  })
})

describe("Scan.hasRoom", () => {
  const make = () => {
    const slots = new Concurrency({ ...bounds, atOnce: 4 })
    return { slots, scan: new Scan(slots), partition: { accountId: account, origin: a } }
  }

  it("is true once there is room for whoever may have more, until that is looked for", () => {
    const { scan, partition, slots } = make()
    expect(scan.hasRoom).toBe(false)
    slots.take(partition)
    slots.take(partition)
    scan.note(request, [claimFor(account, a), claimFor(account, a)])
    expect(scan.hasRoom).toBe(false)
    // Without room for them a look says nothing of them.
    scan.ask()
    slots.release(partition)
    expect([scan.hasRoom, scan.hasRoomFor(partition)]).toEqual([true, true])
    expect(scan.hasRoomFor({ accountId: other, origin: b })).toBe(false)
    scan.ask()
    expect(scan.hasRoom).toBe(false)
  })

  it("is true of an account wherever it goes, and of anybody once the limit was reached", () => {
    const { scan, partition, slots } = make()
    scan.note({ ...request, perAccount: 1 }, [claimFor(account, a)])
    expect(scan.hasRoomFor({ ...partition, origin: b })).toBe(true)
    expect(scan.hasRoomFor({ accountId: other, origin: b })).toBe(false)
    scan.note({ ...request, limit: 1 }, [claimFor(account, a)])
    expect(scan.hasRoomFor({ accountId: other, origin: b })).toBe(true)
    for (let n = 0; n < 4; n++) slots.take({ accountId: other, origin: `https://${n}.example` })
    expect(scan.hasRoom).toBe(false)
  })
})
