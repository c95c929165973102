import { assert, describe, it } from "@effect/vitest"
import { RunnerId } from "@millrace/core/domain/Id"
import type { Loss } from "@millrace/core/domain/Loss"
import { sentenceOf } from "@millrace/core/domain/Loss"

const runner = RunnerId.make("exe_1")
const died = (...nodes: ReadonlyArray<number>): Loss => ({
  runner,
  lostAt: 1,
  nodes,
  cause: "died",
})
const blocked = (millis: number, ...nodes: ReadonlyArray<number>): Loss => ({
  ...died(...nodes),
  cause: "blocked",
  millis,
})

const nodes = [{ id: "fetch" }, { id: "resize" }, { id: "store" }]
const sentence = (losses: ReadonlyArray<Loss>) => sentenceOf(losses, nodes)

describe("Loss.sentenceOf", () => {
  it("names the node that was in progress, and how often its process died", () => {
    const once = 'its process died once while node "resize" was in progress'
    assert.strictEqual(sentence([died(1)]), once)
    const often = 'its process died 5 times while node "resize" was in progress'
    assert.strictEqual(sentence(Array.from({ length: 5 }, () => died(1))), often)
  })

  it("tells blocks from deaths, with the longest", () => {
    const losses = [died(1), died(1), blocked(12_345, 1), died(1), died(1)]
    const mixed =
      'its process died 4 times and was blocked for 12 s once while node "resize" was in progress'
    assert.strictEqual(sentence(losses), mixed)
    const twice =
      'its process was blocked for up to 2.5 s 2 times while node "fetch" was in progress'
    assert.strictEqual(sentence([blocked(900, 0), blocked(2_540, 0)]), twice)
  })

  it("tells apart what happened while other nodes were in progress", () => {
    const losses = [died(0, 1, 2), died(1), died(1)]
    const three = 'nodes "fetch", "resize" and "store" were in progress'
    const rest = 'it died 2 times while node "resize" was in progress'
    const all = `its process died once while ${three}; ${rest}`
    assert.strictEqual(sentence(losses), all)
  })
})
