// What makes the concurrency key of a run, and what is refused.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { concurrencyKeyOf } from "../../src/graph/internal/ConcurrencyKey.ts"

const values = { customer: "acme", order: { id: 7, lines: [{ sku: "a" }] }, gone: null, yes: true }

const keyOf = (text: string) => Result.merge(concurrencyKeyOf(text, values))

describe("a concurrency key", () => {
  it("is a text, in which plain paths stand for values of the run", () => {
    assert.strictEqual(keyOf("all"), "all")
    assert.strictEqual(keyOf("{{ values.customer }}"), "acme")
    assert.strictEqual(keyOf("{{ values.customer }}/{{ values.order.id }}"), "acme/7")
    assert.strictEqual(keyOf('{{ values["order"].lines[0].sku }}-{{ values.yes }}'), "a-true")
    assert.strictEqual(keyOf("k".repeat(255)), "k".repeat(255))
  })

  const refused: ReadonlyArray<[string, RegExp]> = [
    ["{{ fetch.id }}", /^\{\{ fetch\.id }} is no plain path of the run's values; write, for/],
    ["{{ values.customer.trim() }}", /is no plain path of the run's values/],
    ["{{ values.a + values.b }}", /is no plain path of the run's values/],
    ["{{ secrets.token }}", /is no plain path of the run's values/],
    ["{{ values.other }}", /^\{\{ values\.other }}: "values\.other" is undefined$/],
    ["{{ values.gone }}", /^\{\{ values\.gone }}: "values\.gone" is null$/],
    ["{{ values.gone.more }}", /"values\.gone" is null, so it has no "more"$/],
    ["{{ values.order }}", /^\{\{ values\.order }}: expected a text, a number, true or false$/],
    ["{{ values.customer", /^\{\{ is never closed/],
    ["{{ }}", /holds no expression/],
    ['{{ "" }}', /^the key is empty$/],
    ["k".repeat(256), /^the key has 256 characters; the limit is 255$/],
  ]
  for (const [text, problem] of refused) {
    it(`is refused for ${text.slice(0, 40)}`, () => {
      assert.isTrue(Result.isFailure(concurrencyKeyOf(text, values)))
      assert.match(keyOf(text), problem)
    })
  }
})
