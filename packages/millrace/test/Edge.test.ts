/**
 * What a start says of edges between ports of declared types.
 */
import type { WorkflowDocument } from "millrace"
import { createEngine, defineNode } from "millrace"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { make } from "../src/Port.ts"
import { refusal } from "./Sample.ts"

const page = defineNode({
  type: "page",
  inputs: {},
  outputs: { body: z.string(), status: z.number(), tags: z.array(z.string()) },
  run: () => ({ body: "12", status: 200, tags: [] }),
})

const take = defineNode({
  type: "take",
  inputs: {
    text: z.string().optional(),
    least: z.coerce.number().min(5).optional(),
    sizes: z.array(z.number()).optional(),
    date: Schema.optionalKey(Schema.DateFromString),
  },
  outputs: { least: z.number().optional() },
  run: ({ inputs }) => ({ least: inputs.least }),
})

const joined = (sourceHandle: string, targetHandle: string): WorkflowDocument => ({
  name: "Joined",
  nodes: [
    { id: "page", type: "page", position: { x: 0, y: 0 } },
    { id: "take", type: "take", position: { x: 1, y: 0 } },
  ],
  edges: [{ id: "e", source: "page", sourceHandle, target: "take", targetHandle }],
})

describe("An edge", () => {
  it.each([
    ["status", "text", "a number", "a string"],
    ["tags", "text", "an array", "a string"],
    ["status", "date", "a number", "a string"],
  ])("from %s to %s is saved, and refused by a start", async (output, input, given, taken) => {
    await using engine = await createEngine({ nodes: [page, take] })
    const { id } = await engine.workflows.create(joined(output, input))
    const error = await refusal(engine.runs.start({ workflowId: id }))
    const message =
      `Edge "e": output "${output}" of node "page" gives ${given}, ` +
      `and input "${input}" of node "take" takes ${taken}`
    expect(error.problems).toEqual([message])
    expect((await engine.workflows.validate(id)).problems).toEqual([
      { message, nodeId: "take", edgeId: "e", port: input },
    ])
  })

  it("into an input that converts is fine", async () => {
    await using engine = await createEngine({ nodes: [page, take] })
    const { id } = await engine.workflows.create(joined("body", "least"))
    const run = await engine.runs.start({ workflowId: id })
    expect((await run.wait()).nodes["take"]?.output).toEqual({ least: 12 })
  })

  it("whose items may not fit is a warning", async () => {
    await using engine = await createEngine({ nodes: [page, take] })
    const { id } = await engine.workflows.create(joined("tags", "sizes"))
    const { problems, warnings } = await engine.workflows.validate(id)
    expect(problems).toEqual([])
    expect(warnings.map(({ message }) => message)).toEqual([
      'Edge "e": output "tags" of node "page" may not fit input "sizes" of node "take": ' +
        "each item is a string, and a number is expected",
    ])
    const run = await engine.runs.start({ workflowId: id })
    expect((await run.wait()).status).toBe("COMPLETED")
  })
})

describe("The schema of a port", () => {
  it.each([
    ["coerce", z.coerce.number(), true],
    ["coerce inside", z.object({ n: z.coerce.number().optional() }), true],
    ["catch", z.string().catch("x"), true],
    ["preprocess", z.preprocess((value) => Number(value), z.number()), true],
    ["preprocess before an optional value", z.preprocess(String, z.string()).optional(), true],
    ["no conversion", z.object({ n: z.number().default(1) }), false],
    ["a conversion of what has passed", z.string().transform(Number).pipe(z.number()), false],
    ["Effect", Schema.NumberFromString, false],
  ])("with %s says whether other types may arrive", (_, schema, converts) => {
    expect(make(schema).convertsTypes).toBe(converts)
  })
})
