// Millrace beside what a user would take instead: job queues, single and in bulk, and engines for
// workflows as functions, all doing the work of `contest/Contestant.ts` in one sitting.
//
// The peers are installed by the first run, into `peers/`, at the versions that its lock file says.
// A peer that cannot be installed or started is named and left out. What each of them does less
// than an engine is said in its file and in `docs/explanation/performance.md`.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Workload } from "./contest/Contestant.ts"
import type { Entry } from "./contest/ContestantProcess.ts"
import type { Result, Rules } from "./contest/Contest.ts"
import { hold, takesPart } from "./contest/Contest.ts"
import type { Ratios } from "./contest/Tables.ts"
import { medianOf, printContest, printRatios, ratio, writePage } from "./contest/Tables.ts"
import { createEngineEntry, serveEntry } from "./Engine.ts"

const folder = fileURLToPath(new URL("./peers", import.meta.url))
const all: ReadonlyArray<Workload> = ["W1", "W2", "W3", "W4"]

const graphileBulk = "graphile-worker, bulk"
const fastify = "fastify + graphile-worker, bulk"

const peer = (name: string, file: string, variant?: string): Entry => ({
  name,
  file: `../peers/${file}.mjs`,
  args: variant === undefined ? [] : [variant],
  workloads: all,
})

/** Servers are measured with one workload, and warmed up as long as the others. */
const overHttp = { workloads: ["HTTP"], warmUp: all } as const

const peers: ReadonlyArray<Entry> = [
  peer("graphile-worker, single", "GraphileMain", "single"),
  peer(graphileBulk, "GraphileMain", "bulk"),
  peer("graphile-worker, bulk, outputs kept", "GraphileMain", "kept"),
  peer("pg-boss, single", "PgBossMain", "single"),
  peer("pg-boss, bulk", "PgBossMain", "bulk"),
  peer("BullMQ, appendfsync always", "BullMqMain"),
  peer("DBOS", "DbosMain"),
  peer("OpenWorkflow", "OpenWorkflowMain"),
  peer("Restate", "RestateMain"),
  { ...peer(fastify, "HttpMain"), ...overHttp },
]

/** Installs the peers, once. Those that do not install fail when they are started. */
const install = (): void => {
  if (existsSync(`${folder}/node_modules`)) return
  process.stderr.write("installing the peers\n")
  // Not `npm ci`: it refuses where a registry lacks an optional package for another platform.
  const { status, stderr } = spawnSync("npm", ["install", "--no-save"], {
    cwd: folder,
    encoding: "utf8",
  })
  if (status !== 0) process.stderr.write(`the peers cannot be installed: ${stderr}\n`)
}

const ours: readonly [Entry, Entry] = [
  { ...createEngineEntry, workloads: [...all, "pure"] },
  { ...serveEntry, ...overHttp },
]

const ratiosOf = (result: Result): Ratios => {
  const [application, server] = ours.map(({ name }) => name) as [string, string]
  const pair = [application, graphileBulk] as const
  const pure = medianOf(result, application, "pure")?.value
  const chain = medianOf(result, graphileBulk, "W1")?.value
  const http = [server, fastify] as const
  return {
    [`W1, ${application} by ${graphileBulk}`]: ratio(result, "W1", pair),
    "W2, the same": ratio(result, "W2", pair),
    "W3 p50, the same": ratio(result, "W3", pair),
    "W4 accepted, the same": ratio(result, "W4", pair, "accepted"),
    "W4 finished, the same": ratio(result, "W4", pair),
    "pure chain by its W1": pure === undefined || chain === undefined ? undefined : pure / chain,
    [`HTTP starts, serve by ${fastify}`]: ratio(result, "HTTP", http, "accepted"),
    "CPU of a start over HTTP, the same": ratio(result, "HTTP", http, "engineCpu"),
  }
}

/** Runs everything and prints tables. `only` names peers; we always take part. */
export const measure = async (rules: Rules) => {
  install()
  const entries = [...ours, ...peers.filter((entry) => takesPart(rules, entry))]
  const result = await hold(entries, rules)
  const names = entries.filter(({ workloads }) => workloads.includes("W1")).map(({ name }) => name)
  printContest(result, names)
  const ratios = ratiosOf(result)
  printRatios(ratios)
  const [{ name: base }] = ours
  if (rules.write) writePage("peers", result, rules, { base, names, ratios })
  const { spoiled, version } = result
  const leftOut = Object.fromEntries(result.leftOut)
  return { version, spoiled, leftOut, figures: Object.fromEntries(result.figures) }
}
