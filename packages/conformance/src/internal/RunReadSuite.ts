/**
 * What every run store must do when it is read: single records, batches and listings.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { type AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { InputPorts } from "@millrace/core/domain/ImpliedInput"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { Definition, NodeRun, Run, RunRecord } from "@millrace/core/domain/Run"
import { payloadBytesOf, withinBytes } from "@millrace/core/domain/RunPayload"
import { type LatestOutput, type RunQuery, RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"
import { runEventCases } from "./RunEventSuite.ts"
import { listed, runFilterCases } from "./RunFilterSuite.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const strange = RunId.make("run_a\u0000b\ud800'%")

const find = (it: Tests): void => {
  it.effect("finds nothing under an unknown or a foreign identifier", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run()
      yield* store.commit(Samples.newRun(run))
      const { account, stranger } = samples
      assert.isTrue(Option.isSome(yield* store.find(account, run.id)))
      assert.isTrue(Option.isNone(yield* store.find(stranger, run.id)))
      assert.isTrue(Option.isNone(yield* store.find(account, RunId.make("run_unknown"))))
      assert.isTrue(Option.isNone(yield* store.find(account, strange)))
    }),
  )

  it.effect("gives each of many who ask at once what is theirs", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const { account, stranger } = samples
      const runs = Array.from({ length: 40 }, (_, index) =>
        samples.run({ accountId: index % 2 === 0 ? account : stranger }),
      )
      for (const run of runs) {
        const nodeRuns = [Samples.nodeRun("n", { output: { value: run.id } })]
        yield* store.commit(Samples.newRun(run, { nodeRuns }))
      }
      const asked = runs.flatMap(({ id }) => [account, stranger, account].map((by) => ({ by, id })))
      const found = yield* Effect.forEach(asked, ({ by, id }) => store.find(by, id), {
        concurrency: "unbounded",
      })
      for (const [index, { by, id }] of asked.entries()) {
        const own = runs.find((run) => run.id === id && run.accountId === by)
        const outputs = Option.map(found[index]!, ({ nodeRuns }) => nodeRuns.map((n) => n.output))
        assert.deepStrictEqual(Option.getOrUndefined(outputs), own && [{ value: id }])
      }
    }),
  )
}

const settings = (it: Tests): void => {
  it.effect("gives the settings of a definition back as they came", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      for (const kept of [{}, { onFailure: "abort", timeoutMillis: 1_500 }] as const) {
        const run = samples.run()
        const definition = { ...Samples.definitionFor(run), settings: kept }
        yield* store.commit(Samples.newRun(run, { expected: { _tag: "New", definition } }))
        const record = Option.getOrThrow(yield* store.find(samples.account, run.id))
        assert.deepStrictEqual(record.definition, definition)
      }
    }),
  )
}

const findMany = (it: Tests): void => {
  it.effect("returns each known run once and leaves the others out", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const [a, b, c] = [samples.run(), samples.run(), samples.run()]
      const foreign = samples.run({ accountId: samples.stranger })
      const nodeRuns = [Samples.nodeRun("y", { ordinal: 1 }), Samples.nodeRun("x")]
      for (const run of [a, b, c, foreign]) {
        yield* store.commit(Samples.newRun(run, { nodeRuns }))
      }
      const ids = [b.id, foreign.id, RunId.make("run_unknown"), strange, a.id, b.id]
      const records = yield* store.findMany(samples.account, ids)
      const byId = records.toSorted((one, two) => (one.run.id < two.run.id ? -1 : 1))
      const recordOf = (run: typeof a) => ({
        run,
        definition: Samples.definitionFor(run),
        nodeRuns: nodeRuns.toReversed(),
      })
      assert.deepStrictEqual(byId, [recordOf(a), recordOf(b)])
      assert.deepStrictEqual(yield* store.findMany(samples.account, []), [])
      assert.deepStrictEqual(yield* store.findMany(samples.stranger, [a.id]), [])
    }),
  )
}

const findManyWithin = (it: Tests): void => {
  it.effect(
    "leaves out the payloads that do not fit, and nothing else, in the order of the ids",
    () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const store = yield* RunStore
        const sizes = [10_000, 100, 100, 100]
        const made: Array<Run> = []
        for (const size of sizes) {
          const run = samples.run({ values: { given: "v" } })
          const logs = [{ at: 1, level: "info" as const, message: "m", attempt: 1 }]
          const output = { output: "ä".repeat(size) }
          const type = "string" as const
          const largeValues = [{ at: "/output/text", id: "val_1", bytes: 9, type, preview: "a" }]
          const nodeRuns = [
            Samples.nodeRun("x", { output, logs, largeValues }),
            Samples.nodeRun("y"),
          ]
          yield* store.commit(Samples.newRun(run, { nodeRuns }))
          made.push(run)
        }
        const ids = made.map(({ id }) => id)
        const inOrder = (records: ReadonlyArray<RunRecord>) =>
          ids.map((id) => records.find(({ run }) => run.id === id)!)
        const whole = inOrder(yield* store.findMany(samples.account, ids))
        const small = payloadBytesOf(whole[1]!)
        for (const bytes of [0, small - 1, small, 2 * small, 3 * small, 1_000_000]) {
          const found = inOrder(yield* store.findMany(samples.account, ids, bytes))
          assert.deepStrictEqual(found, withinBytes(whole, bytes), `within ${bytes}`)
        }
        const two = inOrder(yield* store.findMany(samples.account, ids, 2 * small))
        assert.deepStrictEqual(
          two.map(({ omitted }) => omitted === true),
          [true, false, false, true],
        )
        assert.deepStrictEqual(yield* store.findMany(samples.stranger, ids, 1_000_000), [])
      }),
  )
}

const at = { position: { x: 0, y: 0 } }

/** Nodes that are given something by a literal, by an override, by one edge and by several. */
const drawn: Omit<Definition, "id"> = {
  nodes: [
    { ...at, id: "a", type: "text", data: { inputs: { text: "hello", more: "b".repeat(50) } } },
    { ...at, id: "b", type: "text", data: { inputs: { text: "drawn" } } },
    { ...at, id: "c", type: "gather" },
    { ...at, id: "d", type: "text" },
  ],
  edges: [
    { id: "b-c", source: "b", target: "c", targetHandle: "all" },
    { id: "a-c", source: "a", target: "c", targetHandle: "all", sourceHandle: "text" },
    { id: "a-d", source: "a", target: "d", sourceHandle: "" },
  ],
  settings: {},
}

