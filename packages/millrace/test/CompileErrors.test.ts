/**
 * What the compiler says of wrong programs: one sentence that names what is right.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"

const packageFolder = resolve(import.meta.dirname, "..")
const repository = resolve(packageFolder, "../..")

const page = readFileSync(join(import.meta.dirname, "CompileErrors.md"), "utf8")

/** What each program begins with. */
const beginning = /^```ts\n(.*?)^```$/ms.exec(page)?.[1] ?? ""

/** Wrong programs, and what the compiler says. */
const cases = Array.from(
  page.matchAll(/^## ([^\n]*)\n\n```ts\n(.*?)^```\n\n```text\n(.*?)\n```$/gms),
  ([, what, program, message], index) => ({ what, program, message, file: `case${index}` }),
)

let said: ReadonlyMap<string, ReadonlyArray<string>>

/** Compiles all programs at once; gives what the compiler says, by file. */
const compileAll = async (folder: string): Promise<typeof said> => {
  writeFileSync(join(folder, "beginning.ts"), beginning)
  for (const { file, program } of cases) {
    writeFileSync(join(folder, `${file}.ts`), `${beginning}\n${program}`)
  }
  const settings = { extends: join(repository, "tsconfig.tests.json"), include: ["*.ts"] }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const compiler = join(repository, "node_modules/typescript/bin/tsc")
  const { promise, resolve: done } = Promise.withResolvers<string>()
  execFile(
    process.execPath,
    [compiler, "-p", folder, "--pretty", "false", "--checkers", "1"],
    (_, stdout) => done(stdout),
  )
  const lines = [...(await promise).matchAll(/^.*?(\w+)\.ts\(\d+,\d+\): error TS\d+: (.*)$/gm)]
  return new Map(
    [...Map.groupBy(lines, ([, file]) => file!)].map(([file, matches]) => [
      file,
      matches.map(([, , message]) => message!),
    ]),
  )
}

beforeAll(async () => {
  const folder = mkdtempSync(join(packageFolder, ".errors-"))
  try {
    said = await compileAll(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 300_000)

describe("The compiler", () => {
  it("has nothing against the program that all begin with", () => {
    expect(cases.length).toBeGreaterThanOrEqual(10)
    expect(said.get("beginning")).toBeUndefined()
  })

  it.each(cases)("says what is right: $what", ({ file, message }) => {
    expect(said.get(file)).toEqual([message])
  })
})
