/**
 * Node types that run on a thread of their own.
 */
import { createEngine, defineNode, type Engine } from "millrace"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Worker } from "node:worker_threads"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { misplaced } from "./BlockingMain.ts"
import * as nodes from "./BlockingNodes.ts"

const { busy, crashing, failing, greedy, overcharging, talkative, variables, waiting } = nodes
const own = [busy, crashing, failing, greedy, overcharging, talkative, variables, waiting] as const
const types = [...own, misplaced, nodes.hidden()] as const

let engine: Engine<typeof types>

beforeAll(async () => {
  vi.stubEnv("MILLRACE_MASTER_KEY", "secret")
  vi.stubEnv("MILLRACE_ADMIN_TOKEN", "secret")
  vi.stubEnv("DATABASE_URL", "postgres://secret")
  vi.stubEnv("PGPASSWORD", "secret")
  engine = await createEngine({
    nodes: types,
    limits: { threadsAtOnce: 1, megabytesPerThread: 128 },
  })
})

afterAll(async () => {
  await engine.close()
  vi.unstubAllEnvs()
})

/** A run of one node. */
const start = async (type: (typeof types)[number]["type"], inputs = {}, more = {}) => {
  const node = { id: "n", type, position: { x: 0, y: 0 }, data: { inputs, ...more } }
  const { id } = await engine.workflows.create({ name: type, nodes: [node], edges: [] })
  return engine.runs.start({ workflowId: id })
}

const run = async (type: (typeof types)[number]["type"], inputs = {}, more = {}) => {
  const done = await (await start(type, inputs, more)).wait()
  const { actualCredits, error, nodes: all, status } = done
  return { actualCredits, error, status, node: all["n"] }
}

describe("A node type that says blocking", () => {
  it("runs on a thread, and passes outputs, log lines and charges back", async () => {
    const { actualCredits, node, status } = await run("busy", { millis: 1 })
    expect(status).toBe("COMPLETED")
    expect(actualCredits).toBe(1.5)
    expect(node?.output).toMatchObject({ isMainThread: false })
    expect(node?.logs).toMatchObject([{ message: "computing", data: { millis: 1 } }])
  })

  it("lets the process go on while it computes", async () => {
    const working = await start("busy", { millis: 600_000 })
    // This answer, and every other one, would come after the node.
    expect((await engine.workflows.list()).items.length).toBeGreaterThan(0)
    await working.cancel()
    expect((await working.wait()).status).toBe("CANCELED")
  })

  it("is ended by its time limit, and the next one finds a thread", async () => {
    const late = await run("busy", { millis: 600_000 }, { timeout: 300 })
    expect(late).toMatchObject({ status: "FAILED" })
    expect(late.error).toContain("timed out")
    expect((await run("busy", { millis: 1 })).status).toBe("COMPLETED")
  })

  it("fails alone when its thread ends", async () => {
    const { error, status } = await run("crashing")
    expect(status).toBe("FAILED")
    expect(error).toContain("the node's thread ended with code 3")
    expect((await run("busy", { millis: 1 })).status).toBe("COMPLETED")
  })

  it("fails alone when its thread takes too much memory", async () => {
    const { error, status } = await run("greedy")
    expect(status).toBe("FAILED")
    expect(error).toMatch(/the node's thread failed: .*memory/)
    expect((await run("busy", { millis: 1 })).status).toBe("COMPLETED")
  })

  it("logs and charges nothing to the next node on its thread", async () => {
    expect((await run("talkative")).status).toBe("COMPLETED")
    const { actualCredits, node, status } = await run("waiting", { millis: 50 })
    expect(status).toBe("COMPLETED")
    expect(node?.logs ?? []).toEqual([])
    expect(actualCredits).toBe(0)
  })

  it("sees neither the master key nor the database, and everything else", async () => {
    const names = async (beginning: string) =>
      (await run("variables", { beginning })).node?.output?.["names"]
    expect(await names("MILLRACE_")).toEqual([])
    expect(await names("DATABASE_URL")).toEqual([])
    expect(await names("PGPASSWORD")).toEqual([])
    expect(await names("PATH")).toEqual(["PATH"])
  })

  it("sees no more of a file of variables, and does not keep the process alive", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-"))
    try {
      const file = join(folder, ".env")
      writeFileSync(file, "DATABASE_URL=secret\nDATABASE_NAME=free\n")
      const flags = ["--conditions=@millrace/source", `--env-file=${file}`]
      const program = join(import.meta.dirname, "BlockingProgram.ts")
      const done = await promisify(execFile)(process.execPath, [...flags, program, "DATABASE_"])
      expect(JSON.parse(done.stdout)).toEqual({ names: ["DATABASE_NAME"] })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("fails with the sentence that its handler throws", async () => {
    const { error, node } = await run("failing")
    expect(error).toContain("the picture is broken")
    // The handler said that another attempt would fail alike.
    expect(node?.logs).toMatchObject([{ message: "looking", attempt: 1 }])
    expect((await run("overcharging")).error).toContain("charged -1 credits")
  })

  it("computes on as many threads as there may be", async () => {
    const all = await Promise.all(Array.from({ length: 3 }, () => run("busy", { millis: 50 })))
    const spans = all
      .map(({ node }) => node?.output as { readonly begun: number; readonly ended: number })
      .toSorted((left, right) => left.begun - right.begun)
    spans.slice(1).forEach(({ begun }, at) => {
      expect(begun).toBeGreaterThanOrEqual(spans[at]!.ended)
    })
  })

  it("leaves no thread when its engine closes, also of a node that computes", async () => {
    const started: Array<Worker> = []
    const see = (worker: Worker) => void started.push(worker)
    process.on("worker", see)
    try {
      const other = await createEngine({ nodes: [busy, waiting], grace: 0 })
      const { id } = await other.workflows.create({
        name: "both",
        nodes: [
          { id: "a", type: "busy", data: { inputs: { millis: 600_000 } } },
          { id: "b", type: "waiting", data: { inputs: { millis: 1 } } },
        ].map((node) => ({ ...node, position: { x: 0, y: 0 } })),
        edges: [],
      })
      const working = await other.runs.start({ workflowId: id })
      await vi.waitFor(
        async () => {
          const { nodes: all } = await other.runs.get(working.id)
          expect(all["a"]?.status).toBe("RUNNING")
          expect(all["b"]?.status).toBe("COMPLETED")
        },
        { timeout: 60_000 },
      )
      await other.close()
      expect(started.map(({ threadId }) => threadId)).toEqual([-1, -1])
    } finally {
      process.off("worker", see)
    }
  })

  it("has to be in a module that starts no engine", async () => {
    const { error } = await run("misplaced")
    expect(error).toMatch(/The import of file:\S+ failed: createEngine: .* into a module that/)
  })

  it("has to be exported by the module that it names", async () => {
    expect((await run("hidden")).error).toMatch(
      /The module file:\S+ exports no node type "hidden" of version 1: export it/,
    )
    const options = { type: "t", inputs: {}, outputs: {}, run: () => {} } as const
    expect(() => defineNode({ ...options, blocking: "./t.ts" })).toThrow(
      'Node type "t": blocking: expected import.meta.url of the module that exports the node type',
    )
  })
})