const long = { "\u0000": "\ud800", text: "ä".repeat(100) }
const left = { a: { output: Samples.hardJson as Json, text: null }, b: { output: long } }

/** What each node was given, and the ports by which that is implied. */
const given: ReadonlyArray<readonly [string, JsonObject, InputPorts]> = [
  ["a", { more: "b".repeat(50), text: "hello" }, ["more", "text"]],
  ["b", { text: long }, ["text"]],
  ["c", { all: [long, null] }, [["all"]]],
  ["d", { input: left.a.output }, ["input"]],
]

const implied = (it: Tests): void => {
  it.effect("gives every input in full, also one that is implied", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const runner = samples.runner()
      const run = samples.run({ inputOverrides: { b: { text: long } } })
      const definition = { id: run.definitionId, ...drawn }
      const rows = given.map(([nodeId, input], ordinal) => {
        const output = nodeId === "a" || nodeId === "b" ? left[nodeId] : null
        return Samples.nodeRun(nodeId, { ordinal, input, output })
      })
      const waiting = { ...rows[3]!, status: "WAITING" as const, finishedAt: null }
      const ports = new Map(given.map(([nodeId, , names]) => [nodeId, names]))
      yield* store.commit(
        Samples.newRun(run, {
          expected: { _tag: "New", definition },
          nodeRuns: [...rows.slice(0, 3), waiting],
          implied: ports,
        }),
      )
      const first = Option.getOrThrow(yield* store.find(samples.account, run.id))
      assert.deepStrictEqual(first.nodeRuns, [...rows.slice(0, 3), waiting])
      const taken = Option.getOrThrow(yield* store.takeOver(samples.account, run.id, runner))
      assert.deepStrictEqual(taken.nodeRuns, first.nodeRuns)
      yield* store.commit(
        Samples.step(taken.run, { status: "COMPLETED" }, { rewritten: [rows[3]!], implied: ports }),
      )
      const whole = yield* store.findMany(samples.account, [run.id])
      assert.deepStrictEqual(whole[0]!.nodeRuns, rows)
      const inputs = whole.flatMap(({ nodeRuns }) => nodeRuns.map(({ input }) => input))
      assert.strictEqual(JSON.stringify(inputs), JSON.stringify(given.map(([, input]) => input)))
      const bytes = payloadBytesOf(whole[0]!)
      for (const most of [bytes - 1, bytes]) {
        const found = yield* store.findMany(samples.account, [run.id], most)
        assert.deepStrictEqual(found, withinBytes(whole, most))
      }
    }),
  )
}

