/**
 * A database, a fleet on it and clients of that, for one test.
 *
 * Guarantees: nothing of it is left afterwards. Leaves out: what is done to them.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { PostgresServer } from "../../../postgres/test/PostgresServer.ts"
import { ServerProcess } from "../ServerProcess.ts"
import { Dice } from "./Dice.ts"
import { countOpen, meterAll, problemsOf, readDiscrepancies, readStories } from "./Evidence.ts"
import { Fleet } from "./Fleet.ts"
import { Traffic } from "./Traffic.ts"
import type { Attempt, Drawing } from "./Work.ts"
import { computing, draw, line, readJournal } from "./Work.ts"

/** What a test needs. */
export interface ArenaOptions {
  readonly seed: number
  /** Servers. */
  readonly size: number
  readonly env?: Readonly<Record<string, string>>
  /** By how many milliseconds the clock of each server is ahead. */
  readonly clocks?: ReadonlyArray<number>
  readonly maxConnections?: number
}

/** A workflow that can be started. */
export type Stored = readonly [id: string, drawing: Drawing]

/** Makes a key with the real command. */
export const createKey = async (url: string): Promise<string> => {
  const args = ["keys", "create", "--label", "test", "--per-minute", "10000", "--per-day", "100000"]
  const command = new ServerProcess(args, { DATABASE_URL: url })
  const { code } = await command.ended
  if (code !== 0) throw new Error(command.output)
  return command.stdout.trim()
}

/** Where a test takes place. */
export class Arena {
  readonly postgres: PostgresServer
  readonly fleet: Fleet
  readonly traffic: Traffic
  readonly dice: Dice
  readonly #folder: string
  readonly #journal: string
  readonly #drawings = new Map<string, Drawing>()

  private constructor(parts: {
    readonly postgres: PostgresServer
    readonly fleet: Fleet
    readonly traffic: Traffic
    readonly dice: Dice
    readonly folder: string
    readonly journal: string
  }) {
    this.postgres = parts.postgres
    this.fleet = parts.fleet
    this.traffic = parts.traffic
    this.dice = parts.dice
    this.#folder = parts.folder
    this.#journal = parts.journal
  }

  /** Starts everything, and waits until every server listens. */
  static async open({ clocks, env, maxConnections, seed, size }: ArenaOptions): Promise<Arena> {
    console.log(`seed ${seed}; KILL_SEED=${seed} repeats it`)
    const folder = mkdtempSync(join(tmpdir(), "millrace-arena-"))
    const journal = join(folder, "journal")
    writeFileSync(journal, "")
    const postgres = await PostgresServer.create(
      "fast",
      maxConnections === undefined ? "" : `-c max_connections=${maxConnections}`,
    )
    const secret = await createKey(postgres.url)
    await meterAll(postgres.url)
    const fleet = new Fleet({
      url: postgres.url,
      journal,
      size,
      ...(env === undefined ? {} : { env }),
      ...(clocks === undefined ? {} : { clocks }),
    })
    const dice = new Dice(seed)
    const traffic = new Traffic(fleet, secret, new Dice(seed + 1))
    const arena = new Arena({ postgres, fleet, traffic, dice, folder, journal })
    await fleet.ready().catch(async (cause: unknown) => {
      await arena.close()
      throw cause
    })
    return arena
  }

  /** Draws and stores a workflow. */
  workflow(name: string, size: number, maxMillis: number): Promise<Stored> {
    return this.#store(draw(name, size, maxMillis, this.dice))
  }

  /** Stores a workflow of nodes in a line that take so long each. */
  line(name: string, size: number, millis: number): Promise<Stored> {
    return this.#store(line(name, size, millis))
  }

  /** Stores a workflow with a node that computes for so long without a pause. */
  computing(name: string, millis: number): Promise<Stored> {
    return this.#store(computing(name, millis))
  }

  /** Waits until every run has ended, and fails when that takes too long. */
  async settled(withinMillis = 200_000): Promise<void> {
    const until = Date.now() + withinMillis
    for (;;) {
      const open = await countOpen(this.postgres.url)
      if (open === 0) return
      if (Date.now() > until) throw new Error(`${open} runs are still open\n${this.fleet.output}`)
      await sleep(200)
    }
  }

  /** The path of what handlers write down. */
  get journalPath(): string {
    return this.#journal
  }

  /** Every attempt that began so far, in order. */
  journal(): ReadonlyArray<Attempt> {
    return readJournal(this.#journal)
  }

  /** Waits for an attempt that began later than the first `after` of them. */
  async begun(after: number, wanted: (attempt: Attempt) => boolean): Promise<Attempt> {
    const until = Date.now() + 60_000
    for (;;) {
      const found = this.journal().slice(after).find(wanted)
      if (found !== undefined) return found
      if (Date.now() > until) throw new Error(`Nothing of this kind began\n${this.fleet.output}`)
      await sleep(10)
    }
  }

  /** Everything that is wrong with what is stored, or owed, and with what clients have seen. */
  async problems(): Promise<ReadonlyArray<string>> {
    const stories = await readStories(this.postgres.url)
    const { acknowledged, violations } = this.traffic
    return [
      ...violations,
      ...problemsOf(stories, acknowledged, this.journal(), this.#drawings),
      ...(await readDiscrepancies(this.postgres.url)),
    ]
  }

  async #store(drawing: Drawing): Promise<Stored> {
    this.#drawings.set(drawing.name, drawing)
    return [await this.traffic.store(drawing), drawing]
  }

  /** Leaves nothing behind. */
  async close(): Promise<void> {
    await this.fleet.clear()
    await this.postgres.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
