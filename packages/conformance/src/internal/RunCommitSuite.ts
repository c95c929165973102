/**
 * What every run store must do with a commit: the fence, the revision, all or nothing, and that
 * what is terminal stays so.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { RunId } from "@millrace/core/domain/Id"
import type { Run, RunRecord, RunStatus } from "@millrace/core/domain/Run"
import { RunStore, type RunCommit } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

/** The outcome of a commit as a value. */
const outcome = Effect.fnUntraced(function* (commit: RunCommit) {
  const store = yield* RunStore
  return yield* store.commit(commit).pipe(
    Effect.as("applied" as const),
    Effect.catchTag("StaleRun", (stale) => Effect.succeed(stale)),
  )
})

const assertStale = Effect.fnUntraced(function* (commit: RunCommit) {
  const result = yield* outcome(commit)
  assert.notStrictEqual(result, "applied")
  if (result !== "applied") assert.strictEqual(result.runId, commit.run.id)
})

/** Everything that a store knows of a run, to see that nothing of it changed. */
const everything = Effect.fnUntraced(function* (run: Run) {
  const store = yield* RunStore
  const record = Option.getOrUndefined(yield* store.find(run.accountId, run.id))
  return { record, events: yield* store.events(run.accountId, run.id, 0) }
})

/** A running run with a node run and an event, and a commit that would change all of it. */
const running = Effect.fnUntraced(function* (samples: Samples.Samples, status: RunStatus) {
  const store = yield* RunStore
  const owner = samples.runner()
  const run = samples.run({ status: "RUNNING", owner, fence: 3, revision: 1, sequence: 1 })
  const first = { nodeRuns: [Samples.nodeRun("a")], events: [Samples.event(run, 1)] }
  yield* store.commit(Samples.newRun(run, first))
  const change = { status, actualCredits: 7, sequence: 2, finishedAt: Samples.epoch + 99 }
  const next = Samples.step(run, change, {
    nodeRuns: [Samples.nodeRun("c", { ordinal: 2 }), Samples.nodeRun("b", { ordinal: 1 })],
    events: [Samples.event(run, 2)],
  })
  return { run, next }
})

const newRuns = (it: Tests): void => {
  it.effect("stores a new run with its definition, node runs and events", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run({
        status: "RUNNING",
        mode: "single",
        source: "mcp",
        singleNodeId: "a",
        rerunOf: RunId.make("run_before"),
        parent: {
          runId: RunId.make("run_above"),
          nodeId: "a",
          index: 2,
          rootRunId: RunId.make("run_root"),
          depth: 2,
        },
        after: { runId: RunId.make("run_ended"), depth: 3 },
        priority: -7,
        startAt: Samples.epoch + 4,
        concurrencyKey: "a key",
        concurrency: 12,
        owner: samples.runner(),
        startedAt: Samples.epoch + 5,
        viewport: { x: -1.5, y: 2, zoom: 0.25 },
        inputOverrides: { b: { message: "hi" } },
        nodeRunCount: 2,
        sequence: 2,
        fence: 4,
      })
      const nodeRuns = [
        Samples.nodeRun("b", { ordinal: 1, status: "WAITING", output: null, finishedAt: null }),
        Samples.nodeRun("a"),
      ]
      const events = [Samples.event(run, 1, { type: "run.started" }), Samples.event(run, 2)]
      yield* store.commit(Samples.newRun(run, { nodeRuns, events }))
      const expected: RunRecord = {
        run,
        definition: Samples.definitionFor(run),
        nodeRuns: nodeRuns.toReversed(),
      }
      assert.deepStrictEqual(yield* everything(run), { record: expected, events })
    }),
  )

  it.effect("refuses a new run that exists already, and writes nothing of it", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { run } = yield* running(samples, "COMPLETED")
      const before = yield* everything(run)
      const again = { ...run, workflowName: "Another", accountId: samples.stranger }
      const more = { nodeRuns: [Samples.nodeRun("d")], events: [Samples.event(run, 2)] }
      yield* assertStale(Samples.newRun(run, more))
      yield* assertStale(Samples.newRun(again, more))
      assert.deepStrictEqual(yield* everything(run), before)
      assert.isUndefined((yield* everything(again)).record)
    }),
  )
}

