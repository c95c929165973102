/**
 * What the example workflows do.
 */
import type { Json } from "@millrace/core/domain/Json"
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { diamond } from "../../src/internal/demo/Diamond.ts"
import { Digest } from "../../src/internal/demo/Digest.ts"
import { hello } from "../../src/internal/demo/Hello.ts"
import { goodDay, orderDigest } from "../../src/internal/demo/OrderDigest.ts"
import type { Order } from "../OrderFile.ts"
import { expectedOf, orders } from "../OrderFile.ts"
import * as Stage from "./Stage.ts"
import { Schema } from "effect"

const decodeDigest = Schema.decodeUnknownSync(Digest)

describe("orders.json", () => {
  it("holds a few hundred orders whose totals are what was ordered", () => {
    assert.isAbove(orders.length, 300)
    assert.strictEqual(new Set(orders.map(({ id }) => id)).size, orders.length)
    for (const { price, quantity, total } of orders) {
      assert.strictEqual(Math.round(price * 100) * quantity, Math.round(total * 100))
    }
    const statuses = new Set(orders.map(({ status }) => status))
    assert.deepStrictEqual([...statuses].toSorted(), ["cancelled", "paid", "pending", "refunded"])
  })
})

layer(Stage.layer, { excludeTestServices: true })("example workflows", (it) => {
  it.effect("Hello greets the world, or whoever is named", () =>
    Effect.gen(function* () {
      const { run } = yield* Stage.Stage
      assert.strictEqual((yield* run(hello)).run.output, "Hello, world!")
      const named = yield* run(hello, { values: { name: "Ada" } })
      assert.strictEqual(named.run.output, "Hello, Ada!")
    }),
  )

  it.effect("Diamond takes one arm and skips the other", () =>
    Effect.gen(function* () {
      const { run } = yield* Stage.Stage
      const large = yield* run(diamond, { values: { amount: 250 } })
      assert.strictEqual(large.run.output, "250 needs a second pair of eyes")
      assert.include(Stage.statusesOf(large), { large: "COMPLETED", small: "SKIPPED" })
      const small = yield* run(diamond, { values: { amount: 20 } })
      assert.strictEqual(small.run.output, "20 is fine as it is")
      assert.include(Stage.statusesOf(small), { large: "SKIPPED", small: "COMPLETED" })
    }),
  )

  it.effect("Order digest adds up exactly what the file says, to the cent", () =>
    Effect.gen(function* () {
      const { run } = yield* Stage.Stage
      const record = yield* run(orderDigest)
      assert.strictEqual(record.run.error, null)
      const { headline, ...digest } = decodeDigest(record.run.output)
      const expected = expectedOf(orders)
      assert.deepStrictEqual(digest, expected)
      assert.isAtLeast(expected.total, goodDay)
      const sentence = `A good day: ${expected.total} euro from ${expected.orders} paid orders`
      assert.strictEqual(headline, sentence)
      assert.include(Stage.statusesOf(record), { good_day: "COMPLETED", slow_day: "SKIPPED" })
    }),
  )

  it.effect("Order digest calls a day slow that is below the mark", () =>
    Effect.gen(function* () {
      const { run } = yield* Stage.Stage
      const few: ReadonlyArray<Order> = orders.slice(0, 40)
      const graphInputOverrides = { paid: { items: few as unknown as Json } }
      const record = yield* run(orderDigest, { graphInputOverrides })
      const { headline, ...digest } = decodeDigest(record.run.output)
      assert.deepStrictEqual(digest, expectedOf(few))
      assert.match(headline, /^A slow day: only /)
      assert.include(Stage.statusesOf(record), { good_day: "SKIPPED", slow_day: "COMPLETED" })
    }),
  )

  it.effect("Order digest may call no other port of this machine", () =>
    Effect.gen(function* () {
      const { run } = yield* Stage.Stage
      const values = { orders: "http://127.0.0.1:1/demo/orders.json" }
      const { run: ended } = yield* run(orderDigest, { values })
      assert.strictEqual(ended.status, "FAILED")
      assert.match(ended.error ?? "", /^Node "fetch" failed: Port 1 may not be called/)
    }),
  )
})
