/**
 * What a caller can rely on about runs: starting, awaiting, canceling, reading, listing.
 */
import type { RunItem } from "millrace"
import { createEngine, defineNode } from "millrace"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { gate, refusal } from "./Sample.ts"

const join = defineNode({
  type: "join",
  inputs: { left: z.string(), right: z.string() },
  outputs: { text: z.string() },
  run: ({ inputs }) => ({ text: inputs.left + inputs.right }),
})

const greet = defineNode({
  type: "greet",
  inputs: { name: z.string(), greeting: z.string().default("Hello") },
  outputs: { text: z.string() },
  run: ({ inputs }) => ({ text: `${inputs.greeting} ${inputs.name}` }),
})

/** A type whose handler starts and does not end by itself. */
const endless = () => {
  const started = gate()
  const aborted = gate()
  const type = defineNode({
    type: "endless",
    inputs: {},
    outputs: {},
    run: ({ signal }) => {
      signal.addEventListener("abort", aborted.open)
      started.open()
      return new Promise<void>(() => {})
    },
  })
  return { type, started: started.opened, aborted: aborted.opened }
}

const greetings = async () => {
  const engine = await createEngine({ nodes: [greet, join] })
  const { id } = await engine.workflows.create(
    engine
      .workflow("Greeting")
      .node("in", "request", { fields: [{ name: "name", type: "string", required: true }] })
      .node("greet", "greet")
      .node("out", "response")
      .edge("in.name", "greet.name")
      .edge("greet.text", "out.input"),
  )
  return { engine, id }
}

