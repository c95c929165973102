/**
 * The programs of all pages compile, run, and print what they say they print. Fragments compile.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { fragments, mistakes, pages, promised, samplesOf } from "./Samples.ts"

const exec = promisify(execFile)

const packageFolder = resolve(import.meta.dirname, "..")
const repository = resolve(packageFolder, "../..")

let server: PostgresServer
let folder: string
let errors: Promise<ReadonlyArray<string>>

const fileOf = (page: string, index: number): string => `${page.replaceAll(" ", "-")}-${index}.ts`

/** How code for browsers is compiled: with their types, and with JSX. */
const browser = { jsx: "react-jsx", lib: ["ES2024", "ESNext.Disposable", "DOM", "DOM.Iterable"] }

/** What the compiler knows of style sheets. */
const styles = join(repository, "packages/react/src/internal/Css.d.ts")

/** What the compiler says of files in the folder. */
const compile = (name: string, settings: object): Promise<string> => {
  const all = { extends: join(repository, "tsconfig.tests.json"), ...settings }
  writeFileSync(join(folder, name), JSON.stringify(all))
  const compiler = join(repository, "node_modules/typescript/bin/tsc")
  const { promise, resolve: done } = Promise.withResolvers<string>()
  execFile(process.execPath, [compiler, "-p", join(folder, name), "--checkers", "1"], (_, stdout) =>
    done(stdout),
  )
  return promise
}

/** Compiles all programs and fragments in this package, at once. */
const compileAll = async (): Promise<ReadonlyArray<string>> => {
  for (const [page, path] of pages) {
    for (const [index, code] of samplesOf(path).entries()) {
      writeFileSync(join(folder, fileOf(page, index)), code)
    }
  }
  for (const [file, code] of fragments()) writeFileSync(join(folder, file), code)
  const all = await Promise.all([
    compile("programs.json", { include: ["*.ts"] }),
    compile("pages.json", { compilerOptions: browser, include: ["*.tsx"], files: [styles] }),
  ])
  return all.flatMap(mistakes)
}

const run = async (file: string): Promise<string> => {
  const program = ["--conditions=@millrace/source", file]
  const env = { ...process.env, DATABASE_URL: server.url }
  return (await exec(process.execPath, program, { cwd: folder, env })).stdout.trim()
}

beforeAll(async () => {
  folder = mkdtempSync(join(packageFolder, ".readme-"))
  // Beside the programs, which wait now and then.
  errors = compileAll()
  server = await PostgresServer.create()
}, 60_000)
afterAll(async () => {
  await errors
  rmSync(folder, { recursive: true, force: true })
  await server.remove()
})

describe("The code that pages show", () => {
  it.each(pages)("does what %s says", async (page, path) => {
    const samples = samplesOf(path)
    expect(samples).not.toEqual([])
    for (const [index, code] of samples.entries()) {
      expect(await run(fileOf(page, index))).toBe(promised(code))
    }
  })

  it("compiles", async () => {
    expect(await errors).toEqual([])
  })
})
