/**
 * What an author of a node type can rely on.
 */
import { Effect } from "effect"
import type { NodeContext, NodeType } from "millrace"
import { createEngine, defineNode, NodeError } from "millrace"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { gate, runOne } from "./Sample.ts"

const returning = (value: unknown): NodeType =>
  defineNode({
    type: "returning",
    inputs: {},
    outputs: { value: z.any() },
    run: () => value as { value: unknown },
  })

describe("defineNode", () => {
  it("hands validated inputs to the handler and its outputs on", async () => {
    const shout = defineNode({
      type: "text.shout",
      inputs: { text: z.string().trim(), times: z.number().default(2) },
      outputs: { loud: z.string() },
      run: ({ inputs }) => ({ loud: inputs.text.toUpperCase().repeat(inputs.times) }),
    })
    const { node, status } = await runOne(shout, { text: " hey " })
    expect(status).toBe("COMPLETED")
    expect(node.output).toEqual({ loud: "HEYHEY" })
  })

  it("awaits a promise", async () => {
    const later = defineNode({
      type: "later",
      inputs: {},
      outputs: { n: z.number() },
      run: async () => {
        await Promise.resolve()
        return { n: 7 }
      },
    })
    expect((await runOne(later)).node.output).toEqual({ n: 7 })
  })

  it("lets a type without required outputs return nothing", async () => {
    const quiet = defineNode({ type: "quiet", inputs: {}, outputs: {}, run: () => {} })
    expect((await runOne(quiet)).node).toMatchObject({ status: "COMPLETED", output: {} })
  })

  it("takes the branch whose output is there and skips the other", async () => {
    const sides = { inputs: {}, outputs: { left: z.null().optional(), right: z.null().optional() } }
    const branch = defineNode({ type: "branch", ...sides, run: () => ({ left: null }) })
    const end = defineNode({ type: "end", inputs: { in: z.any() }, outputs: {}, run: () => {} })
    await using engine = await createEngine({ nodes: [branch, end] })
    const drawn = engine
      .workflow("Branch")
      .node("branch", "branch")
      .node("left", "end")
      .node("right", "end")
      .edge("branch.left", "left.in")
      .edge("branch.right", "right.in")
    const { id } = await engine.workflows.create(drawn)
    const { nodes, status } = await (await engine.runs.start({ workflowId: id })).wait()
    expect(status).toBe("COMPLETED")
    expect(nodes["left"]?.status).toBe("COMPLETED")
    expect(nodes["right"]?.status).toBe("SKIPPED")
  })

  it("uses the first mode unless the node has another one", async () => {
    const modal = defineNode({
      type: "modal",
      inputs: {},
      outputs: { mode: z.string() },
      modes: ["fast", "best"],
      run: ({ mode }) => ({ mode }),
    })
    expect((await runOne(modal)).node.output).toEqual({ mode: "fast" })
    expect((await runOne(modal, {}, { mode: "best" })).node.output).toEqual({ mode: "best" })
  })

  it("tells the handler which run and node it is, with a key for both", async () => {
    let seen: NodeContext<{}, ""> | undefined
    const curious = defineNode({
      type: "curious",
      inputs: {},
      outputs: {},
      run: (context) => {
        seen = context
      },
    })
    const { id } = await runOne(curious)
    expect(seen).toMatchObject({ runId: id, nodeId: "node", attempt: 1, mode: "" })
    expect(seen?.idempotencyKey).toBe(`${id}:node`)
    expect(seen?.signal.aborted).toBe(false)
  })

  it("has all of its context in a copy of it", async () => {
    const copies: Array<NodeContext<{}, "">> = []
    const copying = defineNode({
      type: "copying",
      inputs: {},
      outputs: {},
      run: (context) => {
        copies.push({ ...context })
        const { credits, log } = context
        log.info("copied")
        credits.add(3)
      },
    })
    const { actualCredits, id, node } = await runOne(copying)
    expect(copies[0]).toMatchObject({ runId: id, nodeId: "node", attempt: 1, mode: "", inputs: {} })
    expect(copies[0]?.signal.aborted).toBe(false)
    expect(node.logs).toMatchObject([{ level: "info", message: "copied" }])
    expect(actualCredits).toBe(3)
  })

  it("keeps what the handler logs with its node", async () => {
    const chatty = defineNode({
      type: "chatty",
      inputs: {},
      outputs: {},
      run: ({ log }) => {
        log.debug("one")
        log.info("two", { answer: 42 })
        log.warn("three")
        log.error("four", () => "no JSON")
      },
    })
    const { node } = await runOne(chatty)
    expect(node.logs).toMatchObject([
      { level: "debug", message: "one", attempt: 1 },
      { level: "info", message: "two", data: { answer: 42 } },
      { level: "warn", message: "three" },
      { level: "error", message: "four" },
    ])
    expect(node.logs?.[3]).not.toHaveProperty("data")
  })

  it("estimates credits from mode and literals, and charges what the handler adds", async () => {
    const priced = defineNode({
      type: "priced",
      inputs: { words: z.number() },
      outputs: {},
      modes: ["cheap", "dear"],
      credits: ({ inputs, mode }) => (mode === "dear" ? 10 : 1) * (inputs.words ?? 0),
      run: ({ credits, mode }) => {
        if (mode === "dear") credits.add(2.5)
        if (mode === "dear") credits.add(0.5)
      },
    })
    expect((await runOne(priced, { words: 3 })).actualCredits).toBe(3)
    expect((await runOne(priced, { words: 3 }, { mode: "dear" })).actualCredits).toBe(3)
    expect((await runOne(priced, { words: 4 }, { mode: "dear" })).actualCredits).toBe(3)
  })

  it("takes several edges into an input that is declared so", async () => {
    const sum = defineNode({
      type: "sum",
      inputs: { numbers: z.array(z.number()) },
      multiple: ["numbers"],
      outputs: { sum: z.number() },
      run: ({ inputs }) => ({ sum: inputs.numbers.reduce((a, b) => a + b, 0) }),
    })
    await using engine = await createEngine({ nodes: [sum] })
    const { id } = await engine.workflows.create(
      engine
        .workflow("Sum")
        .node("a", "constant", { value: 2 })
        .node("b", "constant", { value: 40 })
        .node("sum", "sum")
        .edge("a.output", "sum.numbers")
        .edge("b.output", "sum.numbers"),
    )
    const { nodes } = await (await engine.runs.start({ workflowId: id })).wait()
    expect(nodes["sum"]?.output).toEqual({ sum: 42 })
  })
})

