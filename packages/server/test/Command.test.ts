import { spawnSync } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "../src/internal/Version.ts"

const own = fileURLToPath(new URL("../", import.meta.url))
const { bin } = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as {
  readonly bin: { readonly millrace: string }
}

let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-command-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (command: string, ...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [command, ...args], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
  })
  return { status, out: stdout.trimEnd(), err: stderr.trimEnd() }
}

describe("the command of a checkout", () => {
  it("is there before anything is built", () => {
    expect(bin.millrace).not.toMatch(/dist/)
    expect(existsSync(join(own, bin.millrace))).toBe(true)
  })

  it("runs the sources, and ends with their code", () => {
    const command = join(own, bin.millrace)
    expect(run(command, "--version")).toEqual({ status: 0, out: version, err: "" })
    const { err, status } = run(command, "keys", "list")
    expect([status, err]).toEqual([2, expect.stringMatching(/^No place with accounts is named\. /)])
  })

  it("says what to do where nothing is installed", () => {
    const copy = join(folder, "packages/server/bin")
    mkdirSync(copy, { recursive: true })
    copyFileSync(join(own, bin.millrace), join(copy, "millrace.mjs"))
    const { err, status } = run(join(copy, "millrace.mjs"), "keys", "list")
    expect([status, err]).toEqual([1, expect.stringMatching(/ run npm ci first$/)])
  })
})
