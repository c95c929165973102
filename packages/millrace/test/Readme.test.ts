/**
 * What the READMEs show compiles, runs, and prints what they say it prints.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"

const exec = promisify(execFile)

const packageFolder = resolve(import.meta.dirname, "..")
const repository = resolve(packageFolder, "../..")

/** The blocks of TypeScript in a text that import from "millrace". */
const blocksOf = (file: string): ReadonlyArray<string> =>
  [...readFileSync(file, "utf8").matchAll(/^```ts\n(.*?)^```$/gms)]
    .map((match) => match[1] ?? "")
    .filter((code) => code.includes('from "millrace"'))

/** What the comment at the end of the block says will be printed. */
const promised = (code: string): string => /\/\/ (.*)\s*$/.exec(code)?.[1] ?? "no such comment"

const pages = [
  ["the repository", join(repository, "README.md")],
  ["this package", join(packageFolder, "README.md")],
  ["tests of workflows", join(repository, "docs/how-to/test-a-workflow.md")],
  ["several accounts", join(repository, "docs/how-to/several-accounts.md")],
  ["workflows in code", join(repository, "docs/how-to/draw-in-code.md")],
  ["transactions", join(repository, "docs/how-to/start-in-a-transaction.md")],
] as const

let server: PostgresServer
let folder: string

const fileOf = (page: string, index: number): string => `${page.replaceAll(" ", "-")}-${index}.ts`

/** Compiles all programs in this package, at once. */
const compileAll = async (): Promise<string> => {
  for (const [page, path] of pages) {
    for (const [index, code] of blocksOf(path).entries()) {
      writeFileSync(join(folder, fileOf(page, index)), code)
    }
  }
  const settings = { extends: join(repository, "tsconfig.tests.json"), include: ["*.ts"] }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const compiler = join(repository, "node_modules/typescript/bin/tsc")
  const { promise, resolve: done } = Promise.withResolvers<string>()
  execFile(process.execPath, [compiler, "-p", folder], (_, stdout) => done(stdout))
  return promise
}

const run = async (file: string): Promise<string> => {
  const program = ["--conditions=@millrace/source", file]
  const env = { ...process.env, DATABASE_URL: server.url }
  return (await exec(process.execPath, program, { cwd: folder, env })).stdout.trim()
}

beforeAll(async () => {
  folder = mkdtempSync(join(packageFolder, ".readme-"))
  server = await PostgresServer.create()
}, 60_000)
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await server.remove()
})

describe("The code that pages show", () => {
  it("compiles", async () => {
    expect(await compileAll()).toBe("")
  })

  it.each(pages)("does what %s says", async (page, path) => {
    const blocks = blocksOf(path)
    expect(blocks).not.toEqual([])
    for (const [index, code] of blocks.entries()) {
      expect(await run(fileOf(page, index))).toBe(promised(code))
    }
  })
})
