/**
 * Node types of an operator's own, as `millrace dev` and `millrace serve` load them: the commands
 * themselves, with modules in folders of the test.
 */
import { execFile } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { ApiClient, hasEnded } from "./ApiClient.ts"
import { outcomeOf } from "./LocalCommand.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import { masterKey, ready, surroundings, Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()

/** What the repository's own modules are imported from, also by modules elsewhere. */
const packages = fileURLToPath(new URL("../../../node_modules", import.meta.url))

/** A folder with these files, in which `millrace` is installed. */
const project = (files: Readonly<Record<string, string>>): string => {
  const folder = workshop.folder()
  symlinkSync(packages, join(folder, "node_modules"))
  for (const [name, text] of Object.entries({ "package.json": '{"type":"module"}', ...files })) {
    write(folder, name, text)
  }
  return folder
}

const write = (folder: string, name: string, text: string): void => {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}

/** A module with one type, which hands on a text in this form. */
const shouting = (expression: string, type = "text.shout"): string => `
  import { defineNode } from "millrace"
  import { z } from "zod"
  export const shout = defineNode({
    type: "${type}",
    version: 3,
    inputs: { text: z.string() },
    outputs: { loud: z.string() },
    run: async ({ inputs }) => ({ loud: ${expression} }),
  })
`

/** A module that exports these types, and imports nothing: it loads at once. */
const plain = (...keys: ReadonlyArray<string>): string => `
  const typed = (key) => ({
    "~millrace/NodeType": 1,
    type: { key, version: 1, portsOf: () => ({ inputs: new Map(), outputs: new Map() }) },
  })
  export default ${JSON.stringify(keys)}.map(typed)
`

const devOf = (folder: string, ...modules: ReadonlyArray<string>): ServerProcess =>
  workshop.start(
    ["dev", "--port=0", "--memory", "--no-seed", ...modules.flatMap((name) => ["--nodes", name])],
    {},
    folder,
  )

const clientOf = async (server: ServerProcess): Promise<ApiClient> => {
  const origin = await ready(server)
  const [secret = ""] = /\bmr_[0-9A-Za-z]{49}\b/.exec(server.stdout) ?? []
  return new ApiClient(origin, secret)
}

interface Catalogue {
  readonly items: ReadonlyArray<{
    readonly key: string
    readonly version: number
    readonly origin: string
  }>
}

/** Key, version and origin of what the catalogue shows beside the built-in types. */
const ownTypes = async (client: ApiClient) =>
  (await client.call<Catalogue>("GET", "/node-types")).items
    .filter(({ origin }) => origin !== "built-in")
    .map(({ key, origin, version }) => [key, version, origin])

/** The output of a run in which a node of this type gets a text. */
const run = async (client: ApiClient, type: string, text = "hello"): Promise<unknown> => {
  const position = { x: 0, y: 0 }
  const { id } = await client.call<{ id: string }>("POST", "/workflows", {
    name: "Own",
    nodes: [
      { id: "own", type, position, data: { inputs: { text } } },
      { id: "answer", type: "response", position },
    ],
    edges: [{ id: "e", source: "own", sourceHandle: "loud", target: "answer" }],
  })
  const ended = await client.runWhen(await client.start(id), hasEnded)
  return ended.status === "COMPLETED" ? ended.context.output : ended.status
}

