/**
 * What JavaScript and a hurried hand may give: each is refused in one sentence, and nothing hangs.
 */
import { createEngine, defineNode, pglite, postgres, sqlite } from "millrace"
import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, extname, join, resolve } from "node:path"
import { promisify } from "node:util"
import { Pool } from "pg"
import { describe, expect, it, onTestFinished } from "vitest"
import { z } from "zod"
import { refusal, runOne } from "./Sample.ts"

const thrown = (value: unknown) =>
  defineNode({
    type: "throws",
    inputs: {},
    outputs: {},
    run: () => {
      throw value
    },
  })

describe("A handler that throws", () => {
  const realm = Object.assign(Object.create(null) as object, { message: "of another realm" })
  const values: ReadonlyArray<readonly [value: unknown, sentence: string]> = [
    [undefined, "the handler threw undefined, which is no error"],
    [null, "the handler threw null, which is no error"],
    [7, "the handler threw 7, which is no error"],
    [Symbol("s"), "the handler threw Symbol(s), which is no error"],
    [() => 1, "the handler threw a function, which is no error"],
    [Object.freeze({ a: 1 }), "the handler threw an object that is no error"],
    [realm, "of another realm"],
    ["a text", "a text"],
    ["", "failed without a message"],
  ]
  it.each(values)("%o fails its node with one sentence", async (value, sentence) => {
    const { node, status } = await runOne(thrown(value))
    expect([status, node.error]).toEqual(["FAILED", sentence])
  })

  it("in a promise that rejects with nothing fails its node with one sentence", async () => {
    const run = () => Promise.reject()
    const type = defineNode({ type: "rejects", inputs: {}, outputs: {}, run })
    const { node } = await runOne(type)
    expect(node.error).toBe("the handler threw undefined, which is no error")
  })
})

describe("A handler that returns an instance of a class", () => {
  it("fails its node, even if the class knows how to be JSON", async () => {
    class Money {
      readonly cents = 5
      toJSON() {
        return { cents: 5 }
      }
    }
    const outputs = { price: z.any() }
    const type = defineNode({
      type: "pays",
      inputs: {},
      outputs,
      run: () => ({ price: new Money() }),
    })
    const { node } = await runOne(type)
    expect(node.error).toBe('output "price" is not JSON: an instance of Money is not JSON')
  })
})

const node = { type: "a", inputs: {}, outputs: {}, run: () => ({}) }

describe("defineNode", () => {
  const wrong: ReadonlyArray<readonly [options: object, sentence: string]> = [
    [{ type: 7 }, "Node type 7: type: expected a text that is not empty"],
    [{ type: "" }, 'Node type "": type: expected a text that is not empty'],
    [{ inputs: null }, 'Node type "a": inputs: expected an object with a schema for each port'],
    [{ outputs: undefined }, 'Node type "a": outputs: is missing'],
    [
      { inputs: { text: 7 } },
      'Node type "a": port "text": expected a Standard Schema or an Effect Schema',
    ],
    [{ run: "f" }, 'Node type "a": run: expected a function'],
    [
      { icon: "Credit Card" },
      'Node type "a": icon: expected the name of a picture, as "credit-card"',
    ],
    [{ retri: {} }, 'Node type "a": unknown field "retri"; did you mean "retry"?'],
    [{ modes: "fast" }, 'Node type "a": modes: expected an array'],
    [{ credits: "1" }, 'Node type "a": credits: expected a number or a function'],
    [{ effects: "no" }, 'Node type "a": effects: expected "none", "reads" or "writes"'],
  ]
  it.each(wrong)("refuses %j", (options, sentence) => {
    expect(() => defineNode({ ...node, ...options })).toThrow(sentence)
  })
})

