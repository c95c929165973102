// What a start freezes of the workflows that its nodes call, and how much that may be.
import { calledBytes, workflowsCalled } from "@millrace/core/domain/Limits"
import type { Node } from "@millrace/core/domain/Workflow"
import { Runs } from "@millrace/core/engine/Runs"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { frozenOf, isWorkflowId } from "../../src/engine/internal/Called.ts"
import { engineWithChildren } from "./TestChildren.ts"
import { account, node, save } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.provide(engineWithChildren()))

/** Nodes that call these workflows. */
const callsOf = (ids: ReadonlyArray<string>): ReadonlyArray<Node> =>
  ids.map((workflowId, index) => node(`call${index}`, "call", { workflowId }))

const problemsOf = Effect.fnUntraced(function* (nodes: ReadonlyArray<Node>) {
  const { id: workflowId } = yield* save(nodes, [])
  const { problems } = yield* Runs.use((runs) => runs.validate(account, { workflowId }))
  return problems.map(({ message }) => message)
})

/** So many workflows of one node, each with a text of this length. */
const saveMany = (count: number, length = 1) =>
  Effect.forEach(Array.from({ length: count }), () =>
    Effect.map(save([node("n", "constant", { value: "x".repeat(length) })], []), ({ id }) => id),
  )

const sentence = (what: string) =>
  `The workflows that it calls, and those that these call, are ${what}`

describe("the workflows that a start calls", () => {
  it.effect("are as many as may be, and one more is refused", () =>
    at(
      Effect.gen(function* () {
        const ids = yield* saveMany(workflowsCalled)
        assert.deepStrictEqual(yield* problemsOf(callsOf(ids)), [])
        const more = [...ids, ...(yield* saveMany(1))]
        const refused = [sentence(`more than ${workflowsCalled}`)]
        assert.deepStrictEqual(yield* problemsOf(callsOf(more)), refused)
        // Where two nodes call the same workflow, it is frozen once.
        assert.deepStrictEqual(yield* problemsOf(callsOf([...ids, ids[0]!])), [])
      }),
    ),
  )

  it.effect("are counted with those that they call in turn", () =>
    at(
      Effect.gen(function* () {
        const { id: inner } = yield* save([...callsOf(yield* saveMany(workflowsCalled))], [])
        const refused = [sentence(`more than ${workflowsCalled}`)]
        assert.deepStrictEqual(yield* problemsOf(callsOf([inner])), refused)
      }),
    ),
  )

  it.effect("are refused where their drawings are too large together", () =>
    at(
      Effect.gen(function* () {
        const ids = yield* saveMany(5, calledBytes / 5)
        assert.deepStrictEqual(yield* problemsOf(callsOf(ids.slice(1))), [])
        const [problem = ""] = yield* problemsOf(callsOf(ids))
        const [, bytes] = /are (\d+) bytes of JSON; the limit is 4194304$/.exec(problem) ?? []
        assert.isAbove(Number(bytes), calledBytes)
      }),
    ),
  )

  it.effect("are named by ids that a store can be asked for", () =>
    at(
      Effect.gen(function* () {
        const problems = yield* problemsOf(callsOf(["wf_\u0000", ""]))
        assert.strictEqual(problems.length, 2)
        for (const problem of problems) assert.match(problem, /there is no workflow/)
      }),
    ),
  )
})

describe("isWorkflowId", () => {
  it("knows no empty id, and none with a NUL", () => {
    assert.deepStrictEqual(["wf_1", "", "wf_\u0000", "\u0000"].map(isWorkflowId), [
      true,
      false,
      false,
      false,
    ])
  })
})

describe("frozenOf", () => {
  it.effect("has a version only where the workflow is a published one", () =>
    at(
      Effect.gen(function* () {
        const { id } = yield* save([node("n", "constant", { value: 1 })], [])
        const found = yield* WorkflowStore.use((store) => store.find(account, id))
        const draft = yield* Effect.fromOption(found)
        assert.isFalse("version" in frozenOf(draft))
        assert.strictEqual(frozenOf({ ...draft, version: 3 }).version, 3)
      }),
    ),
  )
})
