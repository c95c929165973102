/**
 * What an embedding application can rely on about the durable store in a folder.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine, defineNode, pglite } from "millrace"
import { afterAll, describe, expect, it } from "vitest"
import { z } from "zod"
import { interrupted } from "./Interrupted.ts"
import { patient } from "./Patient.ts"
import { gate, refusal } from "./Sample.ts"

const root = mkdtempSync(join(tmpdir(), "millrace-front-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const started = gate()
let stuck = true

/** Hangs until the engine closes the first time, then does its work. */
const stubborn = defineNode({
  type: "stubborn",
  inputs: { text: z.string() },
  outputs: { text: z.string() },
  run: ({ inputs }) => {
    started.open()
    return stuck ? new Promise<{ text: string }>(() => {}) : { text: `${inputs.text}, at last` }
  },
})

describe("pglite", () => {
  it("keeps workflows, runs and keys, and continues what was interrupted", async () => {
    const options = { store: pglite(join(root, "kept")), nodes: [stubborn], grace: 0 }
    const first = await createEngine(options)
    const plain = await first.workflows.create(
      first
        .workflow("Plain")
        .node("a", "constant", { value: { deep: [1, null] } })
        .node("out", "response")
        .edge("a.output", "out.input"),
    )
    const slow = await first.workflows.create(
      first
        .workflow("Slow")
        .node("a", "constant", { value: "done" })
        .node("wait", "stubborn")
        .node("out", "response")
        .edge("a.output", "wait.text")
        .edge("wait.text", "out.input"),
    )
    const { secret } = await first.keys.create({ label: "app" })
    const finished = await (await first.runs.start({ workflowId: plain.id })).wait()
    expect(finished.output).toEqual({ deep: [1, null] })
    const interrupted = await first.runs.start({ workflowId: slow.id })
    await started.opened
    const before = (await first.runs.get(interrupted.id)).nodes["a"]
    expect(before?.status).toBe("COMPLETED")
    await first.close()

    stuck = false
    await using second = await createEngine(options)
    expect(await second.workflows.get(plain.id)).toEqual(plain)
    expect(await second.runs.get(finished.id)).toEqual(finished)
    const resumed = await second.runs.wait(interrupted.id, { timeout: "20 seconds" })
    expect(resumed).toMatchObject({ status: "COMPLETED", output: "done, at last" })
    expect(resumed.nodes["a"]).toEqual(before)
    const response = await second.fetch(
      new Request(`http://localhost/api/v1/runs/${finished.id}`, {
        headers: { authorization: `Bearer ${secret}` },
      }),
    )
    expect(response.status).toBe(200)
  })

  it("goes on at once with the runs of a process that was killed", async () => {
    const folder = join(root, "killed")
    const { id, kill } = await interrupted("pglite", folder)
    await kill()
    const store = pglite(folder)
    await using engine = await createEngine({ store, nodes: [patient(() => Promise.resolve())] })
    const run = await engine.runs.wait(id, { timeout: "60 seconds" })
    expect(run).toMatchObject({ status: "COMPLETED", output: "done" })
    expect(run.nodes["wait"]).toMatchObject({ status: "COMPLETED" })
    expect((await engine.status()).store.name).toBe("pglite")
  })

  it("is opened by one engine at a time", async () => {
    const store = pglite(join(root, "locked"))
    const first = await createEngine({ store })
    const error = await refusal(createEngine({ store }))
    expect(error.code).toBe("DATA_FOLDER_LOCKED")
    expect(error.message).toContain("in use by another engine of this process: close that engine")
    await first.close()
    await (await createEngine({ store })).close()
  })

  it("does not touch a folder that holds something else", async () => {
    const folder = mkdtempSync(join(root, "foreign-"))
    writeFileSync(join(folder, "diary.txt"), "dear diary")
    const error = await refusal(createEngine({ store: pglite(folder) }))
    expect(error.code).toBe("DATA_FOLDER_FOREIGN")
    expect(error.message).not.toContain("\n")
    expect(readFileSync(join(folder, "diary.txt"), "utf8")).toBe("dear diary")
  })

  it("says so when a folder is damaged", async () => {
    const folder = join(root, "damaged")
    await (await createEngine({ store: pglite(folder) })).close()
    writeFileSync(join(folder, "millrace.json"), "{")
    const error = await refusal(createEngine({ store: pglite(folder) }))
    expect(error.code).toBe("DATA_FOLDER_DAMAGED")
    expect(error.message).not.toContain("\n")
  })

  it("keeps accounts apart, by name", async () => {
    const store = pglite(join(root, "accounts"))
    const first = await createEngine({ store })
    const { id } = await first.workflows.create({ name: "Mine" })
    await first.close()
    const other = await createEngine({ store, account: "acme" })
    expect((await refusal(other.workflows.get(id))).code).toBe("WORKFLOW_NOT_FOUND")
    const { id: theirs } = await other.workflows.create({ name: "Theirs" })
    await other.close()
    const again = await createEngine({ store })
    expect((await again.workflows.list()).items.map((item) => item.name)).toEqual(["Mine"])
    await again.close()
    await using acme = await createEngine({ store, account: "acme" })
    expect((await acme.workflows.get(theirs)).name).toBe("Theirs")
  })
})
