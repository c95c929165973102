// What one step does with nodes without effects, given what calling them comes to.
import { assert, describe, it } from "@effect/vitest"
import type { AttemptOutcome } from "../../src/engine/internal/Attempt.ts"
import type { Compute } from "../../src/engine/internal/ComputedNodes.ts"
import type { Different } from "./PlayedRun.ts"
import { message, node, passed, play, received } from "./PlayedRun.ts"

/** A gate whose end the test tells, and so many nodes without effects that wait for it. */
const behindGate = (count: number, different: Different = {}) => {
  const ids = Array.from({ length: count }, (_, n) => `p${n}`)
  const nodes = [node("gate", "step"), ...ids.map((id) => node(id, "pure"))]
  const run = play(
    nodes,
    ids.map((id) => `gate -> ${id}`),
    different,
  )
  run.step(1)
  return run
}

/** Handlers that end as soon as they are called. */
const ends =
  (more: object): Compute =>
  ({ attempt, index }, now) =>
    ({ index, attempt, logs: null, charged: null, at: now, ...more }) as AttemptOutcome

const completes = ends({ _tag: "Completed", output: passed })

describe("a step that computes", () => {
  it("calls no handler beyond the slots while handlers go on", () => {
    const called: Array<number> = []
    const compute: Compute = ({ index }) => void called.push(index)
    const run = behindGate(4, { limits: { nodesAtOnce: 2 } })
    const { commit, started } = run.step(2, [run.completes("gate", 2)], { compute })
    assert.deepStrictEqual(run.names(commit.run.active), ["p0", "p1"])
    assert.deepStrictEqual([called.length, started.length], [2, 0])
    assert.deepStrictEqual([commit.run.attempts, commit.run.nodeRunCount], [3, 3])
    const next = run.step(3, [run.completes("p0", 3)], { compute: completes })
    assert.deepStrictEqual(
      next.commit.nodeRuns.map(({ nodeId }) => nodeId),
      ["p0", "p2", "p3"],
    )
  })

  it("gives a message that is there to what comes to wait for it", () => {
    const run = behindGate(1)
    run.step(2, [received(message(1, "go"))])
    const compute = ends({ _tag: "Suspended", wait: { for: "go" }, state: 7 })
    const { commit, started } = run.step(3, [run.completes("gate", 3)], { compute })
    assert.deepStrictEqual(run.names(started), ["p0"])
    assert.deepInclude(started[0], { message: 1, state: 7, attempt: 1 })
    assert.deepStrictEqual(commit.run.waiting, [])
    assert.deepStrictEqual(
      commit.taken?.map(({ number }) => number),
      [1],
    )
    assert.deepStrictEqual([commit.run.attempts, commit.run.nodeRunCount], [2, 2])
  })
})
