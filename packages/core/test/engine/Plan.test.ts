// What a start will execute, put together from the workflow and what the start lays over it.
import { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { JsonObject } from "@millrace/core/domain/Json"
import type { NodeType } from "@millrace/core/domain/NodeType"
import type { Definition, InputOverrides } from "@millrace/core/domain/Run"
import { evaluatedId } from "@millrace/core/domain/Run"
import type { Node, Workflow } from "@millrace/core/domain/Workflow"
import { compile, readDrawing } from "@millrace/core/graph/Graph"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { GraphCache } from "../../src/engine/GraphCache.ts"
import type { Overlay, Plan, PlanOptions } from "../../src/engine/internal/Plan.ts"
import { plan, planSingle, upstreamOf } from "../../src/engine/internal/Plan.ts"
import { validationOf } from "../../src/engine/internal/Validation.ts"
import { edges, messages, node, type } from "../graph/Fixture.ts"

const throwing = () => {
  throw new Error("a bug of the type's author")
}

const types: ReadonlyArray<NodeType> = [
  type("step", ["input"], ["output"]),
  type("pair", ["left!", "right!"], ["output"]),
  type("all", ["input*"], ["output"]),
  type("priced", ["price"], ["output"], {
    estimate: ({ inputs }) => Number(inputs["price"]) * 1e6,
  }),
  type("broken", [], ["output"], { estimate: throwing }),
  type("request", ["fields"], ["values"], { role: "request" }),
]

const known = new Map(types.map((each) => [each.key, each]))

const make = (definition: Definition, overrides: InputOverrides) =>
  compile(definition, known, overrides)

const workflowOf = (nodes: ReadonlyArray<Node>, drawn: ReadonlyArray<string> = []): Workflow => ({
  id: WorkflowId.make("wf_1"),
  accountId: AccountId.make("acc_1"),
  name: "Test",
  description: null,
  thumbnailUrl: null,
  nodes,
  edges: edges(...drawn),
  settings: { onFailure: "stop" },
  revision: 7,
  createdAt: 0,
  updatedAt: 0,
})

const nothing: Overlay = { values: {}, inputOverrides: {}, nodeOverrides: [] }
const runId = RunId.make("run_1")

const graphs = GraphCache.make(() => known)

const optionsOf = (made: typeof make): PlanOptions => ({
  graphs: { ...graphs, compile: made },
  priceList: undefined,
})

const planOf = (workflow: Workflow, overlay: Partial<Overlay> = {}) =>
  plan(workflow, { ...nothing, ...overlay }, runId, optionsOf(make))

const readingOf = ({ edges: drawn, nodes }: Workflow) => {
  return readDrawing({ nodes, edges: drawn }, { types: known, overrides: {}, evaluates: true })
}

const singleOf = (
  workflow: Workflow,
  nodeId: string,
  outputs: { readonly [nodeId: string]: JsonObject } = {},
  overlay: Partial<Overlay> = {},
) => {
  const latest = new Map(Object.entries(outputs))
  return planSingle(workflow, { ...nothing, ...overlay }, nodeId, latest, runId, optionsOf(make))
}

const made = (planned: ReturnType<typeof planOf>): Plan => Result.getOrThrow(planned)

const refusals = (planned: ReturnType<typeof planOf>): ReadonlyArray<string> =>
  Result.isFailure(planned) ? messages(planned.failure) : []

describe("the plan of a run", () => {
  it("freezes what the engine knows of nodes and edges, and nothing that an editor added", () => {
    const [a, b] = [node("a", "step"), node("b", "step")]
    const stored = workflowOf([a, b], ["a -> b"])
    const drawn = {
      ...stored,
      nodes: [{ ...a, width: 5, extent: "parent" }, b],
      edges: stored.edges.map((each) => ({ ...each, label: "then" })),
    }
    const { definition } = Result.getOrThrow(planOf(drawn))
    assert.deepStrictEqual(definition, Result.getOrThrow(planOf(stored)).definition)
    const nodeOverrides = [{ ...a, height: 7 }]
    const replaced = Result.getOrThrow(planOf(drawn, { nodeOverrides })).definition
    assert.deepStrictEqual(replaced.nodes, definition.nodes)
  })

  const nodes = [node("b", "step"), node("a", "step")]

  it("freezes the nodes in the order of the run, with their versions, edges and settings", () => {
    const workflow = workflowOf(nodes, ["a -> b"])
    const { definition, estimate, inputOverrides, values } = made(planOf(workflow))
    assert.deepStrictEqual(definition, {
      id: "wf_1@7+n+e",
      nodes: [nodes[1]!, nodes[0]!].map((each) => ({ ...each, data: { version: 1 } })),
      edges: workflow.edges,
      settings: { onFailure: "stop" },
    })
    assert.deepStrictEqual(
      { estimate, inputOverrides, values },
      {
        estimate: 0,
        inputOverrides: {},
        values: {},
      },
    )
  })

  it("has a definition of its own where it replaces nodes, and shares it where it does not", () => {
    const workflow = workflowOf(nodes, ["a -> b"])
    const replaced = node("a", "step", { input: 1 })
    const { definition } = made(planOf(workflow, { nodeOverrides: [replaced] }))
    assert.strictEqual(definition.id, evaluatedId(runId))
    assert.deepStrictEqual(definition.nodes[0], node("a", "step", { input: 1 }, { version: 1 }))
    const inputOverrides = { a: { input: 2 } }
    const shared = made(planOf(workflow, { inputOverrides }))
    assert.strictEqual(shared.definition.id, "wf_1@7+n+e")
    assert.deepStrictEqual(shared.inputOverrides, inputOverrides)
  })

  it("freezes its values", () => {
    const { values } = made(planOf(workflowOf(nodes), { values: { order: { id: 1 } } }))
    assert.deepStrictEqual(values, { order: { id: 1 } })
    assert.isTrue(Object.isFrozen(values["order"]))
  })

  it("costs what all nodes cost that may execute, and names each", () => {
    const workflow = workflowOf([
      node("a", "priced", { price: 2 }),
      node("off", "priced", { price: 50 }, { disabled: true }),
      node("left", "pair"),
      node("b", "priced", { price: 0.5 }),
    ])
    const { estimate, prices } = made(planOf(workflow))
    assert.strictEqual(estimate, 2_500_000)
    assert.deepStrictEqual(prices, [
      { nodeId: "a", nodeType: "priced", credits: 2_000_000 },
      { nodeId: "b", nodeType: "priced", credits: 500_000 },
    ])
  })

  it("names every node that has no valid estimate, and a sum that is too large", () => {
    const workflow = workflowOf([
      node("a", "priced", { price: -1 }),
      node("b", "broken"),
      node("c", "priced", { price: 6e8 }),
      node("d", "priced", { price: 6e8 }),
    ])
    assert.deepStrictEqual(refusals(planOf(workflow)), [
      'Node "a": type priced gives no valid estimate of credits',
      'Node "b": type broken gives no valid estimate of credits',
      "The run would cost more than 1000000000 credits",
    ])
    const failed = planOf(workflow)
    const problem = Result.isFailure(failed) ? failed.failure[1] : undefined
    assert.strictEqual(problem?.nodeId, "b")
  })

  it("names what is wrong with nodes that replace others, with the graph and with values", () => {
    const workflow = workflowOf([node("a", "pair"), node("b", "step")], ["b -> a.left"])
    assert.deepStrictEqual(refusals(planOf(workflow, { nodeOverrides: [node("z", "step")] })), [
      'Node override "z": the workflow has no such node',
    ])
    assert.deepStrictEqual(refusals(planOf(workflow)), [
      'Node "a": required input "right" has neither a value nor an edge',
    ])
    const fields = [{ name: "order", type: "string", required: true }]
    const asking = workflowOf([node("ask", "request", { fields })])
    assert.lengthOf(refusals(planOf(asking)), 1)
    assert.deepStrictEqual(made(planOf(asking, { values: { order: "x" } })).values, { order: "x" })
  })
})

describe("the plan of a single node", () => {
  const workflow = workflowOf(
    [
      node("a", "step"),
      node("b", "step"),
      node("pair", "pair", { right: 2 }),
      node("all", "all"),
      node("off", "step", {}, { disabled: true }),
    ],
    ["a -> pair.left", "b -> pair.left", "a -> all", "b -> all", "a.extra -> all"],
  )

  it("takes the latest outputs of the nodes before it where it has no value itself", () => {
    const planned = made(singleOf(workflow, "pair", { a: { output: 1 } }))
    assert.deepStrictEqual(planned.inputOverrides, { pair: { left: 1, right: 2 } })
    assert.deepStrictEqual(planned.definition, {
      id: runId,
      nodes: [node("pair", "pair", { right: 2 }, { version: 1 })],
      edges: [],
      settings: workflow.settings,
    })
    const [single] = Result.getOrThrow(planned.graph).nodes
    assert.deepStrictEqual(single?.settings.inputs, { left: 1, right: 2 })
    assert.strictEqual(planned.estimate, 0)
  })

  it("prefers literals to them, and what the start gives to both", () => {
    const outputs = { a: { output: 1 } }
    const nodeOverrides = [node("pair", "pair", { left: 8, right: 2 })]
    const literal = made(singleOf(workflow, "pair", outputs, { nodeOverrides }))
    assert.deepStrictEqual(literal.inputOverrides, { pair: { left: 8, right: 2 } })
    const inputOverrides = { pair: { left: 9 } }
    const given = made(singleOf(workflow, "pair", outputs, { nodeOverrides, inputOverrides }))
    assert.deepStrictEqual(given.inputOverrides, { pair: { left: 9, right: 2 } })
  })

  it("takes the last of several where one value is taken, and all of them where all are", () => {
    const outputs = { a: { output: 1 }, b: { output: 2 } }
    const one = made(singleOf(workflow, "pair", outputs))
    assert.deepStrictEqual(one.inputOverrides, { pair: { left: 2, right: 2 } })
    const all = made(singleOf(workflow, "all", { ...outputs, a: { output: 1, extra: 3 } }))
    assert.deepStrictEqual(all.inputOverrides, { all: { input: [1, 2, 3] } })
    const some = made(singleOf(workflow, "all", { b: { output: 2 } }))
    assert.deepStrictEqual(some.inputOverrides, { all: { input: [2] } })
  })

  it("takes nothing of an output that was not taken, nor of nodes that lead elsewhere", () => {
    const planned = made(singleOf(workflow, "all", { a: { other: 1 }, pair: { output: 5 } }))
    assert.deepStrictEqual(planned.inputOverrides, { all: {} })
  })

  it("is refused where there is no such node, it is disabled, or a value is missing", () => {
    assert.deepStrictEqual(refusals(singleOf(workflow, "zzz")), [
      'Node "zzz" cannot run alone: the workflow has no such node',
    ])
    assert.deepStrictEqual(refusals(singleOf(workflow, "off")), [
      'Node "off" cannot run alone: it is disabled',
    ])
    assert.deepStrictEqual(refusals(singleOf(workflow, "pair")), [
      'Node "pair" cannot run alone: no value for "left", and no earlier run brought one',
    ])
    const nodeOverrides = [node("pair", "pair")]
    assert.deepStrictEqual(refusals(singleOf(workflow, "pair", {}, { nodeOverrides })), [
      'Node "pair" cannot run alone: no value for "left", "right", and no earlier run brought one',
    ])
    const failed = singleOf(workflow, "zzz")
    assert.strictEqual(Result.isFailure(failed) ? failed.failure[0]?.nodeId : "", "zzz")
  })

  it("is refused where an edge leads to an input that it does not have", () => {
    const drawn = workflowOf([node("a", "step"), node("b", "step")], ["a -> b.ghost"])
    const [refusal] = refusals(singleOf(drawn, "b", { a: { output: 1 } }))
    assert.strictEqual(refusal, 'Node "b": has no input "ghost"; it has input')
  })

  it("is refused for a wrong expression, and for no valid estimate", () => {
    const text = workflowOf([node("a", "step", { input: "{{ x }}" }), node("b", "broken")])
    assert.match(refusals(singleOf(text, "a"))[0]!, /unknown name "x"/)
    assert.deepStrictEqual(refusals(singleOf(text, "b")), [
      'Node "b": type broken gives no valid estimate of credits',
    ])
  })

  it("asks for the outputs of the nodes before it, each once", () => {
    assert.deepStrictEqual(upstreamOf(workflow, "all"), ["a", "b"])
    assert.deepStrictEqual(upstreamOf(workflow, "a"), [])
  })
})

describe("a validation", () => {
  it("has the estimate of a start that would be accepted, and warns of what is left over", () => {
    const workflow = workflowOf([node("a", "priced", { price: 2 }), node("left", "pair")])
    const said = validationOf(planOf(workflow), readingOf(workflow))
    assert.deepStrictEqual(said, {
      problems: [],
      warnings: [
        {
          message: 'Skipped: "left" has no edges and no value for what it requires: left, right',
          nodeId: "left",
        },
      ],
      estimatedCredits: 2_000_000,
      nodes: said.nodes,
    })
    assert.deepStrictEqual(
      said.nodes.map(({ credits, names, nodeId }) => [nodeId, credits, names]),
      [
        ["a", 2_000_000, ["values", "run"]],
        ["left", 0, ["values", "run"]],
      ],
    )
  })

  it("warns of an expression whose place an edge takes", () => {
    const literal = { input: "{{ a.output }}" }
    const nodes = [node("a", "step"), node("b", "step", literal), node("c", "step", literal)]
    const workflow = workflowOf(nodes, ["a -> b", "b -> c"])
    const { warnings } = validationOf(planOf(workflow), readingOf(workflow))
    const why = 'input "input" takes what its edge carries, and its expression only where the edge'
    assert.deepStrictEqual(
      warnings.map(({ message }) => message),
      ["b", "c"].map((id) => `Node "${id}": ${why} carries nothing`),
    )
  })

  it("has the problems of one that would not", () => {
    const workflow = workflowOf([node("a", "step", { input: "{{ x }}" }), node("b", "unknown")])
    const { estimatedCredits, problems, warnings } = validationOf(
      planOf(workflow),
      readingOf(workflow),
    )
    assert.deepStrictEqual([estimatedCredits, warnings], [null, []])
    assert.deepStrictEqual(
      problems.map(({ column, nodeId, port }) => [nodeId, port, column]),
      [
        ["b", undefined, undefined],
        ["a", "input", 4],
      ],
    )
  })
})
