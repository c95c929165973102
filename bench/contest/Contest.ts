// Contestants beside each other on one Postgres that works as in production: each with a database
// of its own, one at a time, in rounds, so that a machine that slows down slows all of them alike.
//
// A figure during which others used more of a core than allowed is thrown away and measured again,
// three times at most. A contestant that cannot be started, or that fails three times, is named and
// left out.
import { Postgres } from "@millrace/postgres"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { PostgresServer } from "../../packages/postgres/test/PostgresServer.ts"
import type { Workload } from "./Contestant.ts"
import type { Entry, Figure } from "./ContestantProcess.ts"
import { ContestantProcess, measureTogether } from "./ContestantProcess.ts"
import { watchOthers } from "./Machine.ts"

/** How a contest is held. */
export interface Rules {
  readonly rounds: number
  readonly millis: number
  /** True: the page of figures gets the ratios. */
  readonly write: boolean
  /** Cores that others may use meanwhile, on average. */
  readonly others: number
  /** The folder of Postgres; the one that the tests bring along by default. */
  readonly postgres?: string
  /** Beginnings of names of contestants; without any, all take part. */
  readonly only?: ReadonlyArray<string>
}

/** Whether a contestant takes part. */
export const takesPart = ({ only = [] }: Rules, { name }: Entry): boolean =>
  only.length === 0 || only.some((each) => name.startsWith(each))

/** What came of it. */
export interface Result {
  /** The figures of each contestant and workload that count, one for each round. */
  readonly figures: ReadonlyMap<string, ReadonlyArray<Figure>>
  /** Figures that were thrown away, because others used the processors. */
  readonly spoiled: number
  /** Who was left out, and why. */
  readonly leftOut: ReadonlyMap<string, string>
  /** What Postgres calls itself. */
  readonly version: string
}

/** The key of {@link Result.figures}. */
export const keyOf = (name: string, workload: Workload): string => `${name}: ${workload}`

const attempts = 3

/** Runs a statement on a server, and gives its first row. */
const query = (url: string, statement: string) =>
  SqlClient.use((sql) => sql.unsafe<{ readonly version: string }>(statement)).pipe(
    Effect.provide(Postgres.layer({ url: Redacted.make(url), maxConnections: 1 })),
    Effect.runPromise,
  )

/** A contestant with its processes, which are replaced when it fails. */
interface Team {
  readonly entry: Entry
  readonly url: string
  processes: ReadonlyArray<ContestantProcess>
  failures: number
}

const spawnAll = (entry: Entry, url: string): ReadonlyArray<ContestantProcess> =>
  Array.from({ length: entry.servers ?? 1 }, () => new ContestantProcess(entry, url))

class Contest {
  readonly figures = new Map<string, Array<Figure>>()
  readonly leftOut = new Map<string, string>()
  readonly #rules: Rules
  readonly #server: PostgresServer
  #teams: ReadonlyArray<Team> = []
  spoiled = 0

  constructor(rules: Rules, server: PostgresServer) {
    this.#rules = rules
    this.#server = server
  }

  async start(entries: ReadonlyArray<Entry>): Promise<void> {
    for (const [index, entry] of entries.entries()) {
      await query(this.#server.url, `CREATE DATABASE contestant_${index}`)
      const url = this.#server.url.replace(/\/postgres$/, `/contestant_${index}`)
      this.#teams = [...this.#teams, { entry, url, processes: spawnAll(entry, url), failures: 0 }]
    }
  }

  /** Everybody with everything, workload by workload; who is first takes turns. */
  async round(number: number): Promise<void> {
    const workloadsOf = ({ entry: { warmUp, workloads } }: Team) =>
      number < 0 ? (warmUp ?? workloads) : workloads
    for (const workload of new Set(this.#teams.flatMap(workloadsOf))) {
      const all = this.#teams.filter((team) => workloadsOf(team).includes(workload))
      for (const team of number % 2 === 0 ? all : all.toReversed()) {
        try {
          await this.#measure(team, workload, number >= 0)
        } catch (error) {
          await this.#fail(team, error, number < 0)
        }
      }
    }
  }

  async #measure({ entry, processes }: Team, workload: Workload, counts: boolean) {
    const { millis, others } = this.#rules
    for (let attempt = 0; attempt < (counts ? attempts : 1); attempt++) {
      const usedByOthers = watchOthers()
      const figure = await measureTogether(processes, workload, millis, this.#server.pid)
      if (!counts) return
      if (usedByOthers() <= others) {
        const key = keyOf(entry.name, workload)
        this.figures.set(key, [...(this.figures.get(key) ?? []), figure])
        return
      }
      this.spoiled += 1
    }
  }

  /** Whoever fails begins anew; whoever never started, or fails again and again, is left out. */
  async #fail(team: Team, error: unknown, isFirst: boolean) {
    const { name } = team.entry
    team.failures += 1
    await Promise.all(team.processes.map((each) => each.end()))
    const neverStarted = isFirst && String(error).startsWith("Error: open")
    if (team.failures < attempts && !neverStarted) {
      process.stderr.write(`${name} failed: ${String(error)}\n`)
      team.processes = spawnAll(team.entry, team.url)
      return
    }
    process.stderr.write(`${name} is left out: ${String(error)}\n`)
    this.leftOut.set(name, String(error))
    this.#teams = this.#teams.filter((each) => each !== team)
  }

  async end(): Promise<void> {
    const all = this.#teams.flatMap(({ processes }) => processes)
    await Promise.all(all.map((each) => each.end()))
  }
}

/** Holds a contest. The first round warms everybody up and does not count. */
export const hold = async (entries: ReadonlyArray<Entry>, rules: Rules): Promise<Result> => {
  const server = await PostgresServer.create("production", "", rules.postgres)
  const contest = new Contest(rules, server)
  try {
    const [row] = await query(server.url, "SELECT version()")
    await contest.start(entries)
    for (let round = -1; round < rules.rounds; round++) {
      await contest.round(round)
      const spoiled = contest.spoiled === 0 ? "" : `, ${contest.spoiled} figures thrown away`
      const name = round < 0 ? "warmed up" : `round ${round + 1} of ${rules.rounds}`
      process.stderr.write(`${name}${spoiled}\n`)
    }
    const version = row?.version.split(" ").slice(0, 2).join(" ") ?? ""
    return { figures: contest.figures, spoiled: contest.spoiled, leftOut: contest.leftOut, version }
  } finally {
    await contest.end()
    await server.remove()
  }
}