const startRaces = (it: Tests): void => {
  it.effect("lets exactly one of many concurrent newRuns win", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const run = samples.run()
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => n),
        (n) =>
          outcome(
            Samples.newRun({ ...run, nodeRunCount: n }, { nodeRuns: [Samples.nodeRun(`n${n}`)] }),
          ),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(outcomes.filter((result) => result === "applied").length, 1)
      const winner = outcomes.indexOf("applied")
      const { record } = yield* everything(run)
      assert.strictEqual(record?.run.nodeRunCount, winner)
      assert.deepStrictEqual(record?.nodeRuns, [Samples.nodeRun(`n${winner}`)])
    }),
  )

  it.effect("keeps one definition for runs of the same content", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const definition = samples.definition()
      const runs = Array.from({ length: 5 }, () => samples.run({ definitionId: definition.id }))
      const expected = { _tag: "New", definition } as const
      yield* Effect.forEach(runs, (run) => store.commit(Samples.newRun(run, { expected })), {
        concurrency: "unbounded",
      })
      for (const run of runs) {
        assert.deepStrictEqual((yield* everything(run)).record?.definition, definition)
      }
    }),
  )
}

const steps = (it: Tests): void => {
  it.effect("applies the next row, further node runs and further events", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { next, run } = yield* running(samples, "COMPLETED")
      assert.strictEqual(yield* outcome(next), "applied")
      const { events, record } = yield* everything(run)
      assert.deepStrictEqual(record, {
        run: next.run,
        definition: Samples.definitionFor(run),
        nodeRuns: [Samples.nodeRun("a"), ...next.nodeRuns.toReversed()],
      })
      assert.deepStrictEqual(events, [Samples.event(run, 1), ...next.events])
    }),
  )

  it.effect("changes every part of a run that a commit may change", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run()
      yield* store.commit(Samples.newRun(run))
      const next = Samples.step(run, {
        status: "FAILED",
        startedAt: Samples.epoch + 1,
        finishedAt: Samples.epoch + 2,
        error: "Node a failed",
        output: { x: [1] },
        actualCredits: Number.MAX_SAFE_INTEGER,
        nodeRunCount: 3,
        active: [{ ordinal: 1, attempt: 2, startedAt: Samples.epoch }],
        attempts: 5,
        waiting: [{ ordinal: 0, attempt: 1, startedAt: 5, due: 9, state: { "": ["\u0000"] } }],
        sequence: 4,
      })
      yield* store.commit(next)
      assert.deepStrictEqual((yield* everything(run)).record?.run, next.run)
    }),
  )

  it.effect("keeps what a run was started with, and who may write it", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run({ values: { a: 1 }, inputOverrides: { a: { b: 2 } } })
      yield* store.commit(Samples.newRun(run))
      const other = samples.run({ accountId: run.accountId, values: { c: 3 }, mode: "single" })
      const change = { workflowId: other.workflowId, workflowName: "Other", values: other.values }
      const more = { createdAt: 1, mode: other.mode, estimatedCredits: 1, executionId: "other" }
      const taken = { owner: samples.runner(), fence: 7 }
      yield* store.commit(Samples.step(run, { ...change, ...more, ...taken, nodeRunCount: 1 }))
      const expected = { ...run, revision: 2, nodeRunCount: 1 }
      assert.deepStrictEqual((yield* everything(run)).record?.run, expected)
    }),
  )
}

const rows = (it: Tests): void => {
  it.effect("holds thousands of node runs in one commit", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const run = samples.run({ sequence: 3_000 })
      const nodeRuns = Array.from({ length: 3_000 }, (_, ordinal) =>
        Samples.nodeRun(`n${ordinal}`, { ordinal }),
      )
      const events = nodeRuns.map(({ ordinal }) => Samples.event(run, ordinal + 1))
      const shuffled = nodeRuns.toReversed()
      assert.strictEqual(
        yield* outcome(Samples.newRun(run, { nodeRuns: shuffled, events })),
        "applied",
      )
      const stored = yield* everything(run)
      assert.deepStrictEqual(stored.record?.nodeRuns, nodeRuns)
      assert.deepStrictEqual(stored.events, events)
    }),
  )
}