// At once: most of it waits for processes.
describe.concurrent("millrace dev --nodes", () => {
  it("executes types of files, and the catalogue tells where they are from", async () => {
    const folder = project({
      "nodes/index.js": shouting("inputs.text.toUpperCase()"),
      "nodes/more.js": `import { whisper } from "./whisper.js"
        export default [whisper]`,
      "nodes/whisper.js": `
        import * as NodeDefinition from "@millrace/core/engine/NodeDefinition"
        import { Effect, Schema } from "effect"
        export const whisper = NodeDefinition.define({
          key: "text.whisper",
          inputs: { text: Schema.String },
          outputs: { loud: Schema.String },
          run: ({ text }) => Effect.succeed({ loud: text.toLowerCase() }),
        })`,
    })
    const server = devOf(folder, "./nodes/index.js", "./nodes/more.js")
    const client = await clientOf(server)
    expect(await ownTypes(client)).toEqual([
      ["text.shout", 3, "./nodes/index.js"],
      ["text.whisper", 1, "./nodes/more.js"],
    ])
    expect(await run(client, "text.shout")).toBe("HELLO")
    expect(await run(client, "text.whisper", "LOW")).toBe("low")
  })

  it("loads types again when their files change, and keeps them if one is broken", async () => {
    const folder = project({
      "nodes/index.js": `export * from "./shout.js"`,
      "nodes/shout.js": shouting("inputs.text + '!'"),
    })
    const server = devOf(folder, "./nodes/index.js")
    const client = await clientOf(server)
    expect(await run(client, "text.shout")).toBe("hello!")

    write(folder, "nodes/shout.js", shouting("inputs.text + '?'"))
    await server.waitFor(/loaded again: text\.shout/)
    expect(await run(client, "text.shout")).toBe("hello?")

    write(folder, "nodes/shout.js", "export const shout = (")
    await server.waitForError(/cannot be used: .*shout\.js:\d.*; the types loaded before stay/)
    expect(await run(client, "text.shout")).toBe("hello?")

    write(folder, "nodes/shout.js", shouting("inputs.text", "text.repeat"))
    await server.waitFor(/loaded again: text\.repeat/)
    expect(await ownTypes(client)).toEqual([["text.repeat", 3, "./nodes/index.js"]])
  })
})

describe.concurrent("millrace nodes", () => {
  const command = async (folder: string, ...args: ReadonlyArray<string>) => {
    const ran = workshop.start(["nodes", ...args], {}, folder)
    const { code } = await ran.ended
    return { code, out: ran.stdout.trimEnd(), err: ran.stderr.trimEnd() }
  }

  it("writes a type with a test that passes, which a server can then load", async () => {
    const folder = project({})
    const { code, out } = await command(folder, "new", "text.shout")
    expect([code, out.split("\n").slice(-2)]).toEqual([
      0,
      ["node --test nodes/text.shout.test.js", "millrace dev --nodes ./nodes/index.js"],
    ])
    await command(folder, "new", "text.loud")
    // It rejects if a test fails.
    const tests = await promisify(execFile)(process.execPath, ["--test", "nodes/*.test.js"], {
      cwd: folder,
      env: { ...surroundings, NODE_OPTIONS: "--conditions=@millrace/source" },
    })
    expect(/pass (\d+)/.exec(tests.stdout)?.[1]).toBe("2")
    const listed = await command(folder, "list", "--nodes", "./nodes/index.js")
    const rows = listed.out.split("\n").map((line) => line.split(/\s+/))
    expect(rows.slice(-2)).toEqual([
      ["text.loud", "1", "./nodes/index.js"],
      ["text.shout", "1", "./nodes/index.js"],
    ])
  })

  it("writes over nothing, and leaves its folder for nothing", async () => {
    const folder = project({ "nodes/mine.js": "// mine" })
    expect(await command(folder, "new", "mine")).toEqual({
      code: 1,
      out: "",
      err: "nodes/mine.js is there already",
    })
    const outside = await command(folder, "new", "../mine")
    expect([outside.code, outside.err]).toEqual([
      2,
      expect.stringContaining('"../mine" is no name of a node type: expected words such as'),
    ])
    expect(readFileSync(join(folder, "nodes/mine.js"), "utf8")).toBe("// mine")
  })
})

