// How fast a process starts, and what it takes then: `import "millrace"`, and `millrace serve` on
// Postgres until it listens and when it has been idle for a while. Both are measured as a user has
// them, from the built packages, so `npm run build` comes first.
//
// Processor time counts what all threads of a process did. It suffers less from other processes
// than the time on the clock. The code that Node keeps compiled is there, as at every start but the
// first.
import { Effect, Redacted } from "effect"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"
import { masterKey } from "../packages/server/test/ServerProcess.ts"
import { ticksOf } from "./Meter.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const entry = fileURLToPath(new URL("../packages/server/dist/main.js", import.meta.url))
const idleMillis = 25_000

interface Figures {
  readonly wallMillis: number
  readonly cpuMillis: number
  readonly megabytes: number
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

const residentOf = (pid: number): number => {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Number(kilobytes ?? 0) / 1_024
}

const program = (name: string) => `
  const begun = performance.now()
  await import(${JSON.stringify(name)})
  const wallMillis = performance.now() - begun
  const { system, user } = process.cpuUsage()
  const megabytes = process.memoryUsage.rss() / 1_048_576
  console.log(JSON.stringify({ wallMillis, cpuMillis: (user + system) / 1_000, megabytes }))
  process.exit()`

/** A process that imports a package and does nothing else. */
const importing = async (name: string): Promise<Figures> => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program(name)], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  })
  for await (const line of createInterface(child.stdout)) return JSON.parse(line) as Figures
  throw new Error(`${name} cannot be imported: npm run build comes first`)
}

/** A server from its start until it has been idle for a while. */
const serving = async (url: string): Promise<{ ready: Figures; idle: Figures }> => {
  const begun = performance.now()
  const child = spawn(process.execPath, [entry, "serve", "--port", "0"], {
    cwd: root,
    env: { PATH: process.env["PATH"], DATABASE_URL: url, MILLRACE_MASTER_KEY: masterKey },
    stdio: ["ignore", "pipe", "inherit"],
  })
  try {
    const pid = child.pid ?? Number.NaN
    for await (const line of createInterface(child.stdout)) {
      if (!line.includes("listens on")) continue
      const [wallMillis, ticks] = [performance.now() - begun, ticksOf(pid)]
      const ready = { wallMillis, cpuMillis: ticks * 10, megabytes: residentOf(pid) }
      await sleep(idleMillis)
      const cpuMillis = (ticksOf(pid) - ticks) * 10
      return { ready, idle: { wallMillis: idleMillis, cpuMillis, megabytes: residentOf(pid) } }
    }
    throw new Error("the server did not start: npm run build comes first")
  } finally {
    child.kill("SIGKILL")
  }
}

/** Runs everything and prints a table. */
export const measure = (rounds: number) =>
  Effect.gen(function* () {
    const url = Redacted.value(yield* TestPostgres.ownServer("fast"))
    const samples = new Map<string, Array<Figures>>()
    const add = (name: string, figures: Figures) =>
      samples.set(name, [...(samples.get(name) ?? []), figures])
    for (let round = -1; round < rounds; round++) {
      const imported = yield* Effect.promise(() => importing("millrace"))
      const { idle, ready } = yield* Effect.promise(() => serving(url))
      // Round -1 makes the tables and compiles the code, and does not count.
      if (round < 0) continue
      add('import "millrace"', imported)
      add("serve, ready", ready)
      add(`serve, idle for ${idleMillis / 1_000} s`, idle)
      process.stderr.write(`round ${round + 1} of ${rounds}\n`)
    }
    const rows = [...samples].map(([what, figures]) => {
      const of = (key: keyof Figures) => Math.round(median(figures.map((each) => each[key])))
      return { what, ms: of("wallMillis"), "CPU ms": of("cpuMillis"), MB: of("megabytes") }
    })
    console.table(rows)
    return rows
  }).pipe(Effect.scoped, Effect.runPromise)