/** A run in which some nodes have finished, with these outputs. */
const outputting = Effect.fnUntraced(function* (
  run: Run,
  nodeRuns: ReadonlyArray<Partial<NodeRun> & { readonly nodeId: string }>,
) {
  const store = yield* RunStore
  const rows = nodeRuns.map((row, ordinal) => Samples.nodeRun(row.nodeId, { ordinal, ...row }))
  yield* store.commit(Samples.newRun(run, { nodeRuns: rows }))
})

const itemOutputs = (it: Tests): void => {
  it.effect("does not count runs of the bodies of loops", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run()
      const definitionId = `${run.definitionId}/each`
      const item = samples.run({ mode: "item", definitionId })
      yield* outputting(run, [{ nodeId: "a", output: { output: 1 } }])
      yield* outputting(item, [{ nodeId: "a", output: { output: 2 } }])
      const { account } = samples
      const latest = yield* store.latestOutputs(account, run.workflowId, ["a"])
      assert.strictEqual(latest.get("a")?.runId, run.id)
      const query = { account, workflowIds: [run.workflowId], since: 0, failuresRead: 1 }
      const activity = yield* store.activity(query)
      assert.strictEqual(activity.get(run.workflowId)?.lastRun.id, run.id)
    }),
  )
}

const latestOutputs = (it: Tests): void => {
  it.effect("takes each node's output from the newest run that has one", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const [older, newer] = [samples.run(), samples.run()]
      const largeValues = [Samples.placedValue("/output/output")]
      yield* outputting(newer, [
        { nodeId: "a", output: { output: ["new", "\u0000"] } },
        { nodeId: "c", output: { output: 3 } },
      ])
      yield* outputting(older, [
        { nodeId: "a", output: { output: "old" } },
        { nodeId: "b", output: { output: null }, largeValues },
      ])
      const asked = ["a", "b", "unknown", "a"]
      assert.deepStrictEqual(
        yield* store.latestOutputs(samples.account, older.workflowId, asked),
        new Map<string, LatestOutput>([
          ["a", { runId: newer.id, output: { output: ["new", "\u0000"] }, largeValues: null }],
          ["b", { runId: older.id, output: { output: null }, largeValues }],
        ]),
      )
      const none = yield* store.latestOutputs(samples.account, older.workflowId, [])
      assert.deepStrictEqual(none, new Map())
    }),
  )

  it.effect("takes only outputs of completed nodes, also out of a run that goes on", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const [older, newer] = [samples.run(), samples.run({ status: "RUNNING" })]
      const statuses = ["FAILED", "SKIPPED", "WAITING", "COMPLETED"] as const
      const rowsOf = (output: string) =>
        statuses.map((status) => ({ nodeId: status, status, output: { output } }))
      yield* outputting(older, rowsOf("old"))
      yield* outputting(newer, rowsOf("new"))
      assert.deepStrictEqual(
        yield* store.latestOutputs(samples.account, older.workflowId, statuses),
        new Map([["COMPLETED", { runId: newer.id, output: { output: "new" }, largeValues: null }]]),
      )
    }),
  )

  it.effect("takes nothing from other workflows or accounts", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const { account, stranger } = samples
      const run = samples.run()
      const workflowId = WorkflowId.make(`wf-two-of-${account}`)
      yield* outputting(run, [{ nodeId: "a", output: { output: "own" } }])
      yield* outputting(samples.run({ workflowId }), [{ nodeId: "a", output: { output: "other" } }])
      yield* outputting(samples.run({ accountId: stranger }), [
        { nodeId: "a", output: { output: "foreign" } },
      ])
      const outputOf = (of: AccountId, id: WorkflowId) =>
        Effect.map(
          store.latestOutputs(of, id, ["a"]),
          (outputs) => outputs.get("a")?.output["output"],
        )
      assert.strictEqual(yield* outputOf(account, run.workflowId), "own")
      assert.strictEqual(yield* outputOf(account, workflowId), "other")
      assert.strictEqual(yield* outputOf(stranger, run.workflowId), "foreign")
      assert.isUndefined(yield* outputOf(stranger, workflowId))
    }),
  )
}