describe("A handler that goes wrong", () => {
  const throwing = (thrown: unknown) =>
    defineNode({
      type: "throwing",
      inputs: {},
      outputs: {},
      run: () => {
        throw thrown
      },
    })

  it.each([
    ["an error", new Error("out of paper"), "out of paper"],
    ["a text", "out of ink", "out of ink"],
    ["an error without words", new TypeError(""), "TypeError"],
  ])("fails its node with the message of %s", async (_, thrown, message) => {
    const { error, node, status } = await runOne(throwing(thrown))
    expect(status).toBe("FAILED")
    expect(node).toMatchObject({ status: "FAILED", error: message, output: null })
    expect(error).toBe(`Node "node" failed: ${message}`)
  })

  it("fails its node when its promise rejects", async () => {
    const rejecting = defineNode({
      type: "rejecting",
      inputs: {},
      outputs: {},
      run: () => Promise.reject(new Error("not today")),
    })
    expect((await runOne(rejecting)).node).toMatchObject({ status: "FAILED", error: "not today" })
  })

  it("leaves the code of a NodeError in the node's log", async () => {
    const { node } = await runOne(
      throwing(new NodeError("quota used up", { retryable: false, code: "QUOTA" })),
    )
    expect(node.error).toBe("quota used up")
    expect(node.logs).toMatchObject([
      { level: "error", message: "quota used up", data: { code: "QUOTA" } },
    ])
  })

  it("fails its node when it returns an Effect, and says what to return", async () => {
    const lazy = defineNode({
      type: "lazy",
      inputs: {},
      outputs: { known: z.number() },
      run: () => Effect.succeed({ known: 1 }) as never,
    })
    const { node } = await runOne(lazy)
    expect(node.error).toBe(
      "the handler returned an Effect, which nothing runs; return Effect.runPromise(...) of it",
    )
  })

  it("fails its node when it returns a port that is not declared", async () => {
    const extra: NodeType = defineNode({
      type: "extra",
      inputs: {},
      outputs: { known: z.number() },
      run: () => ({ known: 1, unknown: 2 }),
    })
    const { node } = await runOne(extra)
    expect(node.status).toBe("FAILED")
    expect(node.error).toBe(
      'the handler returned output "unknown", which is not declared; declared: known',
    )
  })

  it.each([
    ["a function", () => 1, "a value of type function is not JSON"],
    ["a big integer", 1n, "a value of type bigint is not JSON"],
    ["a date", new Date(0), "an instance of Date is not JSON"],
    ["not a number", Number.NaN, "NaN is not a JSON number"],
  ])("fails its node when an output is %s", async (_, value, reason) => {
    const { node } = await runOne(returning({ value }))
    expect(node.status).toBe("FAILED")
    expect(node.error).toBe(`output "value" is not JSON: ${reason}`)
  })

  it.each([
    ["a number", 5],
    ["an array", [1]],
    ["a text", "x"],
  ])("fails its node when it returns %s instead of ports", async (_, value) => {
    expect((await runOne(returning(value))).node.status).toBe("FAILED")
  })

  it("fails its node when an output does not fit or is missing, naming each", async () => {
    const wrong = defineNode({
      type: "wrong",
      inputs: {},
      outputs: { a: z.number(), b: z.string() },
      run: () => ({ a: "1" }) as unknown as { a: number; b: string },
    })
    const { node } = await runOne(wrong)
    expect(node.status).toBe("FAILED")
    expect(node.error).toMatch(/^output "a": .*expected number.*; output "b": .*expected string/)
  })

  it("fails its node when it charges what is no amount", async () => {
    const greedy = defineNode({
      type: "greedy",
      inputs: {},
      outputs: {},
      run: ({ credits }) => credits.add(-1),
    })
    expect((await runOne(greedy)).node).toMatchObject({
      status: "FAILED",
      error: "charged -1 credits; a charge is a number from 0 of at most six decimals",
    })
  })

  it("does not disturb other runs", async () => {
    const started = gate()
    const finish = gate()
    const slow = defineNode({
      type: "slow",
      inputs: {},
      outputs: {},
      run: async () => {
        started.open()
        await finish.opened
      },
    })
    const bad = throwing(new Error("no"))
    await using engine = await createEngine({ nodes: [slow, bad] })
    const one = await engine.workflows.create(engine.workflow("Slow").node("node", "slow"))
    const two = await engine.workflows.create(engine.workflow("Bad").node("node", "throwing"))
    const slowRun = await engine.runs.start({ workflowId: one.id })
    await started.opened
    const badRun = await engine.runs.start({ workflowId: two.id })
    expect((await badRun.wait()).status).toBe("FAILED")
    finish.open()
    expect((await slowRun.wait()).status).toBe("COMPLETED")
  })
})