const guards = (it: Tests): void => {
  it.effect("refuses another fence or revision, and writes nothing", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { next, run } = yield* running(samples, "COMPLETED")
      const before = yield* everything(run)
      const wrong = [
        { fence: run.fence - 1, revision: run.revision },
        { fence: run.fence + 1, revision: run.revision },
        { fence: run.fence, revision: run.revision - 1 },
        { fence: run.fence, revision: run.revision + 1 },
      ]
      for (const expected of wrong) {
        yield* assertStale({ ...next, expected: { _tag: "Existing", ...expected } })
      }
      assert.deepStrictEqual(yield* everything(run), before)
      assert.strictEqual(yield* outcome(next), "applied")
    }),
  )

  it.effect("refuses a run that does not exist or is another account's", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { next, run } = yield* running(samples, "COMPLETED")
      const before = yield* everything(run)
      yield* assertStale({ ...next, run: { ...next.run, accountId: samples.stranger } })
      yield* assertStale(Samples.step(samples.run(), { status: "RUNNING" }))
      assert.deepStrictEqual(yield* everything(run), before)
    }),
  )
}

const terminals = (it: Tests): void => {
  for (const status of ["COMPLETED", "FAILED", "CANCELED"] as const) {
    it.effect(`never changes a run that is ${status}`, () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const { next, run } = yield* running(samples, status)
        yield* outcome(next)
        const before = yield* everything(run)
        yield* assertStale(
          Samples.step(next.run, { status: "RUNNING" }, { nodeRuns: [Samples.nodeRun("z")] }),
        )
        yield* assertStale(Samples.step(next.run, {}, { events: [Samples.event(run, 3)] }))
        assert.deepStrictEqual(yield* everything(run), before)
      }),
    )
  }
}

const races = (it: Tests): void => {
  it.effect("lets exactly one of many concurrent commits on one revision win", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { run } = yield* running(samples, "RUNNING")
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => n),
        (n) =>
          outcome(Samples.step(run, { nodeRunCount: n }, { nodeRuns: [Samples.nodeRun(`n${n}`)] })),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(outcomes.filter((result) => result === "applied").length, 1)
      const winner = outcomes.indexOf("applied")
      const { record } = yield* everything(run)
      assert.strictEqual(record?.run.nodeRunCount, winner)
      const nodeIds = new Set(record?.nodeRuns.map(({ nodeId }) => nodeId))
      assert.deepStrictEqual(nodeIds, new Set(["a", `n${winner}`]))
    }),
  )
}

const mixtures = (it: Tests): void => {
  it.effect("keeps for each of many concurrent commits what only some of them have", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const runs = Array.from({ length: 60 }, (_, n) =>
        samples.run(n % 4 === 0 ? { singleNodeId: `n${n}`, concurrency: n + 1 } : {}),
      )
      const each = { concurrency: "unbounded" } as const
      yield* Effect.forEach(runs, (run) => outcome(Samples.newRun(run)), each)
      const failure = {
        status: "FAILED",
        error: "It broke",
        finishedAt: Samples.epoch + 9,
      } as const
      const commits = runs.map((run, n) => {
        const change = n % 5 === 0 ? failure : { nodeRunCount: n }
        const events = [Samples.event(run, 1, n % 7 === 0 ? { error: `e${n}` } : {})]
        return Samples.step(run, { sequence: 1, ...change }, { events })
      })
      yield* Effect.forEach(commits, outcome, each)
      for (const { events, run } of commits) {
        const stored = yield* everything(run)
        assert.deepStrictEqual(stored.record?.run, run)
        assert.deepStrictEqual(stored.events, events)
      }
    }),
  )
}

