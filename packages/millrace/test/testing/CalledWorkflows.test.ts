/**
 * What a caller can rely on about workflows that others call: a run executes them as they were at
 * its start, their fields are inputs, and what would never end is refused.
 */
import type { TestEngine } from "millrace/testing"
import { testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"

type Engine = TestEngine<readonly []>

const fields = [
  { name: "item", type: "number", required: true },
  { name: "factor", type: "number", default: 2 },
] as const

/** A workflow that waits for an hour, and says what it would multiply. */
const multiplied = (engine: Engine, template: string) =>
  engine
    .workflow("Multiply")
    .node("in", "request", { fields })
    .node("pause", "delay", { for: "1 hour" })
    .node("times", "transform", { template })
    .node("out", "response")
    .edge("in.item", "pause.input")
    .edge("pause.output", "times.input")
    .edge("times.output", "out.input")

const made = async (engine: Engine) =>
  (await engine.workflows.create(multiplied(engine, "{{ values.item }} by {{ values.factor }}"))).id

const node = (id: string, type: string, inputs: object) => ({
  id,
  type,
  position: { x: 0, y: 0 },
  data: { inputs },
})

const edge = (source: string, target: string) => {
  const [from = "", sourceHandle = "output"] = source.split(".")
  const [to = "", targetHandle = "input"] = target.split(".")
  return { id: `${source}:${target}`, source: from, sourceHandle, target: to, targetHandle }
}

const changed = (engine: Engine, id: string) => {
  const { edges, nodes } = multiplied(engine, "{{ values.item }} by 100")
  return engine.workflows.update(id, { nodes, edges })
}

/** A workflow that waits for an hour, and calls another one with its number as the item. */
const calling = async (engine: Engine, workflowId: string, inputs: object = {}) => {
  const drawn = engine
    .workflow("Caller")
    .node("in", "request", { fields: [{ name: "number", type: "number", required: true }] })
    .node("pause", "delay", { for: "1 hour" })
    .node("call", "sub_workflow", { workflowId, ...inputs })
    .node("out", "response")
    .edge("in.number", "pause.input")
    .edge("pause.output", "call.item")
    .edge("call.output", "out.input")
  return (await engine.workflows.create(drawn)).id
}

/** A workflow whose nodes call others, each in any case or in a branch. */
const caller = async (engine: Engine, workflowId: string, isInBranch = false) => {
  const drawn = {
    name: "Circle",
    nodes: [
      node("if", "condition", { input: {}, rule: { op: "exists" } }),
      node("call", "sub_workflow", { workflowId }),
    ],
    edges: isInBranch ? [edge("if.true", "call.values")] : [],
  }
  return (await engine.workflows.create(drawn)).id
}

const sentenceOf = async (refused: Promise<unknown>) => {
  const outcome = await refused.then(
    () => "accepted",
    (error: Error) => error.message,
  )
  return outcome.replaceAll(/wf_[\w-]{20,}/g, "wf")
}

describe("the fields of a called workflow", () => {
  it("are inputs of the node that calls it, and edges and literals bring them", async () => {
    await using engine = await testEngine()
    const workflowId = await calling(engine, await made(engine), { factor: 3 })
    const run = await engine.runs.start({ workflowId, values: { number: 7 } })
    await engine.clock.runToEnd()
    const { error, output } = await engine.runs.get(run.id)
    expect({ error, output }).toEqual({ error: null, output: "7 by 3" })
  })

  it("are told by validate, with their types and what is required", async () => {
    await using engine = await testEngine()
    const workflowId = await calling(engine, await made(engine))
    const { nodes, valid } = await engine.workflows.validate(workflowId, { values: { number: 1 } })
    const ports = nodes.find(({ nodeId }) => nodeId === "call")!.inputPorts
    expect(valid).toBe(true)
    expect(ports.map(({ name, required }) => [name, required])).toEqual([
      ["workflowId", true],
      ["workflowVersion", false],
      ["values", false],
      ["item", true],
      ["factor", false],
    ])
    expect(ports.find(({ name }) => name === "factor")!.schema).toEqual({
      type: "number",
      default: 2,
    })
  })

  it("are checked at the start: what is no field, or of another type, is refused", async () => {
    await using engine = await testEngine()
    const id = await made(engine)
    const values = { number: 1 }
    const odd = await calling(engine, id, { factor: "three" })
    expect(await sentenceOf(engine.runs.start({ workflowId: odd, values }))).toBe(
      'Node "call": input "factor": expected a number',
    )
    const other = await calling(engine, id, { faktor: 3 })
    expect(await sentenceOf(engine.runs.start({ workflowId: other, values }))).toMatch(
      /^Node "call": has no input "faktor"; did you mean "factor"/,
    )
  })
})

describe("workflows.addNode", () => {
  it("sets fields of the workflow that the new node calls, and tells its ports", async () => {
    await using engine = await testEngine()
    const [id, other] = [await made(engine), await made(engine)]
    const inputs = { workflowId: id, item: 3 }
    const added = await engine.workflows.addNode(other, { nodeType: "sub_workflow", inputs })
    expect(added.inputPorts).toEqual(["workflowId", "workflowVersion", "values", "item", "factor"])
    const odd = { ...inputs, item: "three", faktor: 1 }
    expect(
      await sentenceOf(engine.workflows.addNode(other, { nodeType: "sub_workflow", inputs: odd })),
    ).toBe(
      "inputs.item: expected a number; inputs.faktor: sub_workflow has no such input; it has " +
        "workflowId, workflowVersion, values, item, factor",
    )
  })
})

describe("a called workflow", () => {
  it("is executed as it was at the start of the run, also once it is gone", async () => {
    await using engine = await testEngine()
    const id = await made(engine)
    const workflowId = await calling(engine, id)
    const values = { number: 7 }
    const [first, second] = [
      await engine.runs.start({ workflowId, values }),
      await engine.runs.start({ workflowId, values }),
    ]
    await changed(engine, id)
    const third = await engine.runs.start({ workflowId, values })
    await engine.crash()
    await engine.restart()
    await engine.clock.advance("30 minutes")
    await engine.workflows.remove(id)
    await engine.clock.runToEnd()
    const outputs = await Promise.all(
      [first, second, third].map(async (run) => (await engine.runs.get(run.id)).output),
    )
    expect(outputs).toEqual(["7 by 2", "7 by 2", "7 by 100"])
  })

  it("that is not there is refused at the start, with the node that names it", async () => {
    await using engine = await testEngine()
    const workflowId = await calling(engine, "wf_none")
    expect(await sentenceOf(engine.runs.start({ workflowId, values: { number: 1 } }))).toMatch(
      /Node "call": input "workflowId": there is no workflow "wf_none"/,
    )
    for (const odd of ["", "__proto__", "x".repeat(5_000), "a\u0000b"]) {
      const drawn = [node("call", "sub_workflow", { workflowId: odd })]
      const { id } = await engine.workflows.create({ name: "Odd", nodes: drawn, edges: [] })
      expect(await sentenceOf(engine.runs.start({ workflowId: id }))).toMatch(
        /there is no workflow/,
      )
    }
    const { problems } = await engine.workflows.validate(workflowId, { values: { number: 1 } })
    expect(problems).toContainEqual(expect.objectContaining({ nodeId: "call", port: "workflowId" }))
  })

  it("that was changed is executed anew by a rerun with the current definition", async () => {
    await using engine = await testEngine()
    const id = await made(engine)
    const workflowId = await calling(engine, id)
    const run = await engine.runs.start({ workflowId, values: { number: 7 } })
    await engine.clock.runToEnd()
    await changed(engine, id)
    const again = await engine.runs.rerun(run.id, { definition: "current" })
    await engine.clock.runToEnd()
    const { output } = await engine.runs.get(again.id)
    expect(output).toBe("7 by 100")
    const { pause } = await again.nodes()
    expect(pause!.logs![0]!.message).toMatch(/Taken over/)
    const same = await engine.runs.rerun(run.id, { from: ["call"] })
    await engine.clock.runToEnd()
    expect((await engine.runs.get(same.id)).output).toBe("7 by 2")
  })
})

describe("the version of a called workflow", () => {
  /** Says which of its contents it is: two published ones, and a draft. */
  const told = async (engine: Engine) => {
    const content = (text: string) => [node("out", "response", { input: text })]
    const { id } = await engine.workflows.create({ name: "Told", nodes: content("one") })
    await engine.workflows.publish(id)
    await engine.workflows.update(id, { nodes: content("two") })
    await engine.workflows.publish(id)
    await engine.workflows.update(id, { nodes: content("draft") })
    return { id, edit: () => engine.workflows.update(id, { nodes: content("edited") }) }
  }

  /** A workflow whose nodes of this type call another one, after an hour, by these inputs. */
  const callers = async (
    engine: Engine,
    type: "sub_workflow" | "for_each",
    inputs: Readonly<Record<string, object>>,
  ) => {
    const nodes = [
      node("in", "request", { fields: [{ name: "version", type: "string", default: "draft" }] }),
      node("pause", "delay", { for: "1 hour", input: {} }),
      ...Object.entries(inputs).map(([id, each]) => node(id, type, each)),
    ]
    const edges = Object.keys(inputs).map((id) => edge("pause", `${id}.values`))
    return (await engine.workflows.create({ name: "Callers", nodes, edges })).id
  }

  it("is the published one, or the draft or the number that the node asks for", async () => {
    await using engine = await testEngine()
    const { edit, id } = await told(engine)
    const workflowId = await callers(engine, "sub_workflow", {
      published: { workflowId: id },
      first: { workflowId: id, workflowVersion: 1 },
      second: { workflowId: id, workflowVersion: 2 },
      draft: { workflowId: id, workflowVersion: "draft" },
    })
    const computed = await callers(engine, "sub_workflow", {
      call: { workflowId: id, workflowVersion: "{{ values.version }}" },
    })
    const run = await engine.runs.start({ workflowId })
    const later = await engine.runs.start({ workflowId: computed })
    await edit()
    await engine.crash()
    await engine.restart()
    await engine.clock.runToEnd()
    const outputs = Object.entries(await run.nodes()).map(([nodeId, { output }]) => [
      nodeId,
      output?.["output"],
    ])
    expect(Object.fromEntries(outputs)).toMatchObject({
      published: "two",
      first: "one",
      second: "two",
      draft: "draft",
    })
    // What is computed is read when the child starts.
    expect((await later.nodes())["call"]!.output).toMatchObject({ output: "edited" })
    const children = (await engine.runs.list({ parent: run.id })).items
    const versions = children.map(({ workflowVersion }) => workflowVersion ?? 0)
    expect(versions.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 2])
  })

  it("holds for each item of a loop, and a rerun calls it anew only if it changed", async () => {
    await using engine = await testEngine()
    const { edit, id } = await told(engine)
    const items = [1, 2]
    const workflowId = await callers(engine, "for_each", {
      first: { items, workflowId: id, workflowVersion: 1 },
      draft: { items, workflowId: id, workflowVersion: "draft" },
    })
    const run = await engine.runs.start({ workflowId })
    await engine.clock.runToEnd()
    const resultsOf = async (nodeId: string, { nodes }: Pick<typeof run, "nodes">) =>
      (await nodes())[nodeId]!.output!["results"]
    expect(await resultsOf("first", run)).toEqual(["one", "one"])
    expect(await resultsOf("draft", run)).toEqual(["draft", "draft"])
    await edit()
    await engine.workflows.publish(id)
    const again = await engine.runs.rerun(run.id, { definition: "current" })
    await engine.clock.runToEnd()
    expect(await resultsOf("draft", again)).toEqual(["edited", "edited"])
    expect((await again.nodes())["first"]!.logs![0]!.message).toMatch(/Taken over/)
  })

  it("is refused at the start if there is none of this number, or it is no version", async () => {
    await using engine = await testEngine()
    const { id } = await told(engine)
    const refusedOf = async (workflowVersion: unknown) => {
      const call = { workflowId: id, workflowVersion }
      const workflowId = await callers(engine, "sub_workflow", { call })
      return sentenceOf(engine.runs.start({ workflowId }))
    }
    expect(await refusedOf(7)).toBe(
      'Node "call": input "workflowId": there is no version 7 of workflow "wf"',
    )
    for (const odd of [0, 1.5, "published", true]) {
      expect(await refusedOf(odd)).toMatch(/^Node "call": input "workflowVersion": expected/i)
    }
    const workflowId = await callers(engine, "sub_workflow", {
      call: { workflowId: `${id}@1` },
      other: { workflowId: id, workflowVersion: 1 },
    })
    expect(await sentenceOf(engine.runs.start({ workflowId }))).toMatch(/there is no workflow/)
  })

  it("that never ends is refused, and one that calls a version of before is not", async () => {
    await using engine = await testEngine()
    const { id } = await told(engine)
    const calls = (workflowVersion: unknown) => ({
      nodes: [node("call", "sub_workflow", { workflowId: id, workflowVersion })],
      edges: [],
    })
    await engine.workflows.update(id, calls(1))
    const run = await engine.runs.start({ workflowId: id, version: "draft" })
    expect((await run.wait()).status).toBe("COMPLETED")
    await engine.workflows.update(id, calls("draft"))
    expect(await sentenceOf(engine.runs.start({ workflowId: id, version: "draft" }))).toMatch(
      /its run would never end: "wf@draft" calls "wf@draft"/,
    )
  })
})

