// Runs that start later than they were accepted: when, with which graph, and with whose credits.
import { startAheadMillis } from "@millrace/core/domain/Limits"
import type { RunId } from "@millrace/core/domain/Id"
import { RunnerId } from "@millrace/core/domain/Id"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { at, book, found, fund, spends } from "./TestCredits.ts"
import { account, Gates, node, save, start } from "./TestEngine.ts"

const startAt = 60_000

const runOf = (id: RunId) => Effect.map(found(id), ({ run }) => run)

describe("a start with startAt", () => {
  it.effect("is accepted, and executed when its time has come", () =>
    Effect.gen(function* () {
      const { id } = yield* start([node("n", "pass")], [], { startAt })
      assert.deepInclude(yield* runOf(id), {
        status: "QUEUED",
        startAt,
        dueAt: startAt,
        startedAt: null,
        sequence: 0,
      })
      yield* TestClock.adjust(startAt - 1)
      assert.strictEqual((yield* runOf(id)).status, "QUEUED")
      yield* TestClock.adjust(1_001)
      const ended = yield* runOf(id)
      assert.strictEqual(ended.status, "COMPLETED")
      assert.isAtLeast(ended.startedAt!, startAt)
      assert.deepInclude(ended, { startAt, dueAt: null })
    }).pipe(at),
  )

  it.effect("starts now if its time has passed", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5_000)
      const run = yield* start([node("n", "pass")], [], { startAt: 5_000 })
      assert.deepInclude(run, { startAt: null, startedAt: 5_000 })
    }).pipe(at),
  )

  it.effect("is refused if it is more than a year ahead", () =>
    Effect.gen(function* () {
      const wish = { startAt: startAheadMillis }
      const { dueAt } = yield* start([node("n", "pass")], [], wish)
      assert.strictEqual(dueAt, startAheadMillis)
      const refused = start([node("n", "pass")], [], { startAt: startAheadMillis + 1 })
      const { message } = (yield* Effect.flip(refused)) as Error
      assert.strictEqual(message, "startAt: expected a time before 1971-01-01T00:00:00.000Z")
    }).pipe(at),
  )

  it.effect("executes the workflow as it was when the start was accepted", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("n", "pass", { input: "then" })])
      const { id } = yield* runs.start(account, { workflowId, startAt })
      const workflows = yield* Workflows
      yield* workflows.update(account, workflowId, { nodes: [node("n", "pass", { input: "now" })] })
      yield* TestClock.adjust(startAt + 1_000)
      const { nodeRuns } = yield* found(id)
      assert.deepStrictEqual(nodeRuns[0]?.output, { output: "then" })
    }).pipe(at),
  )

  it.effect("reserves its credits when it starts", () =>
    Effect.gen(function* () {
      yield* fund(5)
      const { id } = yield* start([spends("a", 3)], [], { startAt })
      assert.deepStrictEqual(yield* book, { posted: 5, reserved: 0, told: [] })
      // So another run may use them meanwhile.
      yield* start([spends("a", 2)])
      yield* TestClock.adjust(startAt + 1_000)
      assert.strictEqual((yield* runOf(id)).status, "COMPLETED")
      const { posted, told } = yield* book
      assert.strictEqual(posted, 0)
      assert.deepStrictEqual(told.slice(3), ["reserve 3", "post a 3", "void 0"])
    }).pipe(at),
  )

  it.effect("fails when it is due if its credits are not covered then, and costs nothing", () =>
    Effect.gen(function* () {
      yield* fund(5)
      const gates = yield* Gates
      const { id } = yield* start([spends("a", 4, { holds: true })], [], { startAt })
      yield* start([spends("a", 2)])
      yield* TestClock.adjust(startAt + 1_000)
      const { run, nodeRuns } = yield* found(id)
      const error = "The run was due to start, and its credits were not covered: it required 4"
      assert.deepInclude(run, { status: "FAILED", error, startedAt: null, actualCredits: 0 })
      assert.deepStrictEqual([nodeRuns, gates.arrived], [[], []])
      assert.deepStrictEqual((yield* book).told, ["reserve 2", "post a 2", "void 0"])
    }).pipe(at),
  )

  it.effect("is canceled before, and moves no credits", () =>
    Effect.gen(function* () {
      yield* fund(5)
      const runs = yield* Runs
      const { id } = yield* start([spends("a", 3)], [], { startAt })
      assert.strictEqual((yield* runs.cancel(account, id)).status, "CANCELED")
      yield* TestClock.adjust(startAt * 2)
      assert.deepInclude(yield* runOf(id), { status: "CANCELED", startedAt: null })
      assert.deepStrictEqual((yield* book).told, [])
    }).pipe(at),
  )

  it.effect("does not begin early because whoever was about to cancel it has died", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const { id } = yield* start([node("n", "pass")], [], { startAt })
      const dead = RunnerId.make("exe_dead")
      yield* store.heartbeat(dead, 1)
      yield* store.takeOver(account, id, dead)
      yield* TestClock.adjust(startAt / 2)
      assert.deepInclude(yield* runOf(id), { status: "QUEUED", owner: null, dueAt: startAt })
      yield* TestClock.adjust(startAt)
      assert.strictEqual((yield* runOf(id)).status, "COMPLETED")
    }).pipe(at),
  )
})

describe("a start with a priority", () => {
  it.effect("keeps it, and a run without one has 0", () =>
    Effect.gen(function* () {
      const priority = -10
      const { id } = yield* start([node("n", "pass")], [], { priority })
      assert.strictEqual((yield* runOf(id)).priority, priority)
      assert.strictEqual((yield* start([node("n", "pass")])).priority, 0)
    }).pipe(at),
  )
})