const groups = (it: Tests): void => {
  it.effect("answers each of many concurrent commits for itself", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const runs = yield* Effect.forEach(
        Array.from({ length: 200 }, () => samples.run()),
        (run) => Effect.as(outcome(Samples.newRun(run)), run),
        { concurrency: "unbounded" },
      )
      const outcomes = yield* Effect.forEach(
        runs,
        (run, n) =>
          outcome(
            Samples.step(
              { ...run, fence: n % 3 === 0 ? 9 : run.fence },
              { nodeRunCount: n },
              { nodeRuns: [Samples.nodeRun(`n${n}`)] },
            ),
          ),
        { concurrency: "unbounded" },
      )
      for (const [n, run] of runs.entries()) {
        const fits = n % 3 !== 0
        assert.strictEqual(outcomes[n] === "applied", fits)
        const { record } = yield* everything(run)
        assert.strictEqual(record?.run.revision, fits ? 2 : 1)
        assert.strictEqual(record?.nodeRuns.length, fits ? 1 : 0)
      }
    }),
  )

  it.effect("applies a chain of commits in the order of their revisions", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const first = samples.run()
      yield* outcome(Samples.newRun(first))
      let run: Run = first
      for (let n = 1; n <= 30; n++) {
        const events = [Samples.event(run, n)]
        const next = Samples.step(run, { sequence: n }, { events })
        assert.strictEqual(yield* outcome(next), "applied")
        run = next.run
      }
      const { events, record } = yield* everything(first)
      assert.deepStrictEqual(record?.run, run)
      assert.deepStrictEqual(
        events.map(({ sequence }) => sequence),
        Array.from({ length: 30 }, (_, n) => n + 1),
      )
    }),
  )
}

const opaque = (it: Tests): void => {
  it.effect("keeps opaque JSON to the last character", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const json = Samples.hardJson
      const text = "a\u0000b\ud800 😀"
      const run = samples.run({ values: json, inputOverrides: { a: json }, sequence: 1 })
      const position = { x: 0.1, y: -0.1 }
      const nodes = [{ id: "a", type: "text", position, data: json }]
      const definition = { id: run.definitionId, nodes, edges: [], settings: {} }
      const at = Samples.epoch
      const logs = [{ at, level: "warn" as const, message: text, attempt: 1, data: json }]
      const nodeRuns = [Samples.nodeRun("a", { input: json, output: json, logs, error: text })]
      const events = [Samples.event(run, 1, { data: json, error: text })]
      const expected = { _tag: "New", definition } as const
      yield* outcome(Samples.newRun(run, { expected, nodeRuns, events }))
      const next = Samples.step(run, { output: json, error: text, status: "FAILED" })
      yield* outcome(next)
      const stored = yield* everything(run)
      const record = { run: next.run, definition, nodeRuns }
      assert.deepStrictEqual(stored, { record, events })
      for (const copy of [
        stored.record?.run.values,
        stored.record?.run.output,
        stored.record?.run.inputOverrides["a"],
        stored.record?.definition.nodes[0]?.data,
        stored.record?.nodeRuns[0]?.input,
        stored.record?.nodeRuns[0]?.output,
        stored.record?.nodeRuns[0]?.logs?.[0]?.data,
        stored.events[0]?.data,
      ]) {
        assert.strictEqual(JSON.stringify(copy), JSON.stringify(json))
      }
    }),
  )

  it.effect("keeps scalars and arrays as the output of a run", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      for (const output of ["text", 0, false, [], [null], "", -1.5, null]) {
        const run = samples.run({ status: "COMPLETED", output })
        yield* outcome(Samples.newRun(run))
        assert.deepStrictEqual((yield* everything(run)).record?.run.output, output)
      }
    }),
  )
}

/** Registers the tests of `RunStore.commit`. */
export const runCommitSuite = (it: Tests): void => {
  describe("RunStore.commit of a new run", () => {
    newRuns(it)
    startRaces(it)
  })
  describe("RunStore.commit of an existing run", () => {
    steps(it)
    rows(it)
  })
  describe("RunStore.commit guards", () => {
    guards(it)
    terminals(it)
    races(it)
    groups(it)
    mixtures(it)
  })
  describe("RunStore.commit of opaque JSON", () => {
    opaque(it)
  })
}