const pinnedOutputs = (it: Tests): void => {
  it.effect("takes no output that the start of a run gave", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const [older, newer] = [samples.run(), samples.run({ status: "RUNNING" })]
      yield* outputting(older, [{ nodeId: "a", output: { output: "own" } }])
      const pinned = { attempt: 0, startedAt: null, input: null, credits: 0 }
      yield* outputting(newer, [
        { nodeId: "a", output: { output: "given" }, ...pinned },
        { nodeId: "b", output: { output: "given" }, ...pinned },
      ])
      assert.deepStrictEqual(
        yield* store.latestOutputs(samples.account, older.workflowId, ["a", "b"]),
        new Map([["a", { runId: older.id, output: { output: "own" }, largeValues: null }]]),
      )
    }),
  )
}

const list = (it: Tests): void => {
  it.effect("shows whole runs as they are now, and no foreign one", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const [older, newer] = [samples.run({ values: { a: 1 } }), samples.run()]
      yield* store.commit(Samples.newRun(newer))
      yield* store.commit(Samples.newRun(older))
      yield* store.commit(Samples.newRun(samples.run({ accountId: samples.stranger })))
      const next = Samples.step(older, { status: "CANCELED", error: "Canceled" })
      yield* store.commit(next)
      assert.deepStrictEqual(yield* listed(samples, {}), [newer, next.run])
    }),
  )

  it.effect("filters by workflow and by status, also together", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const workflowId = WorkflowId.make(`wf-one-of-${samples.account}`)
      const a = samples.run({ workflowId, status: "FAILED" })
      const b = samples.run({ workflowId })
      const c = samples.run({ status: "FAILED" })
      for (const run of [a, b, c]) yield* store.commit(Samples.newRun(run))
      assert.deepStrictEqual(yield* listed(samples, { workflowId }), [b, a])
      assert.deepStrictEqual(yield* listed(samples, { status: "FAILED" }), [c, a])
      assert.deepStrictEqual(yield* listed(samples, { workflowId, status: "FAILED" }), [a])
      assert.deepStrictEqual(yield* listed(samples, { status: "COMPLETED" }), [])
      assert.deepStrictEqual(yield* listed(samples, { status: "FAILED", limit: 1, skip: 1 }), [a])
    }),
  )
}

