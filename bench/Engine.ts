// What users feel: the workloads through `createEngine` and over HTTP through `millrace serve`,
// beside the core and beside the ceiling, all with the defaults of production, each in a process of
// its own.
//
// On the Postgres that the tests bring along and, where it is installed, on Debian's. Beside that,
// a chain of nodes without effects, two servers on one database, and the heap of a run in flight.
import { existsSync } from "node:fs"
import type { Workload } from "./contest/Contestant.ts"
import type { Entry } from "./contest/ContestantProcess.ts"
import type { Result, Rules } from "./contest/Contest.ts"
import { hold, takesPart } from "./contest/Contest.ts"
import type { Ratios } from "./contest/Tables.ts"
import { medianOf, printContest, printRatios, ratio, writePage } from "./contest/Tables.ts"

const all: ReadonlyArray<Workload> = ["W1", "W2", "W3", "W4"]

const core = "core"
const application = "createEngine"
const served = "serve, over HTTP"
const ceiling = "ceiling, one flush"
const ceilingOfTwo = "ceiling, two flushes"
const memory = "heap"
const one = "one server"
const two = "two servers"

/** The front door, which other contests need, too. */
export const createEngineEntry: Entry = { name: application, file: "Ours.ts", workloads: all }

/** The server, which other contests need, too. */
export const serveEntry: Entry = { name: served, file: "Served.ts", workloads: all }

const ours: ReadonlyArray<Workload> = [...all, "pure"]

/** Servers that share a database. As many as there are, they have the same past. */
const servers = { file: "Ours.ts", workloads: ["slow"], warmUp: [...ours, "slow"] } as const

const entries: ReadonlyArray<Entry> = [
  { name: ceiling, file: "Bare.ts", args: ["1"], workloads: all },
  { name: ceilingOfTwo, file: "Bare.ts", args: ["2"], workloads: ["W1", "W2", "W4"] },
  { name: core, file: "Core.ts", workloads: all },
  { ...createEngineEntry, workloads: ours },
  { ...servers, name: one },
  { ...servers, name: two, servers: 2 },
  serveEntry,
  { name: memory, file: "Ours.ts", args: ["memory"], workloads: ["memory"] },
]

const debian = "/usr/lib/postgresql/15"

const names = [ceiling, ceilingOfTwo, core, application, served]

const ratiosOf = (result: Result): Ratios => {
  const of = (workload: Workload, ours: string, theirs: string) =>
    ratio(result, workload, [ours, theirs])
  const value = (name: string, workload: Workload) => medianOf(result, name, workload)?.value
  const [pure, chain] = [value(application, "pure"), value(application, "W1")]
  const http = medianOf(result, served, "W4")
  return {
    "W1, core by ceiling": of("W1", core, ceiling),
    "W2, core by ceiling": of("W2", core, ceiling),
    "W4, core by ceiling": of("W4", core, ceiling),
    "W3 p50, core by ceiling": of("W3", core, ceiling),
    "W1, createEngine by core": of("W1", application, core),
    "W2, createEngine by core": of("W2", application, core),
    "W4, createEngine by core": of("W4", application, core),
    "CPU of a step, createEngine by core": ratio(result, "W1", [application, core], "engineCpu"),
    "pure chain by W1": pure === undefined || chain === undefined ? undefined : pure / chain,
    "two servers by one, steps of 20 ms": of("slow", two, one),
    "heap of a run in flight, kB": (value(memory, "memory") ?? 0) / 1_000,
    "CPU of a start over HTTP, ms": http?.engineCpu,
  }
}

/** Runs everything and prints tables. */
export const measure = async (rules: Rules) => {
  const versions = [undefined, ...(existsSync(`${debian}/bin/postgres`) ? [debian] : [])]
  const chosen = entries.filter((entry) => takesPart(rules, entry))
  const results: Array<object> = []
  for (const postgres of versions) {
    const result = await hold(chosen, { ...rules, ...(postgres === undefined ? {} : { postgres }) })
    const ratios = ratiosOf(result)
    printContest(result, names)
    printRatios(ratios)
    if (rules.write && postgres === undefined) {
      writePage("engine", result, rules, { base: application, names, ratios })
    }
    const figures = Object.fromEntries(result.figures)
    const leftOut = Object.fromEntries(result.leftOut)
    results.push({ version: result.version, spoiled: result.spoiled, leftOut, figures })
  }
  return results
}
