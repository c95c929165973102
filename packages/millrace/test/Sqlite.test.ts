/**
 * What an embedding application can rely on about the durable store in one file.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine, sqlite } from "millrace"
import { afterAll, describe, expect, it } from "vitest"
import { interrupted } from "./Interrupted.ts"
import { patient } from "./Patient.ts"
import { gate, refusal } from "./Sample.ts"

const root = mkdtempSync(join(tmpdir(), "millrace-sqlite-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe("sqlite", () => {
  it("keeps workflows, runs, keys and secrets, and continues what was interrupted", async () => {
    const file = join(root, "new", "kept.db")
    const started = gate()
    let stuck = true
    const node = patient(() => {
      started.open()
      return stuck ? new Promise(() => {}) : Promise.resolve()
    })
    const options = { store: sqlite(file), nodes: [node], grace: 0 }
    const first = await createEngine(options)
    const workflow = await first.workflows.create(
      first
        .workflow("Slow")
        .node("a", "constant", { value: "done" })
        .node("wait", "patient")
        .node("out", "response")
        .edge("a.output", "wait.text")
        .edge("wait.text", "out.input"),
    )
    const { secret } = await first.keys.create({ label: "app" })
    await first.secrets.set({ name: "token", value: "k9#2mW!x7Qv4", hosts: ["api.example.com"] })
    const signing = await first.webhooks.secrets()
    const { id } = await first.runs.start({ workflowId: workflow.id })
    await started.opened
    const before = (await first.runs.get(id)).nodes["a"]
    expect(before?.status).toBe("COMPLETED")
    await first.close()

    stuck = false
    await using second = await createEngine(options)
    expect(await second.workflows.get(workflow.id)).toEqual(workflow)
    const resumed = await second.runs.wait(id, { timeout: "20 seconds" })
    expect(resumed).toMatchObject({ status: "COMPLETED", output: "done" })
    expect(resumed.nodes["a"]).toEqual(before)
    expect(await second.webhooks.secrets()).toEqual(signing)
    expect(readFileSync(file).includes(signing[0]!.secret)).toBe(false)
    const response = await second.fetch(
      new Request(`http://localhost/api/v1/runs/${id}`, {
        headers: { authorization: `Bearer ${secret}` },
      }),
    )
    expect(response.status).toBe(200)
  })

  it("goes on within two seconds with the runs of a process that was killed", async () => {
    const file = join(root, "killed.db")
    const { id, kill } = await interrupted("sqlite", file)
    const locked = await refusal(createEngine({ store: sqlite(file) }))
    expect(locked.code).toBe("DATA_FILE_LOCKED")
    await kill()
    const store = sqlite(file)
    await using engine = await createEngine({ store, nodes: [patient(() => Promise.resolve())] })
    const opened = performance.now()
    const run = await engine.runs.wait(id, { timeout: "60 seconds" })
    expect(run).toMatchObject({ status: "COMPLETED", output: "done" })
    expect(performance.now() - opened).toBeLessThan(2_000)
  })

  it("is opened by one engine at a time", async () => {
    const store = sqlite(join(root, "locked.db"))
    const first = await createEngine({ store })
    const error = await refusal(createEngine({ store }))
    expect(error.code).toBe("DATA_FILE_LOCKED")
    expect(error.message).not.toContain("\n")
    await first.close()
    await (await createEngine({ store })).close()
  })

  it("does not touch a file that is something else", async () => {
    const file = join(root, "diary.txt")
    writeFileSync(file, "dear diary")
    const error = await refusal(createEngine({ store: sqlite(file) }))
    expect(error.code).toBe("DATA_FILE_FOREIGN")
    expect(readFileSync(file, "utf8")).toBe("dear diary")
    expect(existsSync(`${file}.key`)).toBe(false)
  })

  it("keeps the master key beside the file, for its user alone, and misses it", async () => {
    const file = join(root, "sealed.db")
    const first = await createEngine({ store: sqlite(file) })
    await first.webhooks.secrets()
    await first.close()
    expect(statSync(`${file}.key`).mode & 0o777).toBe(0o600)
    rmSync(`${file}.key`)
    const error = await refusal(createEngine({ store: sqlite(file) }))
    expect(error.code).toBe("INVALID_REQUEST")
    expect(error.message).toContain(`The key in ${file}.key does not open`)
  })

  it("asks for the path of a file", () => {
    for (const path of ["", ":memory:", undefined, { file: "data.db" }]) {
      expect(() => sqlite(path as string)).toThrow(/^sqlite: expected the path of a file/)
    }
  })
})
