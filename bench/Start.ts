// How fast a process starts, and what it takes then: `import "millrace"`, and `millrace serve` on
// Postgres until it listens and when it has been idle for a while. And how fast an engine is at
// first: its first 1,000 runs beside those after 10,000. All are measured as a user has them, from
// the built packages, so `npm run build` comes first.
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

/** How fast an engine was during 1,000 runs. */
interface Pace {
  readonly perSecond: number
  /** Milliseconds from start to result that 99 of 100 runs stay below. */
  readonly p99: number
  readonly cpuMillis: number
}

/** An engine that has done nothing yet: 11,000 runs of one step, 100 at a time. */
const runs = (url: string) => `
  import { createEngine, defineNode, postgres } from "millrace"
  import { z } from "zod"
  const output = "x".repeat(200)
  const outputs = { output: z.string() }
  const step = defineNode({ type: "step", inputs: {}, outputs, run: () => ({ output }) })
  const store = postgres(${JSON.stringify(url)})
  const engine = await createEngine({ store, nodes: [step], webhooks: false })
  const drawn = engine.workflow("Warmth").node("a", "step")
  const { id: workflowId } = await engine.workflows.create(drawn)
  const marks = []
  const mark = () => {
    const { system, user } = process.cpuUsage()
    marks.push({ at: performance.now(), cpu: (user + system) / 1_000 })
  }
  mark()
  const times = []
  let begun = 0
  const work = async () => {
    while (begun++ < 11_000) {
      const start = performance.now()
      const { status } = await (await engine.runs.start({ workflowId })).wait()
      if (status !== "COMPLETED") throw new Error("A run is " + status)
      if (times.push(performance.now() - start) % 1_000 === 0) mark()
    }
  }
  await Promise.all(Array.from({ length: 100 }, work))
  const pace = (index) => {
    const [from, to] = [marks[index], marks[index + 1]]
    const sorted = times.slice(index * 1_000, (index + 1) * 1_000).sort((a, b) => a - b)
    const cpuMillis = to.cpu - from.cpu
    return { perSecond: 1_000_000 / (to.at - from.at), p99: sorted[989], cpuMillis }
  }
  console.log(JSON.stringify([pace(0), pace(1), pace(10)]))
  process.exit()`

/** The line that a program prints in a process of its own. */
const printed = async (text: string): Promise<unknown> => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", text], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  })
  for await (const line of createInterface(child.stdout)) return JSON.parse(line)
  throw new Error("the packages cannot be used: npm run build comes first")
}

/** A process that imports a package and does nothing else. */
const importing = async (name: string): Promise<Figures> =>
  (await printed(program(name))) as Figures

const paces = ["runs 1-1,000", "runs 1,001-2,000", "runs 10,001-11,000"]

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
    const paced: Array<ReadonlyArray<Pace>> = []
    for (let round = -1; round < rounds; round++) {
      const ofRuns = (yield* Effect.promise(() => printed(runs(url)))) as ReadonlyArray<Pace>
      const imported = yield* Effect.promise(() => importing("millrace"))
      const { idle, ready } = yield* Effect.promise(() => serving(url))
      // Round -1 makes the tables and compiles the code, and does not count.
      if (round < 0) continue
      paced.push(ofRuns)
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
    const warmth = paces.map((what, index) => {
      const of = (key: keyof Pace) => median(paced.map((each) => each[index]![key]))
      const ratio = median(paced.map((each) => each[2]!.perSecond / each[index]!.perSecond))
      return {
        what,
        "per second": Math.round(of("perSecond")),
        "p99 ms": Math.round(of("p99")),
        "CPU ms": Math.round(of("cpuMillis")),
        "times as long as the last": Number(ratio.toFixed(2)),
      }
    })
    console.table(warmth)
    return { rows, warmth }
  }).pipe(Effect.scoped, Effect.runPromise)
