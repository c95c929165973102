/**
 * That the hook which finds modules finds those that Node would find.
 */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterEach } from "vitest"

const addressOf = (path: string) => new URL(path, import.meta.url).href
const source = "--conditions=@millrace/source"

/** Imports modules in a process of their own: what was found, and how often Node was asked. */
const resolutions = (imports: ReadonlyArray<string>, isHooked: boolean): unknown => {
  const program = `
    import { registerHooks } from "node:module"
    import { begin } from ${JSON.stringify(addressOf("../src/internal/ModuleFiles.ts"))}
    const found = []
    let asked = 0
    registerHooks({ resolve: (...of) => (asked += 1, of[2](of[0], of[1])) })
    if (${isHooked}) begin()
    registerHooks({ resolve: (specifier, context, next) => {
      const { format, url } = next(specifier, context)
      found.push([context.parentURL, specifier, url, format])
      return { format, url, shortCircuit: true }
    } })
    for (const each of ${JSON.stringify(imports)}) await import(each)
    const text = JSON.stringify({ asked, found: found.map(String).sort() })
    process.stdout.write(text, () => process.exit())`
  const flags = [source, "--input-type=module", "--no-warnings", "-e", program]
  const text = execFileSync(process.execPath, flags, { maxBuffer: 100_000_000, encoding: "utf8" })
  return JSON.parse(text)
}

interface Resolutions {
  readonly asked: number
  readonly found: ReadonlyArray<string>
}

const both = (...imports: ReadonlyArray<string>) =>
  [true, false].map((isHooked) => resolutions(imports, isHooked) as Resolutions)

const folders: Array<string> = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** An installation of packages: the text of each file by its path. */
const installation = (files: { readonly [path: string]: string }) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "millrace-modules-")))
  folders.push(folder)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return (path: string) => pathToFileURL(join(folder, path)).href
}

const packageFile = (exports: object) => JSON.stringify({ type: "module", exports })
/** The text of a module. */
const importing = (...names: ReadonlyArray<string>) =>
  names.map((name) => `import ${JSON.stringify(name)}\n`).join("")

const usual = { "./*": "./dist/*.js" }

describe("ModuleFiles.begin", () => {
  it("finds every module of the command and of the server where Node finds it", () => {
    const modules = ["command/CommandLine", "command/Launch", "dev/StartupReport"]
    const [hooked, plain] = both(
      ...modules.map((name) => addressOf(`../src/internal/${name}.ts`)),
      addressOf("../src/Serve.ts"),
    )
    assert.deepStrictEqual(hooked?.found, plain?.found)
    assert.isAbove(plain?.asked ?? 0, 2_000)
    assert.isBelow((hooked?.asked ?? 0) * 8, plain?.asked ?? 0)
  }, 60_000)

  it("finds a package's own copy of another one, and exports that are somewhere else", () => {
    const at = installation({
      "node_modules/effect/package.json": packageFile({ ...usual, "./b": "./dist/b/index.js" }),
      "node_modules/effect/dist/a.js": "",
      "node_modules/effect/dist/c.js": "",
      "node_modules/effect/dist/b/index.js": "",
      "node_modules/@millrace/one/package.json": packageFile(usual),
      "node_modules/@millrace/one/dist/main.js": importing(
        "effect/a",
        "effect/b",
        "effect/c",
        "../../two/dist/main.js",
      ),
      "node_modules/@millrace/two/package.json": packageFile(usual),
      "node_modules/@millrace/two/dist/main.js": importing("effect/a", "effect/c"),
      "node_modules/@millrace/two/node_modules/effect/package.json": packageFile(usual),
      "node_modules/@millrace/two/node_modules/effect/dist/a.js": "",
      "node_modules/@millrace/two/node_modules/effect/dist/c.js": "",
    })
    const [hooked, plain] = both(at("node_modules/@millrace/one/dist/main.js"))
    assert.deepStrictEqual(hooked?.found, plain?.found)
    assert.isBelow(hooked?.asked ?? 0, plain?.asked ?? 0)
  })

  it("leaves the modules of everybody else to Node", () => {
    const at = installation({
      "node_modules/somebody/package.json": JSON.stringify({ exports: { "./*": "./dist/*.js" } }),
      "node_modules/somebody/dist/one.js": "module.require(`./two.js`)",
      "node_modules/somebody/dist/two.js": "",
      "mine.mjs": importing("somebody/one", "./packages/core/src/other.mjs"),
      "packages/core/src/other.mjs": importing("./more.mjs"),
      "packages/core/src/more.mjs": "",
    })
    const [hooked, plain] = both(at("mine.mjs"))
    assert.deepStrictEqual(hooked, plain)
  })
})
