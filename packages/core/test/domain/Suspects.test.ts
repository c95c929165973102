// Runs that have lost owners: what counts as a loss, which suspects a claim takes, and what is
// taken back.
import { RunId, RunnerId } from "@millrace/core/domain/Id"
import { lossesPerRun, suspectsAtOnce } from "@millrace/core/domain/Limits"
import type { Loss } from "@millrace/core/domain/Loss"
import { lineGate, lossesWith, lossesWithBlock, takenBack } from "@millrace/core/domain/Suspects"
import { assert, describe, it } from "@effect/vitest"

const [dead, alive] = [RunnerId.make("exe_dead"), RunnerId.make("exe_alive")]
const active = [3, 5].map((ordinal) => ({ ordinal, attempt: 1, startedAt: 0 }))
const died: Loss = { runner: dead, lostAt: 7, nodes: [3, 5], cause: "died" }
const full = Array.from({ length: lossesPerRun }, () => died)

describe("Suspects.lossesWith", () => {
  it("adds the loss of an owner that died while nodes were in progress", () => {
    const run = { owner: dead, losses: [], active }
    assert.deepStrictEqual(lossesWith(run, alive, 7), [died])
    assert.deepStrictEqual(lossesWith({ ...run, losses: [died] }, alive, 7), [died, died])
  })

  it("adds none where there was no owner, the owner is the same or alive, or nothing ran", () => {
    const losses = [died]
    const run = { owner: dead, losses, active }
    assert.strictEqual(lossesWith({ ...run, owner: null }, alive, 7), losses)
    assert.strictEqual(lossesWith(run, dead, 7), losses)
    assert.strictEqual(lossesWith(run, alive, undefined), losses)
    assert.strictEqual(lossesWith({ ...run, active: [] }, alive, 7), losses)
  })

  it("keeps no more losses than the limit", () => {
    const almost = full.slice(1)
    assert.lengthOf(lossesWith({ owner: dead, losses: almost, active }, alive, 7), lossesPerRun)
    assert.strictEqual(lossesWith({ owner: dead, losses: full, active }, alive, 7), full)
  })
})

describe("Suspects.lossesWithBlock", () => {
  it("adds a loss by a block, where nodes were in progress", () => {
    const run = { owner: dead, losses: [died], active }
    const blocked = { run: RunId.make("run_1"), millis: 9_000 }
    assert.deepStrictEqual(lossesWithBlock(run, alive, blocked, 8), [
      died,
      { runner: alive, lostAt: 8, nodes: [3, 5], cause: "blocked", millis: 9_000 },
    ])
    const idle = { ...run, active: [] }
    assert.strictEqual(lossesWithBlock(idle, alive, blocked, 8), idle.losses)
    const most = { ...run, losses: full }
    assert.strictEqual(lossesWithBlock(most, alive, blocked, 8), full)
  })
})

describe("Suspects.lineGate", () => {
  const owned = (...counts: ReadonlyArray<number>) =>
    counts.map((count) => ({ losses: Array.from({ length: count }, () => died) }))
  const taken = (have: ReadonlyArray<number>, suspects: ReadonlyArray<number>) =>
    suspects.map(lineGate(owned(...have)))

  it("lets a runner have some suspects with one loss at once", () => {
    const line = Array.from({ length: suspectsAtOnce + 1 }, () => 1)
    const expected = line.map((_, index) => index < suspectsAtOnce)
    assert.deepStrictEqual(taken([0, 0], line), expected)
    assert.deepStrictEqual(taken([1], line), [...expected.slice(1), false])
  })

  it("lets it have a suspect with several losses only alone", () => {
    assert.deepStrictEqual(taken([0], [2, 1]), [true, false])
    assert.deepStrictEqual(taken([], [1, 2]), [true, false])
    assert.deepStrictEqual(taken([1], [2]), [false])
    assert.deepStrictEqual(taken([2], [1]), [false])
    assert.deepStrictEqual(taken([2], [2]), [false])
    assert.deepStrictEqual(taken([0, 0], [3]), [true])
  })

  it("takes no later suspect before an earlier one", () => {
    assert.deepStrictEqual(taken([1], [2, 1]), [false, false])
  })
})

describe("Suspects.takenBack", () => {
  const run = { id: RunId.make("run_1"), losses: [died, { ...died, runner: alive }] }

  it("removes the deaths of a runner that is alive, and no others", () => {
    assert.deepStrictEqual(takenBack(run, dead, undefined), [{ ...died, runner: alive }])
    const block: Loss = { ...died, cause: "blocked", millis: 1 }
    const blocked = { ...run, losses: [block] }
    assert.deepStrictEqual(takenBack(blocked, dead, undefined), [block])
  })

  it("makes them blocks where the run has blocked the runner", () => {
    const own = takenBack(run, dead, { run: run.id, millis: 4_000 })
    assert.deepStrictEqual(own[0], { ...died, cause: "blocked", millis: 4_000 })
    const another = takenBack(run, dead, { run: RunId.make("run_2"), millis: 4_000 })
    assert.lengthOf(another, 1)
  })
})
