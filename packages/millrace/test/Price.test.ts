// What node types cost where the application sets prices.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine, defineNode, pglite } from "millrace"
import { afterAll, describe, expect, it } from "vitest"
import { z } from "zod"
import { gate, refusal } from "./Sample.ts"

const root = mkdtempSync(join(tmpdir(), "millrace-prices-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const started = gate()
let stuck = true

/** Costs one credit, and hangs until the engine closes the first time. */
const search = defineNode({
  type: "search",
  modes: ["quick", "deep"],
  inputs: {},
  outputs: {},
  credits: 1,
  run: async () => {
    started.open()
    if (stuck) await new Promise(() => {})
  },
})

describe("createEngine({ prices })", () => {
  it("sets what runs cost that start from then on, and a run keeps the price", async () => {
    const open = (deep: number) =>
      createEngine({
        nodes: [search],
        prices: { search: { deep } },
        store: pglite(join(root, "kept")),
        grace: 0,
      })
    const first = await open(5)
    const found = (await first.nodeTypes.list()).find(({ key }) => key === "search")
    expect(found).toMatchObject({ creditEstimate: 1, creditsByMode: { quick: 1, deep: 5 } })
    const drawn = first.workflow("Search").node("deep", "search", {}, { mode: "deep" })
    const { id: workflowId } = await first.workflows.create(drawn)
    expect(await first.runs.estimate({ workflowId })).toMatchObject({ estimatedCredits: 5 })
    const { id } = await first.runs.start({ workflowId })
    await started.opened
    await first.close()

    stuck = false
    await using second = await open(7)
    expect(await second.runs.wait(id)).toMatchObject({ estimatedCredits: 5, actualCredits: 5 })
    const next = await second.runs.start({ workflowId })
    expect(await next.wait()).toMatchObject({ estimatedCredits: 7, actualCredits: 7 })
  })

  it("computes a price from literals, and refuses a start for which there is none", async () => {
    const typeOf = (type: string) =>
      defineNode({ type, inputs: { count: z.number() }, outputs: {}, run: () => ({}) })
    const prices = { page: "3 - (inputs.count ?? 10) * 0.5", copy: "inputs.count" }
    await using engine = await createEngine({ nodes: [typeOf("page"), typeOf("copy")], prices })
    const priced = async (count: unknown, type = "page") => {
      const { id } = await engine.workflows.create({
        name: "Pages",
        nodes: [{ id: "a", type, position: { x: 0, y: 0 }, data: { inputs: { count } } }],
        edges: [],
      })
      return (await engine.runs.start({ workflowId: id })).wait()
    }
    expect(await priced(4)).toMatchObject({ estimatedCredits: 1, actualCredits: 1 })
    expect((await refusal(priced(7))).message).toContain(
      'Node "a": the price of type page is "3 - (inputs.count ?? 10) * 0.5", which gives -0.5; ' +
        "expected credits from 0 to 1000000000",
    )
    // Nobody knows before the run what this will be.
    expect((await refusal(priced("{{ values.count }}"))).message).toContain("which gives -2")
    expect((await refusal(priced("{{ values.count }}", "copy"))).message).toContain(
      'the price of type copy is "inputs.count", which needs inputs.count as a number that is ' +
        "known at the start",
    )
  })

  it("rejects prices that cannot be, with their place", async () => {
    const prices = { search: { deep: -1 }, delya: 2 }
    expect((await refusal(createEngine({ nodes: [search], prices }))).message).toBe(
      'createEngine: prices: ["search"]["deep"]: expected a number of credits from 0 to ' +
        '1000000000, of at most six decimals; prices: ["delya"]: there is no such node type; ' +
        'did you mean "delay"?',
    )
  })
})
