// What a new owner does first with a run: gives it up, ends what is unknown, or goes on with it.
import { RunnerId } from "@millrace/core/domain/Id"
import { defaultLimits, lossesPerRun } from "@millrace/core/domain/Limits"
import type { Loss } from "@millrace/core/domain/Loss"
import type { Message } from "@millrace/core/domain/Message"
import type { Run } from "@millrace/core/domain/Run"
import type { Compiled } from "@millrace/core/engine/GraphCache"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { prepare } from "../../src/engine/internal/FirstStep.ts"
import type { PlayedRun } from "./PlayedRun.ts"
import { chain, message, node, play, retried } from "./PlayedRun.ts"

const environment = { limits: defaultLimits, random: () => 0.5 }

/** The first step of the next owner. */
const first = (
  run: PlayedRun,
  now: number,
  more: {
    run?: Partial<Run>
    messages?: ReadonlyArray<Message>
    graph?: Compiled
    isDraining?: boolean
  } = {},
) => {
  const { graph = Result.succeed(run.graph), isDraining = false, messages } = more
  const record = { ...run.stored, run: { ...run.stored.run, ...more.run } }
  return prepare(record, graph, { ...environment, now }, { messages, isDraining: () => isDraining })
}

const died: Loss = { runner: RunnerId.make("exe_dead"), lostAt: 1, nodes: [0], cause: "died" }
const losses = (count: number) => Array.from({ length: count }, () => died)

const begun = (...nodes: Parameters<typeof play>) => {
  const run = play(...nodes)
  run.step(1)
  return run
}

describe("the first step of a new owner", () => {
  it("gives up a run that has lost as many owners as it may, and says what they did", () => {
    const run = begun(chain("a").nodes)
    const { first: step, progress } = first(run, 9, { run: { losses: losses(lossesPerRun) } })
    assert.isUndefined(progress)
    assert.deepStrictEqual([step.started, step.stopped], [[], []])
    assert.deepInclude(step.commit.run, { status: "FAILED", finishedAt: 9 })
    const story = 'its process died 5 times while node "a" was in progress'
    assert.strictEqual(step.commit.run.error, `The run was given up: ${story}`)
    const again = first(run, 9, { run: { losses: losses(lossesPerRun - 1) } })
    assert.deepStrictEqual(run.names(again.first.started), ["a#2"])
  })

  it("starts nothing in a process that stops", () => {
    const run = begun(chain("a").nodes)
    const { first: step, progress } = first(run, 9, { isDraining: true })
    assert.deepStrictEqual([step.started, step.commit.run.active], [[], []])
    assert.strictEqual(progress?.run.status, "RUNNING")
    assert.deepStrictEqual(run.names(first(run, 9).first.started), ["a#2"])
  })

  it("gives up a run whose graph cannot be executed here, with every reason", () => {
    const run = begun(chain("a").nodes)
    const graph = Result.fail([{ message: "no type" }, { message: "no port" }])
    const { first: step, progress } = first(run, 9, { graph })
    assert.isUndefined(progress)
    assert.deepInclude(step.commit.run, {
      status: "FAILED",
      error: "The run cannot be executed: no type; no port",
    })
  })

  it("fails an attempt that may be made once only, whatever its policy says", () => {
    const run = begun([node("n", "once", {}, retried(5)), node("b", "step")])
    const { first: step } = first(run, 9)
    assert.deepStrictEqual(run.names(step.started), ["b#2"])
    assert.deepInclude(step.commit.nodeRuns[0], {
      nodeId: "n",
      status: "FAILED",
      attempt: 1,
      logs: null,
      credits: 0,
      error: "the outcome of attempt 1 is unknown: its process stopped",
      finishedAt: 9,
    })
  })

  it("keeps what earlier attempts of such a node have logged", () => {
    const run = begun([node("n", "once"), node("b", "step")])
    const logs = [{ at: 2, level: "info" as const, message: "asleep", attempt: 1 }]
    run.step(2, [run.suspends("n", 2, { until: 50 }, { logs })])
    run.step(50, [run.due("n")])
    const { first: step } = first(run, 90)
    assert.deepStrictEqual(step.commit.rewritten[0]?.logs, logs)
  })

  it("ends a wait for a message whose time is over, and no earlier one", () => {
    const run = begun(chain("a", "b").nodes)
    run.step(2, [run.suspends("a", 2, { for: "go", until: 50 })])
    assert.deepStrictEqual(run.names(first(run, 49).first.started), ["b#2"])
    const over = first(run, 50).first
    assert.deepStrictEqual(run.names(over.started).toSorted(), ["a", "b#2"])
    assert.isUndefined(over.started.find(({ index }) => index === 0)?.message)
    // As late as the store says, whatever the owner's own clock shows.
    const parked = first(run, 9, { run: { dueAt: 50 } }).first
    assert.strictEqual(parked.started.length, 2)
  })

  it("gives a node the message that came before its time was over", () => {
    const run = begun(chain("a", "b").nodes)
    run.step(2, [run.suspends("a", 2, { for: "go", until: 50 })])
    const { first: step } = first(run, 90, { messages: [message(1, "go", 40)] })
    assert.deepStrictEqual(step.commit.taken, [{ number: 1, nodeId: "a" }])
  })

  it("ends a run whose time is up, and no earlier one", () => {
    const settings = { timeoutMillis: 1_000 }
    const run = begun(chain("a").nodes, [], { settings })
    assert.strictEqual(first(run, 1_000).first.commit.run.status, "RUNNING")
    const over = first(run, 1_001).first.commit.run
    assert.deepInclude(over, { status: "FAILED", error: "The run timed out after 1s" })
    const parked = first(run, 9, { run: { dueAt: 1_001 } }).first.commit.run
    assert.strictEqual(parked.status, "FAILED")
  })

  it("parks a run again that was woken too early", () => {
    const run = begun(chain("a").nodes)
    run.step(2, [run.suspends("a", 2, { until: 60_000 })])
    const { commit, started } = first(run, 90, { run: { dueAt: null } }).first
    assert.deepStrictEqual(started, [])
    assert.strictEqual(commit.run.dueAt, 60_000)
    // It keeps one that is due within a second.
    const soon = first(run, 59_000, { run: { dueAt: null } }).first
    assert.strictEqual(soon.commit.run.dueAt, null)
  })
})