describe("workflows that call each other in a circle", () => {
  const circle = async (engine: Engine, isInBranch: boolean) => {
    const first = await caller(engine, "wf_later")
    const third = await caller(engine, first, isInBranch)
    const second = await caller(engine, third)
    const { nodes } = await engine.workflows.get(first)
    const drawn = nodes.map((each) =>
      each.id === "call" ? { ...each, data: { inputs: { workflowId: second } } } : each,
    )
    await engine.workflows.update(first, { nodes: drawn })
    return first
  }

  it("are refused by validate and start if no condition ends them, also over three", async () => {
    await using engine = await testEngine()
    const workflowId = await circle(engine, false)
    const sentence =
      'Node "call": its run would never end: "wf" calls "wf" calls "wf" calls "wf", without a ' +
      "condition; call it in a branch"
    expect(await sentenceOf(engine.runs.start({ workflowId }))).toBe(sentence)
    const { problems } = await engine.workflows.validate(workflowId)
    expect(problems).toHaveLength(1)
  })

  it("are accepted if one is called in a branch, and end at the depth of runs", async () => {
    await using engine = await testEngine()
    const run = await engine.runs.start({ workflowId: await circle(engine, true) })
    expect((await run.wait()).error).toMatch(/11 deep/)
  })
})

describe("a workflow that asks a person", () => {
  it("is passed by no pin, override or rerun of a workflow that calls it", async () => {
    await using engine = await testEngine()
    const { id: asking } = await engine.workflows.create(
      engine
        .workflow("Ask")
        .node("ask", "approval", { title: "Pay?", roles: ["editor"] })
        .node("out", "response")
        .edge("ask.approved", "out.input"),
    )
    const other = await made(engine)
    const { id: workflowId } = await engine.workflows.create(
      engine
        .workflow("Pay")
        .node("call", "sub_workflow", { workflowId: asking })
        .node("pay", "transform", { template: "paid" })
        .edge("call.output", "pay.input"),
    )
    const tried = (extra: object) => sentenceOf(engine.runs.start({ workflowId, ...extra }))
    const output = { output: "yes", runId: "run_1" }
    expect(await tried({ pinnedOutputs: { call: output } })).toMatch(
      /^Pinned output of node "call"/,
    )
    expect(await tried({ pinnedOutputs: { pay: { output: 1 } } })).toMatch(/which no start skips/)
    const overrides = { call: { workflowId: other } }
    expect(await tried({ graphInputOverrides: overrides })).toMatch(/Input override "workflowId"/)
    const version = { call: { workflowVersion: "draft" } }
    expect(await tried({ graphInputOverrides: version })).toMatch(/override "workflowVersion"/)
    const nodeOverrides = [node("call", "transform", { template: "yes" })]
    expect(await tried({ nodeOverrides })).toMatch(/Node override "call"/)
    expect(await tried({ singleNodeId: "pay" })).toMatch(/cannot run alone/)
    const run = await engine.runs.start({ workflowId })
    await engine.clock.advance("1 second")
    const [child] = (await engine.runs.list({ parent: run.id })).items
    await engine.approvals.decide(child!.id, "ask", { outcome: "approved" })
    await run.wait()
    const again = await engine.runs.rerun(run.id, { from: ["pay"] })
    expect((await again.nodes())["call"]!.status).toBe("WAITING")
  })
})
