// How much of a loop is computed before it is stored: a turn ends by nodes, by time or by size.
import { defaultLimits, turnCharacters } from "@millrace/core/domain/Limits"
import type { Run } from "@millrace/core/domain/Run"
import { describe, expect, it } from "vitest"
import { Turn } from "../../src/engine/internal/Turn.ts"
import { newRun } from "./PlayedRun.ts"

const definition = { id: "d", nodes: [], edges: [], settings: {} }

const limits = { ...defaultLimits, nodesPerStep: 10, millisPerStep: 50 }

/** A turn, and what the clock says. */
const make = () => {
  const clock = { now: 1_000 }
  const turn = new Turn(limits, () => clock.now)
  const add = (run: Partial<Run>) => {
    turn.begin()
    turn.add({ run: { ...newRun, ...run }, definition, credits: [] })
  }
  return { add, clock, turn }
}

describe("Turn", () => {
  it("is not over before an item was computed, however long the first one takes", () => {
    const { clock, turn } = make()
    turn.begin()
    clock.now += 1_000
    expect(turn.isOver).toBe(false)
  })

  it("ends with as many nodes as a step may have", () => {
    const { add, turn } = make()
    add({ attempts: 9 })
    expect(turn.isOver).toBe(false)
    add({ attempts: 1 })
    expect(turn.isOver).toBe(true)
  })

  it("counts an item without nodes as one", () => {
    const { add, turn } = make()
    for (let item = 0; item < 9; item++) add({ attempts: 0 })
    expect(turn.isOver).toBe(false)
    add({ attempts: 0 })
    expect(turn.isOver).toBe(true)
  })

  it("ends when a step has lasted as long as it may, from its first item", () => {
    const { add, clock, turn } = make()
    add({ attempts: 1 })
    clock.now += 49
    expect(turn.isOver).toBe(false)
    add({ attempts: 1 })
    clock.now += 1
    expect(turn.isOver).toBe(true)
  })

  it("ends when the items are as large together as a turn may be", () => {
    const { add, turn } = make()
    const values = { text: "x".repeat(turnCharacters / 2 - 2_000) }
    add({ values })
    expect(turn.isOver).toBe(false)
    add({ values })
    expect(turn.isOver).toBe(false)
    add({ values })
    expect(turn.isOver).toBe(true)
  })

  it("adds up what its items and their children have cost", () => {
    const { add, turn } = make()
    expect(turn.credits).toBe(0)
    add({ actualCredits: 5 })
    add({ actualCredits: 7, childCredits: 100 })
    expect(turn.credits).toBe(112)
  })
})
