// Which runs that have ended a process remembers, and how much of them.
import { assert, describe, it } from "@effect/vitest"
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { endedRunsKept, endedRunsSize } from "@millrace/core/domain/Limits"
import type { RunRecord } from "@millrace/core/domain/Run"
import { EndedRuns } from "../../src/engine/internal/EndedRuns.ts"
import { newRun } from "./PlayedRun.ts"
import { account } from "./TestEngine.ts"

const idOf = (number: number) => RunId.make(`run_${number}`)

/** A run that was given a text of so many characters. */
const ended = (number: number, characters = 0): RunRecord => ({
  run: {
    ...newRun,
    accountId: account,
    id: idOf(number),
    values: { text: "x".repeat(characters) },
  },
  definition: { id: "wf@1", nodes: [], edges: [], settings: {} },
  nodeRuns: [],
})

const numbersIn = (kept: EndedRuns, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, number) => number).filter(
    (number) => kept.find(account, idOf(number)) !== undefined,
  )

describe("EndedRuns", () => {
  it("gives an account its own runs and nobody else's", () => {
    const kept = new EndedRuns()
    const record = ended(0)
    kept.keep(record)
    assert.strictEqual(kept.find(account, idOf(0)), record)
    assert.isUndefined(kept.find(AccountId.make("acc_stranger"), idOf(0)))
    assert.isUndefined(kept.find(account, idOf(1)))
  })

  it("keeps no child of another run", () => {
    const kept = new EndedRuns()
    const { run, ...rest } = ended(0)
    const parent = { runId: idOf(1), nodeId: "a", index: 0, rootRunId: idOf(1), depth: 1 }
    kept.keep({ ...rest, run: { ...run, parent } })
    assert.deepStrictEqual(numbersIn(kept, 1), [])
  })

  it("forgets the older half where there are too many, and never the newer one", () => {
    const kept = new EndedRuns()
    const half = endedRunsKept / 2
    for (let number = 0; number < endedRunsKept; number++) kept.keep(ended(number))
    assert.lengthOf(numbersIn(kept, endedRunsKept), endedRunsKept)
    kept.keep(ended(endedRunsKept))
    const left = numbersIn(kept, endedRunsKept + 1)
    assert.deepStrictEqual([left[0], left.length], [half, half + 1])
  })

  it("forgets the older half where they are too large together", () => {
    const kept = new EndedRuns()
    const characters = endedRunsSize / 16 - 2_000
    for (let number = 0; number < 16; number++) kept.keep(ended(number, characters))
    assert.lengthOf(numbersIn(kept, 16), 16)
    kept.keep(ended(16, characters))
    assert.deepStrictEqual(numbersIn(kept, 17), [8, 9, 10, 11, 12, 13, 14, 15, 16])
    for (let number = 100; number < 200; number++) kept.keep(ended(number))
    assert.include(numbersIn(kept, 18), 16)
  })

  it("keeps no run that alone would take the room of many", () => {
    const kept = new EndedRuns()
    kept.keep(ended(0))
    kept.keep(ended(1, endedRunsSize / 10))
    assert.deepStrictEqual(numbersIn(kept, 2), [0])
  })
})
