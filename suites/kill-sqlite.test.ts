/**
 * The store in one file under kill -9: an engine that starts and executes runs is killed again and
 * again in the middle of its work.
 *
 * Guarantees: every run that was named is there and ends; a node that was stored as finished is not
 * called again; the credits add up.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { expect, it, onTestFinished } from "vitest"
import { length, open } from "./sqlite/Program.ts"

const script = fileURLToPath(new URL("sqlite/Program.ts", import.meta.url))

const kills = 8

/** Runs the application until it has named so many runs, and kills it; gives their ids. */
const killedAfter = async (count: number, file: string, journal: string) => {
  const options = ["--conditions=@millrace/source", script, file, journal]
  const child = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] })
  onTestFinished(() => void child.kill("SIGKILL"))
  const ids: Array<string> = []
  const lines = createInterface({ input: child.stdout }).on("line", (id) => ids.push(id))
  while (ids.length < count) await once(lines, "line")
  const closed = once(child, "close")
  child.kill("SIGKILL")
  await closed
  return ids
}

/** The calls in a journal, or the finished nodes in a file, as `run node`. */
const callsIn = (journal: string): ReadonlyArray<string> =>
  existsSync(journal) ? readFileSync(journal, "utf8").trim().split("\n") : []

const finishedIn = (file: string): ReadonlySet<string> => {
  const database = new DatabaseSync(file)
  const rows = database
    .prepare("SELECT r.id, n.facts FROM node_runs n JOIN runs r ON r.number = n.run")
    .all()
  expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }])
  database.close()
  const facts = rows.map(({ facts, id }) => ({ id, ...JSON.parse(String(facts)) }))
  const finished = facts.filter(({ status }) => status === "COMPLETED")
  return new Set(finished.map(({ id, nodeId }) => `${id} ${nodeId}`))
}

it(`loses nothing in ${kills} kills, and calls no finished node again`, async () => {
  const root = mkdtempSync(join(tmpdir(), "millrace-kill-"))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const file = join(root, "data.db")
  const named: Array<string> = []
  let finished: ReadonlySet<string> = new Set()
  for (let kill = 1; kill <= kills; kill++) {
    const journal = join(root, `journal-${kill}`)
    named.push(...(await killedAfter(kill * 7, file, journal)))
    expect(callsIn(journal).filter((call) => finished.has(call))).toEqual([])
    finished = finishedIn(file)
  }

  const journal = join(root, "journal-last")
  await using engine = await open(file, journal)
  let cost = 0
  for (const id of named) {
    const run = await engine.runs.wait(id, { timeout: "1 minute" })
    expect(run).toMatchObject({ status: "COMPLETED", error: null })
    expect(run.nodes[`n${length - 1}`]?.output).toEqual({ output: length })
    cost += run.actualCredits
  }
  expect(callsIn(journal).filter((call) => finished.has(call))).toEqual([])
  expect(cost).toBe(named.length * length)
}, 290_000)