const search = (it: Tests): void => {
  it.effect("finds a part of name or error in any case, and takes no wildcard", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const invoice = samples.run({ workflowName: "Invoice ÄRGER 100%" })
      const failed = samples.run({ error: "snake_case: Not Found \\ \u0000" })
      const plain = samples.run({ workflowName: "plain" })
      for (const run of [invoice, failed, plain]) yield* store.commit(Samples.newRun(run))
      const matching = (text: string) => listed(samples, { search: text })
      assert.deepStrictEqual(yield* matching("iNVOICE"), [invoice])
      assert.deepStrictEqual(yield* matching("ärger"), [invoice])
      assert.deepStrictEqual(yield* matching("not FOUND"), [failed])
      assert.deepStrictEqual(yield* matching("%"), [invoice])
      assert.deepStrictEqual(yield* matching("_case"), [failed])
      assert.deepStrictEqual(yield* matching("\\"), [failed])
      assert.deepStrictEqual(yield* matching("i%e"), [])
      assert.deepStrictEqual(yield* matching("PLAI"), [plain])
    }),
  )

  it.effect("searches an error that came with a later commit", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run()
      yield* store.commit(Samples.newRun(run))
      assert.deepStrictEqual(yield* listed(samples, { search: "timeout" }), [])
      const next = Samples.step(run, { status: "FAILED", error: "Timeout in b" })
      yield* store.commit(next)
      assert.deepStrictEqual(yield* listed(samples, { search: "timeout" }), [next.run])
    }),
  )

  it.effect("finds the beginning of an identifier, not its middle", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const [a, b] = [samples.run(), samples.run()]
      for (const run of [a, b]) yield* store.commit(Samples.newRun(run))
      assert.deepStrictEqual(yield* listed(samples, { search: a.id }), [a])
      assert.deepStrictEqual(yield* listed(samples, { search: a.id.slice(0, -5) }), [b, a])
      assert.deepStrictEqual(yield* listed(samples, { search: a.id.slice(4) }), [])
    }),
  )
}

const searchFarBack = (it: Tests): void => {
  it.effect("finds what is behind hundreds of newer runs, as among few", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const workflowId = WorkflowId.make(`wf-old-of-${samples.account}`)
      const [a, b, c, d] = [
        samples.run({ workflowName: "Quarterly report" }),
        samples.run({ workflowId, workflowName: "QUARTERLY" }),
        samples.run({ error: "No quarterly figures", status: "FAILED" }),
        samples.run({ workflowId, workflowName: "Yearly", status: "COMPLETED" }),
      ] as const
      for (const run of [a, b, c, d]) yield* store.commit(Samples.newRun(run))
      const newer = Array.from({ length: 520 }, () => samples.run({ workflowId }))
      yield* Effect.forEach(newer, (run) => store.commit(Samples.newRun(run)), {
        concurrency: 100,
      })
      const matching = (text: string, query: Partial<RunQuery> = {}) =>
        listed(samples, { search: text, ...query })
      assert.deepStrictEqual(yield* matching("quarterly"), [c, b, a])
      assert.deepStrictEqual(yield* matching("quarterly", { skip: 1, limit: 1 }), [b])
      assert.deepStrictEqual(yield* matching("quarterly", { after: c }), [b, a])
      assert.deepStrictEqual(yield* matching("quarterly", { workflowId }), [b])
      assert.deepStrictEqual(yield* matching("figures", { status: "FAILED" }), [c])
      assert.deepStrictEqual(yield* matching("quarterly", { status: "FAILED" }), [c])
      assert.deepStrictEqual(yield* matching("early", { status: "COMPLETED" }), [d])
      assert.deepStrictEqual(yield* matching(a.id), [a])
      // The first nine identifiers differ in their last digit.
      const nine = [...newer.slice(0, 5).toReversed(), d, c, b, a]
      assert.deepStrictEqual(yield* matching(a.id.slice(0, -1)), nine)
      assert.deepStrictEqual(yield* matching("monthly"), [])
      assert.deepStrictEqual(yield* matching("%"), [])
    }),
  )
}

/** Registers the tests of reading runs. */
export const runReadSuite = (it: Tests): void => {
  describe("RunStore.find", () => {
    find(it)
    settings(it)
    implied(it)
  })
  describe("RunStore.findMany", () => {
    findMany(it)
    findManyWithin(it)
  })
  describe("RunStore.latestOutputs", () => {
    latestOutputs(it)
    pinnedOutputs(it)
    itemOutputs(it)
  })
  describe("RunStore.events", () => {
    runEventCases(it)
  })
  describe("RunStore.list", () => {
    list(it)
    runFilterCases(it)
    search(it)
    searchFarBack(it)
  })
}
