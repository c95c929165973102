/**
 * Large values under kill -9: fifty values of 1 MiB through ten nodes each, on Postgres, in
 * processes that are killed again and again.
 *
 * Guarantees: the same bytes arrive, rows stay small, and with the run its values are gone.
 */
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest"
import { PostgresServer } from "../packages/postgres/test/PostgresServer.ts"
import { lanes, open, steps, valueOf } from "./values/Program.ts"

let server: PostgresServer

beforeAll(async () => {
  server = await PostgresServer.create()
}, 60_000)
afterAll(() => server.remove())

/** Lets the other process work. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 50))

const script = fileURLToPath(new URL("values/Program.ts", import.meta.url))

/** Starts a process, and gives what it prints first. */
const begin = async (command: string): Promise<readonly [ChildProcess, string]> => {
  const options = ["--conditions=@millrace/source", script, server.url, command]
  const child = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] })
  onTestFinished(() => void child.kill("SIGKILL"))
  const [printed] = (await once(child.stdout, "data")) as [Buffer]
  return [child, printed.toString().trim()]
}

it("keeps fifty values of 1 MiB through ten nodes and five kills, and removes them with the run", async () => {
  const sql = new Client({ connectionString: server.url })
  await sql.connect()
  onTestFinished(() => sql.end())
  const one = async (text: string) => Number((await sql.query(text)).rows[0].n)
  const doneNow = () => one("SELECT count(*) AS n FROM node_runs WHERE status = 'COMPLETED'")

  const [first, runId] = await begin("start")
  let child = first
  for (let kills = 0; kills < 5; kills++) {
    const before = await doneNow()
    const most = lanes * steps
    // Killed in the middle of the work: once some nodes more have ended.
    while ((await doneNow()) < Math.min(before + 20, most - 20)) await pause()
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
    if (kills < 4) [child] = await begin("resume")
  }

  await using engine = await open(server.url)
  const run = await engine.runs.wait(runId, { timeout: "4 minutes" })
  expect(run.error).toBeNull()
  for (let lane = 0; lane < lanes; lane++) {
    const [value] = run.nodes[`n${lane}_${steps - 1}`]!.largeValues!.filter(
      ({ at }) => at === "/output/output",
    )
    expect(value!.bytes).toBe(1_048_576)
    expect((await engine.runs.value(runId, value!.id)) === valueOf(lane)).toBe(true)
  }
  expect(await one("SELECT max(octet_length(n::text)) AS n FROM node_runs n")).toBeLessThan(2_048)
  const widest = await one("SELECT max(octet_length(bytes)) AS n FROM run_values")
  expect(widest).toBeLessThanOrEqual(262_144)

  await sql.query("DELETE FROM runs WHERE id = $1", [runId])
  expect(await one("SELECT count(*) AS n FROM run_values")).toBe(0)
}, 590_000)
