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

let server: PostgresServer

beforeAll(async () => {
  server = await PostgresServer.create()
}, 60_000)
afterAll(() => server.remove())

/** Compiles and runs a program in this package; gives what it prints. */
const compileAndRun = async (code: string): Promise<string> => {
  const folder = mkdtempSync(join(packageFolder, ".readme-"))
  try {
    writeFileSync(join(folder, "example.ts"), code)
    const settings = { extends: join(repository, "tsconfig.tests.json"), include: ["example.ts"] }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
    const compiler = join(repository, "node_modules/typescript/bin/tsc")
    await exec(process.execPath, [compiler, "-p", folder])
    const program = ["--conditions=@millrace/source", "example.ts"]
    const env = { ...process.env, DATABASE_URL: server.url }
    return (await exec(process.execPath, program, { cwd: folder, env })).stdout.trim()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe.each([
  ["the repository", join(repository, "README.md")],
  ["this package", join(packageFolder, "README.md")],
  ["tests of workflows", join(repository, "docs/how-to/test-a-workflow.md")],
  ["several accounts", join(repository, "docs/how-to/several-accounts.md")],
  ["transactions", join(repository, "docs/how-to/start-in-a-transaction.md")],
])("The page of %s", (_, file) => {
  it("shows embedding code that does what it says", async () => {
    const blocks = blocksOf(file)
    expect(blocks).not.toEqual([])
    for (const code of blocks) expect(await compileAndRun(code)).toBe(promised(code))
  })
})