describe.concurrent("millrace serve --nodes", () => {
  const files = (text: string) =>
    project({ "nodes/index.js": text, "nodes/other.js": plain("text.shout") })
  const database = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" }

  /** The one line with which a server refuses to start with this module. */
  const refusalOf = async (text: string, ...more: ReadonlyArray<string>): Promise<string> => {
    const args = ["serve", "--nodes", ["./nodes/index.js", ...more].join(",")]
    const server = workshop.start(args, database, files(text))
    expect(await server.ended).toEqual({ code: 1, signal: null })
    return server.stderr.trimEnd()
  }

  /** The same of a module whose first import, on a thread, fails: that needs no process. */
  const failureOf = async (text: string, millis = "10000"): Promise<string> => {
    const folder = files(text)
    const { code, err } = await outcomeOf(["serve", "--nodes", `${folder}/nodes/index.js`], {
      ...database,
      MILLRACE_MASTER_KEY: masterKey,
      MILLRACE_LIMIT_MODULE_IMPORT_MILLIS: millis,
    })
    expect(code).toBe(1)
    return err.replaceAll(folder, ".")
  }
  const refused = "The node types of ./nodes/index.js cannot be used: "

  it("refuses a module that is missing, throws, or cannot be parsed", async () => {
    expect(await refusalOf("", "./nodes/none.js")).toBe(
      `${refused}it exports no node type; ` +
        "export what defineNode or NodeDefinition.define returns",
    )
    expect(await refusalOf(plain("a"), "./nodes/none.js")).toBe(
      "The node types of ./nodes/none.js cannot be used: there is no such file",
    )
    expect(await refusalOf(plain("a"), "no-such-package")).toMatch(
      /^The node types of no-such-package cannot be used: Cannot find package 'no-such-package'/,
    )
    expect(await failureOf("throw new Error('no luck')")).toBe(`${refused}no luck`)
    expect(await failureOf("export const a =\n  (")).toMatch(
      /cannot be used: Unexpected end of input \(\.\/nodes\/index\.js:2\)$/,
    )
  })

  it("refuses a module that ends the process or whose import never ends", async () => {
    expect(await failureOf("process.exit(0)")).toBe(`${refused}its import ended the process`)
    for (const text of ["while (true);", "await new Promise(() => setInterval(() => {}, 1e3))"]) {
      expect(await failureOf(text, "1500")).toBe(
        `${refused}its import did not end within 1.5 seconds`,
      )
    }
  })

  it("refuses prices that cannot be, with the file and the place", async () => {
    const folder = project({
      "nodes/index.js": plain("text.shout"),
      "prices.json": '{ "text.shot": 1, "delay": -1 }',
      "broken.json": '{ "delay": 1',
    })
    const refusal = async (file: string) => {
      const args = ["dev", "--memory", "--nodes", "./nodes/index.js", "--prices", file]
      const server = workshop.start(args, {}, folder)
      expect(await server.ended).toEqual({ code: 1, signal: null })
      return server.stderr.trimEnd()
    }
    expect(await refusal("prices.json")).toBe(
      'The prices of prices.json cannot be used: ["text.shot"]: there is no such node type; ' +
        'did you mean "text.shout"?; ["delay"]: expected a number of credits from 0 to ' +
        "1000000000, of at most six decimals",
    )
    expect(await refusal("none.json")).toBe(
      "The prices of none.json cannot be used: there is no such file",
    )
    expect(await refusal("broken.json")).toContain(
      "The prices of broken.json cannot be used: it is not JSON: ",
    )
  })

  it("refuses a key that is taken", async () => {
    expect(await refusalOf(plain("delay"))).toBe(
      `${refused}the key of its node type "delay" is taken by a built-in type`,
    )
    expect(await refusalOf(plain("text.shout"), "./nodes/other.js")).toBe(
      "The node types of ./nodes/other.js cannot be used: " +
        'the key of its node type "text.shout" is taken by ./nodes/index.js',
    )
    expect(await refusalOf(plain("text.shout", "text.shout"))).toBe(
      `${refused}it exports two node types with the key "text.shout" and the version 1`,
    )
  })
})