describe("runs.start", () => {
  it("runs a workflow with values to its output", async () => {
    const { engine, id } = await greetings()
    await using _ = engine
    const run = await engine.runs.start({ workflowId: id, values: { name: "Ada" } })
    const result = await run.wait()
    expect(result).toMatchObject({
      id: run.id,
      workflowId: id,
      status: "COMPLETED",
      error: null,
      output: "Hello Ada",
      actualCredits: 0,
    })
    expect(Object.keys(result.nodes)).toEqual(["in", "greet", "out"])
    expect(result.nodes["greet"]).toMatchObject({
      status: "COMPLETED",
      input: { name: "Ada" },
      output: { text: "Hello Ada" },
      error: null,
    })
  })

  it("lays overrides of inputs and whole nodes over the workflow, for this run only", async () => {
    const { engine, id } = await greetings()
    await using _ = engine
    const workflow = await engine.workflows.get(id)
    const node = workflow.nodes.find((each) => each.id === "greet")!
    const run = await engine.runs.start({
      workflowId: id,
      values: { name: "Ada" },
      graphInputOverrides: { greet: { name: "Grace" } },
      nodeOverrides: [{ ...node, data: { inputs: { greeting: "Good day" } } }],
      viewport: { x: 0, y: 0, zoom: 1 },
      source: "ui",
    })
    expect((await run.wait()).output).toBe("Good day Grace")
    expect(await engine.workflows.get(id)).toEqual(workflow)
  })

  it("completes a node with an output of an earlier run, and does not execute it", async () => {
    const { engine, id } = await greetings()
    await using _ = engine
    const start = { workflowId: id, values: { name: "Ada" } }
    const { nodes } = await (await engine.runs.start(start)).wait()
    const earlier = nodes["greet"]!.output!
    const pinnedOutputs = { greet: { text: `${String(earlier["text"])} again` } }
    const run = await (await engine.runs.start({ ...start, pinnedOutputs })).wait()
    expect(run.output).toBe("Hello Ada again")
    expect(run.nodes["greet"]).toMatchObject({ pinned: true, attempt: 0, credits: 0 })
    expect(run.nodes["out"]).not.toHaveProperty("pinned")
    const wrong = { ...start, pinnedOutputs: { greet: { text: 7 } } }
    const error = await refusal(engine.runs.start(wrong))
    expect(error.problems).toEqual([
      'Pinned output of node "greet": output "text": expected string',
    ])
  })

  it("names every missing input by node and port, and starts nothing", async () => {
    await using engine = await createEngine({ nodes: [join] })
    const { id } = await engine.workflows.create(
      engine
        .workflow("Missing")
        .node("one", "join", { left: "a" })
        .node("two", "join")
        .edge("one.text", "two.left"),
    )
    const error = await refusal(engine.runs.start({ workflowId: id }))
    expect(error.code).toBe("INVALID_GRAPH")
    expect(error.problems).toHaveLength(2)
    expect(error.problems[0]).toMatch(/"one".*"right"/)
    expect(error.problems[1]).toMatch(/"two".*"right"/)
    expect(error.message).toBe(error.problems.join("; "))
    expect((await engine.runs.list()).items).toEqual([])
  })

  it("refuses values that the request node does not declare, and a missing one", async () => {
    const { engine, id } = await greetings()
    await using _ = engine
    const error = await refusal(engine.runs.start({ workflowId: id, values: { nmae: "Ada" } }))
    expect(error.code).toBe("INVALID_GRAPH")
    expect(error.problems).toHaveLength(2)
    expect(error.message).toContain('"nmae"')
  })

  it("refuses an unknown workflow, and a request of the wrong form", async () => {
    await using engine = await createEngine()
    expect((await refusal(engine.runs.start({ workflowId: "wf_x" }))).code).toBe(
      "WORKFLOW_NOT_FOUND",
    )
    const wrong = { workflowId: "wf_x", values: 5 } as unknown as { workflowId: string }
    expect(await refusal(engine.runs.start(wrong))).toMatchObject({
      code: "INVALID_REQUEST",
      message: "values: expected an object",
    })
  })

  it("refuses a field that there is not, and takes one that is undefined", async () => {
    const { engine, id } = await greetings()
    await using _ = engine
    const messageOf = async (extra: object) => {
      const request: { workflowId: string } = { workflowId: id, ...extra }
      const [started, estimated] = [
        await refusal(engine.runs.start(request)),
        await refusal(engine.runs.estimate(request)),
      ]
      expect([started.code, estimated.code]).toEqual(["INVALID_REQUEST", "INVALID_REQUEST"])
      expect(estimated.message).toBe(started.message)
      return started.message
    }
    expect(await messageOf({ maxCredit: 1 })).toBe(
      'unknown field "maxCredit"; did you mean "maxCredits"?',
    )
    expect((await engine.runs.list()).items).toEqual([])
    await engine.runs.start({
      workflowId: id,
      values: { name: "Ada" },
      webhook: undefined,
    } as never)
  })
})

describe("wait", () => {
  it("rejects after its timeout while the run goes on", async () => {
    const { started, type } = endless()
    await using engine = await createEngine({ nodes: [type], grace: 0 })
    const { id } = await engine.workflows.create(engine.workflow("Endless").node("n", "endless"))
    const run = await engine.runs.start({ workflowId: id })
    await started
    const error = await refusal(run.wait({ timeout: "20 millis" }))
    expect(error).toMatchObject({
      code: "TIMEOUT",
      message: `Run ${run.id} did not end within 20 millis; it goes on`,
    })
    expect((await engine.runs.get(run.id)).status).toBe("RUNNING")
  })

  it("refuses an unknown run", async () => {
    await using engine = await createEngine()
    expect((await refusal(engine.runs.wait("run_x"))).code).toBe("RUN_NOT_FOUND")
    expect((await refusal(engine.runs.get("run_x"))).code).toBe("RUN_NOT_FOUND")
  })
})

