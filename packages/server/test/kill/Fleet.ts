/**
 * Several servers on one database, each started again when it ends, as a supervisor would.
 *
 * Leaves out: what they are asked.
 */
import { fileURLToPath } from "node:url"
import { setTimeout as sleep } from "node:timers/promises"
import type { Ended } from "../ServerProcess.ts"
import { masterKey, ServerProcess } from "../ServerProcess.ts"

const entry = fileURLToPath(new URL("./Server.ts", import.meta.url))
const shift = new URL("./Shift.ts", import.meta.url).href

/** How long a supervisor waits before it starts a server again. */
const againMillis = 100

const listens = /listens on (http:[^" ]+)/

/** One place of a fleet: the server that has it now, and what became of the ones before. */
class Seat {
  readonly #env: Readonly<Record<string, string>>
  readonly ends: Array<Ended & { readonly output: string }> = []
  #isWanted = true
  #origin: string | undefined
  server: ServerProcess

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env
    this.server = this.#start()
  }

  /** Where its server listens; `undefined` while it does not. */
  get origin(): string | undefined {
    return this.server.isRunning ? this.#origin : undefined
  }

  /** Stops its server in order; the next one is started as after every end. */
  restart(): Promise<Ended> {
    return this.server.end("SIGTERM")
  }

  async stop(): Promise<Ended> {
    this.#isWanted = false
    return this.server.end("SIGTERM")
  }

  async clear(): Promise<void> {
    this.#isWanted = false
    this.server.signal("SIGKILL")
    await this.server.ended
  }

  #start(): ServerProcess {
    this.#origin = undefined
    const server = new ServerProcess([], this.#env, entry)
    server.waitFor(listens).then(
      ([, origin]) => (this.#origin = this.server === server ? origin : this.#origin),
      () => undefined,
    )
    void server.ended.then(async (ended) => {
      this.ends.push({ ...ended, output: server.output })
      await sleep(againMillis)
      if (this.#isWanted) this.server = this.#start()
    })
    return server
  }
}

/** What has a process believe that it is another time. */
export const shiftedBy = (millis: number): Readonly<Record<string, string>> =>
  millis === 0 ? {} : { NODE_OPTIONS: `--import=${shift}`, KILL_SHIFT_MILLIS: String(millis) }

/** What all servers of a fleet are told. */
export interface FleetOptions {
  readonly url: string
  readonly journal: string
  readonly size: number
  readonly env?: Readonly<Record<string, string>>
  /** One for each server, which keeps it when it is started again; any free ones by default. */
  readonly ports?: ReadonlyArray<number>
  /** By how many milliseconds the clock of each is ahead; right where nothing is said. */
  readonly clocks?: ReadonlyArray<number>
}

/** Servers that share a database. */
export class Fleet {
  readonly seats: ReadonlyArray<Seat>

  constructor({ clocks, env, journal, ports, size, url }: FleetOptions) {
    const all = {
      DATABASE_URL: url,
      KILL_JOURNAL: journal,
      MILLRACE_MASTER_KEY: masterKey,
      ...env,
    }
    const own = (index: number) => ({
      MILLRACE_PORT: String(ports?.[index] ?? 0),
      ...shiftedBy(clocks?.[index] ?? 0),
    })
    this.seats = Array.from({ length: size }, (_, index) => new Seat({ ...own(index), ...all }))
  }

  /** Where servers listen at the moment. */
  origins(): ReadonlyArray<string> {
    return this.seats.flatMap(({ origin }) => origin ?? [])
  }

  /** Waits until every server listens. */
  async ready(): Promise<void> {
    while (this.origins().length < this.seats.length) {
      const failed = this.seats.find(({ ends }) => ends.length > 20)
      if (failed !== undefined)
        throw new Error(`A server does not start\n${failed.ends[0]?.output}`)
      await sleep(20)
    }
  }

  /**
   * Stops every server in order, and tells how each ended. Waits for all of them before: one that
   * has only begun to start cannot stop in order.
   */
  async stop(): Promise<ReadonlyArray<Ended>> {
    await this.ready()
    return Promise.all(this.seats.map((seat) => seat.stop()))
  }

  /** Leaves nothing behind. */
  async clear(): Promise<void> {
    await Promise.all(this.seats.map((seat) => seat.clear()))
  }

  /** What every server printed, for messages. */
  get output(): string {
    return this.seats
      .flatMap(({ ends, server }) => [...ends.map(({ output }) => output), server.output])
      .join("\n")
  }
}
