/**
 * Where an engine keeps large values.
 */
import { assert, describe, it } from "@effect/vitest"
import { Json } from "@millrace/core/domain/Json"
import { createEngine, defineNode, folderValues, s3Values } from "millrace"
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import { refusal } from "./Sample.ts"

const root = mkdtempSync(join(tmpdir(), "millrace-values-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const text = "0123456789".repeat(10_000)

let calls = 0

const make = defineNode({
  type: "make",
  inputs: {},
  outputs: { output: Json },
  retry: { attempts: 2, initial: "10 millis" },
  run: () => {
    calls += 1
    return { output: text }
  },
})

const graph = {
  name: "Large",
  nodes: [{ id: "a", type: "make", position: { x: 0, y: 0 }, data: { inputs: {} } }],
  edges: [],
}

describe("createEngine({ values })", () => {
  it("keeps large values as files of a folder, byte for byte", async () => {
    const folder = join(root, "made", "here")
    await using engine = await createEngine({ nodes: [make], values: folderValues(folder) })
    const { id } = await engine.workflows.create(graph)
    const run = await (await engine.runs.start({ workflowId: id })).wait()
    assert.isNull(run.error)
    const [value] = run.nodes["a"]!.largeValues ?? []
    const file = readdirSync(folder, { recursive: true })
      .map(String)
      .find((path) => path.endsWith(value!.id))
    assert.strictEqual(statSync(join(folder, file!)).size, value!.bytes)
    assert.strictEqual(await engine.runs.value(run.id, value!.id), text)
  })

  it("rejects if the folder cannot be used, in one sentence", async () => {
    const file = join(root, "file")
    writeFileSync(file, "")
    const { code, message } = await refusal(createEngine({ values: folderValues(file) }))
    assert.strictEqual(code, "STORE_UNAVAILABLE")
    assert.include(message, `the folder of values ${file} cannot be used: `)
  })

  it("opens while a bucket is away, and fails attempts with large values", async () => {
    const values = s3Values({
      bucket: "values",
      endpoint: "http://127.0.0.1:1",
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
    })
    calls = 0
    await using engine = await createEngine({ nodes: [make], values })
    const { id } = await engine.workflows.create(graph)
    const run = await (await engine.runs.start({ workflowId: id })).wait({ timeout: "2 minutes" })
    const reason = "the bucket of values cannot be reached (ECONNREFUSED)"
    assert.strictEqual(
      run.nodes["a"]!.error,
      `the value of "output" cannot be stored: The store failed in ValueStore.put: ${reason}`,
    )
    assert.strictEqual(calls, 2)
  })
})
