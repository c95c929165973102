/**
 * What every run store must tell of node types in use, sentence by sentence of
 * `RunStore.typesInUse`.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { OldestVersions } from "@millrace/core/domain/TypeUse"
import { typeUsersListed } from "@millrace/core/domain/Limits"
import type { Definition } from "@millrace/core/domain/Run"
import type { Node, Workflow } from "@millrace/core/domain/Workflow"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore | WorkflowStore>

/** Nodes of a type, one for each of these data. */
const nodesOf = (type: string, ...data: ReadonlyArray<Node["data"]>): ReadonlyArray<Node> =>
  data.map((each, index) => ({
    id: `n${index}`,
    type,
    position: { x: 0, y: 0 },
    ...(each === undefined ? {} : { data: each }),
  }))

const saved = Effect.fnUntraced(function* (
  samples: Samples.Samples,
  nodes: ReadonlyArray<Node>,
  change?: Partial<Workflow>,
) {
  const workflow = samples.workflow({ nodes, edges: [], ...change })
  yield* WorkflowStore.use((store) => store.insert(workflow))
  return workflow
})

const publish = ({ accountId, id, revision }: Workflow, number: number) =>
  WorkflowStore.use((store) =>
    store.publish({
      account: accountId,
      id,
      expectedRevision: revision,
      number,
      note: null,
      publishedAt: Samples.epoch,
      mostVersions: 100,
    }),
  )

/** Where nodes of a type are, by version: drafts, published versions, open runs. */
const usesOf = (type: string, oldest: OldestVersions = {}) =>
  RunStore.use((store) =>
    Effect.map(store.typesInUse(oldest), (all) =>
      all
        .filter((each) => each.type === type)
        .toSorted((a, b) => (a.version ?? 0) - (b.version ?? 0))
        .map(({ drafts, openRuns, published, version }) => [version, drafts, published, openRuns]),
    ),
  )

/** A type that no other test has. */
const typeOf = ({ workflow }: Samples.Samples): string => `type.${workflow().id}`

const ofWorkflows = (it: Tests): void => {
  it.effect("counts each workflow and each published version once for a version of a type", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const type = typeOf(samples)
      const both = yield* saved(samples, nodesOf(type, { version: 2 }, { version: 2 }, {}))
      yield* saved(samples, nodesOf(type, { version: 2, inputs: Samples.hardJson }))
      yield* publish(both, 1)
      const next = { ...both, nodes: nodesOf(type, { version: 3 }), revision: both.revision + 1 }
      yield* store.replace(next, both.revision)
      yield* publish(next, 2)
      assert.deepStrictEqual(yield* usesOf(type, { [type]: 1 }), [
        [1, 0, 1, 0],
        [2, 1, 1, 0],
        [3, 1, 1, 0],
      ])
      yield* store.remove(both.accountId, both.id)
      assert.deepStrictEqual(yield* usesOf(type, { [type]: 1 }), [[2, 1, 0, 0]])
    }),
  )

  it.effect("counts a node that names no version for the oldest one, or for none", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const type = typeOf(samples)
      yield* saved(samples, nodesOf(type, undefined, "text", null, [1], { version: "2" }))
      yield* saved(samples, nodesOf(type, { version: 4 }))
      assert.deepStrictEqual(yield* usesOf(type, { [type]: 4 }), [[4, 2, 0, 0]])
      assert.deepStrictEqual(yield* usesOf(type, { other: 4 }), [
        [null, 1, 0, 0],
        [4, 1, 0, 0],
      ])
    }),
  )

  it.effect("names the first workflows that have it, each once", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const type = typeOf(samples)
      const count = typeUsersListed + 2
      const drawn = yield* Effect.forEach(Array.from({ length: count }), () =>
        saved(samples, nodesOf(type, {})),
      )
      yield* publish(drawn[0]!, 1)
      const all = yield* RunStore.use((store) => store.typesInUse({}))
      const users = drawn
        .map(({ accountId, id: workflowId, name: workflowName }) => {
          return { accountId, workflowId, workflowName }
        })
        .toSorted((a, b) =>
          `${a.accountId} ${a.workflowId}` < `${b.accountId} ${b.workflowId}` ? -1 : 1,
        )
      const found = all.find((each) => each.type === type)
      assert.deepStrictEqual(found?.workflows, users.slice(0, typeUsersListed))
      assert.strictEqual(found?.drafts, count)
    }),
  )
}

const ofRuns = (it: Tests): void => {
  it.effect("counts open runs, also for what they may call, and none that has ended", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const type = typeOf(samples)
      const hard = { version: 2, inputs: Samples.hardJson }
      const called = { name: "Called", revision: 1, edges: [], settings: {} }
      const workflows = {
        wf_x: { ...called, nodes: nodesOf(type, hard, { version: 1 }) },
      }
      const graph = { nodes: nodesOf(type, { version: 1 }), edges: [], settings: { workflows } }
      const definition: Definition = samples.definition(graph)
      const runs = [0, 1, 2].map(() => samples.run({ definitionId: definition.id }))
      for (const run of runs) {
        yield* store.commit(Samples.newRun(run, { expected: { _tag: "New", definition } }))
      }
      assert.deepStrictEqual(yield* usesOf(type), [
        [1, 0, 0, 3],
        [2, 0, 0, 3],
      ])
      const ended = { status: "COMPLETED", finishedAt: Samples.epoch } as const
      yield* store.commit(Samples.step(runs[0]!, ended))
      assert.deepStrictEqual(yield* usesOf(type), [
        [1, 0, 0, 2],
        [2, 0, 0, 2],
      ])
    }),
  )
}

/** Registers the tests of node types in use. */
export const typesInUseSuite = (it: Tests): void => {
  describe("RunStore.typesInUse", () => {
    ofWorkflows(it)
    ofRuns(it)
  })
}