describe("cancel", () => {
  it("ends the run at once and aborts the handler's signal", async () => {
    const { aborted, started, type } = endless()
    await using engine = await createEngine({ nodes: [type], grace: 0 })
    const { id } = await engine.workflows.create(engine.workflow("Endless").node("n", "endless"))
    const run = await engine.runs.start({ workflowId: id })
    await started
    const waiting = run.wait()
    await run.cancel()
    await aborted
    expect(await waiting).toMatchObject({
      status: "CANCELED",
      error: null,
      nodes: { n: { status: "CANCELED" } },
    })
    await run.cancel()
  })

  it("aborts no signal of a handler that has ended, however it has ended", async () => {
    const signals: Array<AbortSignal> = []
    const ending = defineNode({
      type: "ending",
      inputs: { fails: z.boolean() },
      outputs: {},
      run: async ({ inputs, signal }) => {
        signals.push(signal)
        await Promise.resolve()
        if (inputs.fails) throw new Error("no")
      },
    })
    const { type } = endless()
    await using engine = await createEngine({ nodes: [ending, type], grace: 0 })
    const drawing = engine
      .workflow("Ends")
      .node("good", "ending", { fails: false })
      .node("bad", "ending", { fails: true })
      .node("n", "endless")
    const { id } = await engine.workflows.create(drawing)
    const run = await engine.runs.start({ workflowId: id })
    const statusOfBad = async () => (await engine.runs.get(run.id)).nodes["bad"]?.status
    await expect.poll(statusOfBad).toBe("FAILED")
    await run.cancel()
    expect(await run.wait()).toMatchObject({ nodes: { good: { status: "COMPLETED" } } })
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
  })

  it("does not mind a handler that rejects because its signal was aborted", async () => {
    const started = gate()
    const rejected = gate()
    const fetching = defineNode({
      type: "fetching",
      inputs: {},
      outputs: {},
      run: ({ signal }) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener("abort", () => {
            reject(signal.reason as Error)
            rejected.open()
          })
          started.open()
        }),
    })
    await using engine = await createEngine({ nodes: [fetching] })
    const { id } = await engine.workflows.create(engine.workflow("Fetch").node("n", "fetching"))
    const run = await engine.runs.start({ workflowId: id })
    await started.opened
    await run.cancel()
    await rejected.opened
    expect((await run.wait()).nodes["n"]).toMatchObject({ status: "CANCELED", error: null })
  })

  it("is refused once the run has ended otherwise", async () => {
    const { engine, id } = await greetings()
    await using _ = engine
    const run = await engine.runs.start({ workflowId: id, values: { name: "Ada" } })
    await run.wait()
    expect((await refusal(run.cancel())).code).toBe("RUN_ENDED")
    expect((await refusal(engine.runs.cancel("run_x"))).code).toBe("RUN_NOT_FOUND")
  })
})

describe("runs.list", () => {
  it("gives runs newest first, by workflow and status, with exactly their fields", async () => {
    const { engine, id } = await greetings()
    await using _ = engine
    const other = await engine.workflows.create(engine.workflow("Fails").node("n", "fail"))
    const ids: Array<string> = []
    for (const name of ["Ada", "Grace", "Edith"]) {
      const run = await engine.runs.start({ workflowId: id, values: { name } })
      await run.wait()
      ids.unshift(run.id)
    }
    await (await engine.runs.start({ workflowId: other.id })).wait()
    const seen: Array<RunItem> = []
    for await (const item of engine.runs.list({ workflowId: id, limit: 2 })) seen.push(item)
    expect(seen.map((item) => item.id)).toEqual(ids)
    expect(seen[0]).toEqual({
      id: ids[0],
      workflowId: id,
      workflowName: "Greeting",
      status: "COMPLETED",
      mode: "full",
      source: "api",
      createdAt: expect.any(String),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
      error: null,
      estimatedCredits: 0,
      actualCredits: 0,
      nodeRunCount: 3,
    })
    const failed = await engine.runs.list({ status: "FAILED" })
    expect(failed.items.map((item) => item.workflowName)).toEqual(["Fails"])
    expect(failed.nextCursor).toBeNull()
  })
})
