// How accounts share a claim: by turns, and no sequence is looked at before its turn.
import { byTurns } from "@millrace/core/domain/FairTurns"
import { assert, describe, it } from "@effect/vitest"

describe("FairTurns.byTurns", () => {
  it("gives the first of each, then the second of each, and leaves out those that are over", () => {
    const turns = byTurns([["a1"], [], ["b1", "b2", "b3"], ["c1", "c2"]])
    assert.deepStrictEqual([...turns], ["a1", "b1", "c1", "b2", "c2", "b3"])
    assert.deepStrictEqual([...byTurns([])], [])
  })

  it("looks at nothing before its turn comes", () => {
    const looked: Array<string> = []
    const sequence = function* (name: string) {
      for (const turn of [1, 2]) {
        looked.push(`${name}${turn}`)
        yield `${name}${turn}`
      }
    }
    const turns = byTurns([sequence("a"), sequence("b")])[Symbol.iterator]()
    assert.strictEqual(turns.next().value, "a1")
    assert.deepStrictEqual(looked, ["a1"])
    turns.next()
    turns.next()
    assert.deepStrictEqual(looked, ["a1", "b1", "a2"])
  })
})
