/**
 * What every listing of runs must find: by source, by time of creation, and by parent.
 */
import { assert, type Vitest } from "@effect/vitest"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { type ChildQuery, type RunQuery, RunStore } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

/** The runs of an account that a query finds. */
export const listed = Effect.fnUntraced(function* (
  samples: Samples.Samples,
  query: Partial<RunQuery>,
) {
  const store = yield* RunStore
  const page = yield* store.list({ account: samples.account, limit: 20, ...query })
  return page.items
})

const bySource = (it: Tests): void => {
  it.effect("filters by source, also together with everything else", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const workflowId = WorkflowId.make(`wf-one-of-${samples.account}`)
      const [a, b, c, d] = [
        samples.run({ source: "ui", status: "FAILED" }),
        samples.run({ source: "api", workflowId }),
        samples.run({ source: "mcp" }),
        samples.run({ source: "ui", workflowId, workflowName: "Late" }),
      ]
      for (const run of [a, b, c, d]) yield* store.commit(Samples.newRun(run))
      yield* store.commit(
        Samples.newRun(samples.run({ accountId: samples.stranger, source: "ui" })),
      )
      assert.deepStrictEqual(yield* listed(samples, { source: "ui" }), [d, a])
      assert.deepStrictEqual(yield* listed(samples, { source: "mcp" }), [c])
      assert.deepStrictEqual(yield* listed(samples, { source: "api" }), [b])
      const source = "ui" as const
      assert.deepStrictEqual(yield* listed(samples, { source, workflowId }), [d])
      assert.deepStrictEqual(yield* listed(samples, { source, status: "FAILED" }), [a])
      assert.deepStrictEqual(yield* listed(samples, { source, search: "late" }), [d])
      assert.deepStrictEqual(yield* listed(samples, { source, search: a.id }), [a])
      assert.deepStrictEqual(yield* listed(samples, { source, search: b.id }), [])
      assert.deepStrictEqual(yield* listed(samples, { source, limit: 1, after: d }), [a])
      assert.deepStrictEqual(yield* listed(samples, { source, to: d.createdAt }), [a])
    }),
  )
}

const between = (it: Tests): void => {
  it.effect("filters by the time of creation, with the first and without the last moment", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const made = (n: number) => samples.run({ createdAt: 1_700_000_000_000 + n })
      const [d, c, b, a] = [made(4), made(3), made(2), made(1)]
      for (const run of [a, b, c, d]) yield* store.commit(Samples.newRun(run))
      const [from, to] = [b.createdAt, d.createdAt]
      assert.deepStrictEqual(yield* listed(samples, { from }), [d, c, b])
      assert.deepStrictEqual(yield* listed(samples, { to }), [c, b, a])
      assert.deepStrictEqual(yield* listed(samples, { from, to }), [c, b])
      assert.deepStrictEqual(yield* listed(samples, { from, to, limit: 1, skip: 1 }), [b])
      assert.deepStrictEqual(yield* listed(samples, { from, to, after: c }), [b])
      const { status, workflowId, workflowName } = c
      const rest = { status, workflowId, search: workflowName.slice(1) }
      assert.deepStrictEqual(yield* listed(samples, { from, to, ...rest }), [c, b])
      assert.deepStrictEqual(yield* listed(samples, { from: to, to: from }), [])
    }),
  )
}

const byParent = (it: Tests): void => {
  it.effect("filters by parent, and finds the runs that have none", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const root = samples.run()
      const childOf = (parent: Run, index: number) =>
        samples.run({
          parent: {
            runId: parent.id,
            nodeId: "a",
            index,
            rootRunId: root.id,
            depth: (parent.parent?.depth ?? 0) + 1,
          },
        })
      const [one, two] = [childOf(root, 0), childOf(root, 1)]
      const grandchild = childOf(one, 0)
      const other = samples.run()
      for (const run of [root, one, two, grandchild, other]) {
        yield* store.commit(Samples.newRun(run))
      }
      assert.deepStrictEqual(yield* listed(samples, { parentRunId: root.id }), [two, one])
      assert.deepStrictEqual(yield* listed(samples, { parentRunId: one.id }), [grandchild])
      assert.deepStrictEqual(yield* listed(samples, { parentRunId: other.id }), [])
      assert.deepStrictEqual(yield* listed(samples, { isRoot: true }), [other, root])
      assert.lengthOf(yield* listed(samples, {}), 5)
      const searched = { search: grandchild.id }
      assert.deepStrictEqual(yield* listed(samples, searched), [grandchild])
      assert.deepStrictEqual(yield* listed(samples, { ...searched, isRoot: true }), [])
      const ofNode = { account: samples.account, parentRunId: root.id, nodeId: "a" }
      const childrenOf = (more: Partial<ChildQuery>) =>
        store.children({ ...ofNode, after: -1, limit: 10, ...more })
      assert.deepStrictEqual(yield* childrenOf({}), [one, two])
      assert.deepStrictEqual(yield* childrenOf({ limit: 1 }), [one])
      assert.deepStrictEqual(yield* childrenOf({ after: 0 }), [two])
      assert.deepStrictEqual(yield* childrenOf({ status: one.status }), [one, two])
      assert.deepStrictEqual(yield* childrenOf({ status: "CANCELED" }), [])
      assert.deepStrictEqual(yield* childrenOf({ nodeId: "b" }), [])
      assert.deepStrictEqual(yield* childrenOf({ account: samples.stranger }), [])
      const foreign = { account: samples.stranger, parentRunId: root.id }
      assert.deepStrictEqual(yield* listed(samples, foreign), [])
    }),
  )
}

/** Registers the tests. */
export const runFilterCases = (it: Tests): void => {
  bySource(it)
  between(it)
  byParent(it)
}
