/**
 * What an author of node types can rely on about versions: they stand beside each other, a node
 * keeps the one that it has, and new nodes get the latest.
 */
import type { Engine } from "millrace"
import { createEngine, defineNode, sqlite } from "millrace"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { z } from "zod"
import { refusal } from "./Sample.ts"

/** A version of a node type: it puts its number out, as a text from the second version on. */
const greet = (version: number, deprecated?: boolean | string) =>
  defineNode({
    type: "greet",
    version,
    ...(deprecated === undefined ? {} : { deprecated }),
    inputs: { input: z.any() },
    outputs: { output: z.string() },
    run: () => ({ output: `version ${version}` }),
  })

const drawnWith = (engine: Engine, data?: { readonly version: number }) =>
  engine.workflows.create({
    name: "Greet",
    nodes: [{ id: "a", type: "greet", position: { x: 0, y: 0 }, ...(data && { data }) }],
    edges: [],
  })

const outputOf = async (engine: Engine, workflowId: string) =>
  (await (await engine.runs.start({ workflowId })).wait()).nodes["a"]?.output

/** A file for the tests of one test. */
const fileOf = () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-versions-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, "data.db")
}

describe("Versions of a node type", () => {
  it("are executed as nodes name them, the oldest by default", async () => {
    await using engine = await createEngine({ nodes: [greet(3), greet(1), greet(2)] })
    const versions = [undefined, { version: 1 }, { version: 2 }, { version: 3 }]
    const outputs = []
    for (const data of versions) {
      outputs.push(await outputOf(engine, (await drawnWith(engine, data)).id))
    }
    expect(outputs.map((output) => output?.["output"])).toEqual([
      "version 1",
      "version 1",
      "version 2",
      "version 3",
    ])
  })

  it("are refused where there are none, with those that there are", async () => {
    await using engine = await createEngine({ nodes: [greet(1), greet(2)] })
    const { id: workflowId } = await drawnWith(engine, { version: 3 })
    const refused = await refusal(engine.runs.start({ workflowId }))
    expect([refused.code, refused.message]).toEqual([
      "INVALID_GRAPH",
      expect.stringContaining('unknown version 3 of type "greet"; it has 1, 2'),
    ])
  })

  it("are in the catalogue, the oldest first, with what is out of use", async () => {
    const nodes = [greet(2), greet(1, "Use version 2."), greet(3, true)]
    await using engine = await createEngine({ nodes })
    const items = (await engine.nodeTypes.list()).filter(({ key }) => key === "greet")
    expect(items.map(({ deprecated, version }) => [version, deprecated])).toEqual([
      [1, "Use version 2."],
      [2, null],
      [3, ""],
    ])
  })

  it("are named by nodes that are added, the latest in use, where there are several", async () => {
    await using two = await createEngine({ nodes: [greet(1), greet(2), greet(3, true)] })
    const { id } = await drawnWith(two)
    await two.workflows.addNode(id, { nodeType: "greet" })
    await using one = await createEngine({ nodes: [greet(2)] })
    const other = await drawnWith(one)
    await one.workflows.addNode(other.id, { nodeType: "greet" })
    const dataIn = async (engine: Engine, of: string) =>
      (await engine.workflows.get(of)).nodes.map(({ data }) => data)
    expect(await dataIn(two, id)).toEqual([undefined, { version: 2 }])
    expect(await dataIn(one, other.id)).toEqual([undefined, {}])
  })

  /** A run that waits for a signal before its node of the type, on a store that is closed. */
  const waitingOn = async (file: string, ...nodes: ReadonlyArray<ReturnType<typeof greet>>) => {
    await using engine = await createEngine({ store: sqlite(file), nodes })
    const drawn = engine.workflow("Waits").node("w", "wait_signal", { name: "go" })
    const { id: workflowId } = await engine.workflows.create(
      drawn.node("a", "greet").edge("w.payload", "a.input"),
    )
    return (await engine.runs.start({ workflowId })).id
  }

  /** What the node puts out once the run goes on. */
  const outputAfter = async (engine: Engine, id: string) => {
    await engine.runs.signal(id, "go")
    return (await engine.runs.wait(id)).nodes["a"]?.output?.["output"]
  }

  it("change nothing of a run that goes on, or that is taken up again", async () => {
    const file = fileOf()
    const id = await waitingOn(file, greet(1))
    await using after = await createEngine({ store: sqlite(file), nodes: [greet(2), greet(1)] })
    expect(await outputAfter(after, id)).toEqual("version 1")
    const again = await after.runs.rerun(id, { from: ["a"], definition: "same" })
    expect((await again.wait()).nodes["a"]?.output).toEqual({ output: "version 1" })
  })

  it("stay with a run also if an older one is there later, and are told by its graph", async () => {
    const file = fileOf()
    const id = await waitingOn(file, greet(2))
    await using after = await createEngine({ store: sqlite(file), nodes: [greet(2), greet(1)] })
    expect(await outputAfter(after, id)).toEqual("version 2")
    const { nodes } = await after.runs.definition(id)
    expect(nodes.map(({ data }) => (data as { version?: number }).version)).toEqual([undefined, 2])
  })

  it("are not changed by a rerun, unless it takes the workflow as it is now", async () => {
    const file = fileOf()
    const id = await waitingOn(file, greet(2), greet(1))
    await using both = await createEngine({ store: sqlite(file), nodes: [greet(2), greet(1)] })
    expect(await outputAfter(both, id)).toEqual("version 1")
    await both.close()
    await using after = await createEngine({ store: sqlite(file), nodes: [greet(2)] })
    expect((await refusal(after.runs.rerun(id, { from: ["a"] }))).message).toContain(
      'unknown version 1 of type "greet"; it has 2',
    )
    const plan = await after.runs.planRerun(id, { definition: "current" })
    expect(plan.anew.map(({ nodeId, reason }) => [nodeId, reason])).toEqual([["a", "changed"]])
    const again = await after.runs.rerun(id, { definition: "current" })
    expect((await again.wait()).nodes["a"]?.output).toEqual({ output: "version 2" })
  })

  it("have one origin, and each number once", async () => {
    const taken = defineNode({
      type: "constant",
      version: 2,
      inputs: {},
      outputs: {},
      run: () => ({}),
    })
    expect((await refusal(createEngine({ nodes: [taken] }))).message).toBe(
      'Two node types have the key "constant"',
    )
    expect((await refusal(createEngine({ nodes: [greet(2), greet(2)] }))).message).toBe(
      'Two node types have the key "greet" and the version 2',
    )
    expect(() => greet(1, 7 as never)).toThrow(/deprecated: expected true, false or a text/)
  })
})
