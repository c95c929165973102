/**
 * What is copied for a terminal, and what is downloaded, is what the viewer saw.
 */
import { execFileSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { attemptsOf, filteredLog, logText } from "../../src/model/LoggedLines.ts"
import { curlOf } from "../../src/model/StartCommand.ts"
import { at } from "./Sample.ts"

describe("curlOf", () => {
  it("hands values to a shell as they are", () => {
    const values = { text: `it's "$HOME" \`date\` \\ \n ${String.fromCodePoint(0x1f600)}` }
    const command = curlOf("http://localhost:7411/", { workflowId: "wf_1", values })
    const script = `curl() { printf '%s\\0' "$@"; }; ${command}`
    const printed = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0")
    expect(printed).toContain("http://localhost:7411/api/v1/runs")
    const body: unknown = JSON.parse(printed[printed.indexOf("-d") + 1]!)
    expect(body).toEqual({ workflowId: "wf_1", values })
  })
})

describe("The log of a node", () => {
  const lines = [
    { at: at(1), level: "debug", message: "begin", attempt: 1 },
    { at: at(2), level: "error", message: "Refused", attempt: 1, data: { code: 7 } },
    { at: at(3), level: "info", message: "done", attempt: 2 },
  ] as const

  it("is filtered by level and by text in messages and data", () => {
    const found = (level: "debug" | "info", text: string) =>
      filteredLog(lines, { level, text }).map(({ message }) => message)
    expect(found("info", "")).toEqual(["Refused", "done"])
    expect(found("debug", " REFUSED ")).toEqual(["Refused"])
    expect(found("debug", '"code":7')).toEqual(["Refused"])
  })

  it("is a text file of one line each, and knows the attempts", () => {
    expect(logText(lines).split("\n")[1]).toBe(`${at(2)} ERROR #1 Refused {"code":7}`)
    expect(attemptsOf(lines)).toEqual([
      { attempt: 1, from: at(1), to: at(2), lines: 2, error: "Refused" },
      { attempt: 2, from: at(3), to: at(3), lines: 1, error: undefined },
    ])
  })
})