describe("A store", () => {
  const url = "postgres://user:pass@127.0.0.1:1/flows"
  const form = "url: expected postgres://user:password@host:port/database"
  const wrong: ReadonlyArray<readonly [make: () => unknown, sentence: string]> = [
    [() => pglite(undefined as never), "pglite: expected the path of a folder"],
    [() => pglite(""), "pglite: expected the path of a folder"],
    [() => sqlite(7 as never), "sqlite: expected the path of a file"],
    [() => postgres(undefined as never), "postgres: expected a url, or an object with url or pool"],
    [() => postgres({} as never), "postgres: expected either url or pool"],
    [() => postgres(""), `postgres: ${form}`],
    [() => postgres("http://localhost/flows"), `postgres: ${form}`],
    [() => postgres({ pool: {} } as never), "postgres: pool: expected a Pool of the package pg"],
    [
      () => postgres({ url, connections: 0 }),
      "postgres: connections: expected a whole number from 1",
    ],
    [
      () => postgres({ url, conections: 3 } as never),
      'postgres: unknown field "conections"; did you mean "connections"?',
    ],
  ]
  it.each(wrong)("is refused when it is made: %s", (make, sentence) => {
    expect(make).toThrow(sentence)
  })

  it("that does not open says why", async () => {
    const none = await refusal(createEngine({ store: postgres(url) }))
    expect(none.code).toBe("STORE_UNAVAILABLE")
    expect(none.message).toMatch(/^The store failed in Postgres\.connect: \w/)
    expect(none.message).not.toContain("pass")
  })

  it("over a pool that was ended says so", async () => {
    const pool = new Pool({ connectionString: url })
    await pool.end()
    const error = await refusal(createEngine({ store: postgres({ pool }) }))
    expect(error.code).toBe("STORE_UNAVAILABLE")
    expect(error.message).toContain("Cannot use a pool after calling end on the pool")
  })
})

describe("An engine", () => {
  it("starts thousands of runs that are asked for in one tick", async () => {
    await using engine = await createEngine()
    const drawn = engine.workflow("One").node("a", "constant", { value: 1 })
    const { id: workflowId } = await engine.workflows.create(drawn)
    const starts = Array.from({ length: 2_000 }, () => engine.runs.start({ workflowId }))
    const ids = (await Promise.all(starts)).map(({ id }) => id)
    expect(new Set(ids).size).toBe(2_000)
    const last = await engine.runs.wait(ids.at(-1)!)
    expect(last.status).toBe("COMPLETED")
  }, 60_000)

  it("answers or refuses each start while it closes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-closing-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const engine = await createEngine({ store: pglite(join(folder, "flows")) })
    const drawn = engine.workflow("One").node("a", "constant", { value: 1 })
    const { id: workflowId } = await engine.workflows.create(drawn)
    const starts = Array.from({ length: 20 }, () =>
      engine.runs.start({ workflowId }).then(
        () => "stored",
        ({ code }: { readonly code: string }) => code,
      ),
    )
    await engine.close()
    for (const outcome of await Promise.all(starts)) {
      expect(["stored", "ENGINE_CLOSED"]).toContain(outcome)
    }
  }, 60_000)

  it("is not held up by events that were left in the middle", async () => {
    const forever = new Promise<void>(() => undefined)
    const type = defineNode({ type: "never", inputs: {}, outputs: {}, run: () => forever })
    await using engine = await createEngine({ nodes: [type], grace: 0 })
    const { id: workflowId } = await engine.workflows.create(
      engine.workflow("N").node("n", "never"),
    )
    const run = await engine.runs.start({ workflowId })
    for (let times = 0; times < 50; times++) {
      for await (const { event } of run.events()) {
        expect(event).toBe("snapshot")
        break
      }
    }
    const left = run.events()[Symbol.asyncIterator]()
    await left.next()
    const { isDraining } = await engine.status()
    expect(isDraining).toBe(false)
  })
})

describe("An Effect Schema of another copy of effect", () => {
  it("is refused in one sentence, and taken as a Standard Schema", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-copies-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const modules = resolve(import.meta.dirname, "../../../node_modules")
    mkdirSync(join(folder, "node_modules"))
    symlinkSync(dirname(import.meta.dirname), join(folder, "node_modules/millrace"))
    const isCode = (path: string) => [".js", ".json", ""].includes(extname(path))
    const source = join(modules, "effect")
    const filter = (path: string) => isCode(path) && path !== join(source, "src")
    cpSync(source, join(folder, "node_modules/effect"), { recursive: true, filter })
    const program = `
      import { defineNode } from "millrace"
      import { Schema } from "effect"
      const node = (schema) =>
        defineNode({ type: "a", inputs: { n: schema }, outputs: {}, run: () => ({}) })
      const schema = Schema.optionalKey(Schema.Int)
      try { node(schema) } catch (error) { console.log(error.message) }
      node(Schema.toStandardSchemaV1(Schema.Int))
      console.log("taken")`
    writeFileSync(join(folder, "main.mjs"), program)
    const args = ["--conditions=@millrace/source", "main.mjs"]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder })
    expect(stdout.trim().split("\n")).toEqual([
      'Node type "a": port "n": the schema is of another copy of "effect" than the one that ' +
        "millrace uses: install one copy (npm ls effect shows them), or hand over " +
        "Schema.toStandardSchemaV1(schema)",
      "taken",
    ])
  }, 60_000)
})
