// A contestant's process, as who measures it sees it: opened for a figure and closed after it, so
// that nobody polls while somebody else is measured. The process stays, and stays warm.
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Contestant, Measured, Reply, Request, Workload } from "./Contestant.ts"
import { ticksBelow, ticksOf } from "./Machine.ts"

/** Who takes part, and where. */
export interface Entry {
  readonly name: string
  /** The file of its process, from this folder. */
  readonly file: string
  readonly args?: ReadonlyArray<string>
  /** What it is measured with. */
  readonly workloads: ReadonlyArray<Workload>
  /** What warms it up; the same by default. Who is measured with little is cold otherwise. */
  readonly warmUp?: ReadonlyArray<Workload>
  /** So many processes on one database work at the same time; one by default. */
  readonly servers?: number
}

/** A figure of a contestant. CPU seconds are for 1,000 steps. */
export interface Figure extends Measured {
  readonly engineCpu: number
  readonly storeCpu: number
}

/** How long a call may take beyond what it is meant to take. */
const patienceMillis = 120_000

/** A running contestant. */
export class ContestantProcess {
  readonly entry: Entry
  readonly #child: ChildProcess
  readonly #ended: Promise<Reply>
  #errors = ""

  constructor(entry: Entry, database: string) {
    this.entry = entry
    const file = fileURLToPath(new URL(entry.file, import.meta.url))
    const flags = ["--conditions=@millrace/source", "--expose-gc", file, ...(entry.args ?? [])]
    this.#child = spawn(process.execPath, flags, {
      // What it prints is for nobody, unless it fails.
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      env: { PATH: process.env["PATH"], DATABASE_URL: database, NODE_ENV: "production" },
    })
    this.#child.stderr?.on("data", (text) => {
      this.#errors = (this.#errors + String(text)).slice(-2_000)
    })
    this.#ended = new Promise((resolve) =>
      this.#child.once("exit", (code) =>
        resolve({ error: `The process ended with ${code}\n${this.#errors}` }),
      ),
    )
  }

  async #ask(request: Request, millis = 0) {
    let late: NodeJS.Timeout | undefined
    const reply = await Promise.race([
      new Promise<Reply>((resolve) => {
        this.#child.once("message", resolve)
        this.#child.send(request, (error) => {
          if (error !== null) resolve({ error: error.message })
        })
      }),
      this.#ended,
      new Promise<Reply>((resolve) => {
        late = setTimeout(() => resolve({ error: "It did not answer" }), millis + patienceMillis)
      }),
    ])
    clearTimeout(late)
    if ("error" in reply) throw new Error(`${request.call}: ${reply.error}`)
    return reply.value
  }

  async open(): Promise<Pick<Contestant, "engine" | "store">> {
    return (await this.#ask({ call: "open" })) as Pick<Contestant, "engine" | "store">
  }

  async measure(workload: Workload, millis: number): Promise<Measured> {
    return (await this.#ask({ call: "measure", workload, millis }, millis)) as Measured
  }

  async close(): Promise<void> {
    await this.#ask({ call: "close" })
  }

  /** Lets it close what it has opened; kills it if that takes too long. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    const late = setTimeout(() => this.#child.kill("SIGKILL"), 15_000)
    await this.#ended
    clearTimeout(late)
  }
}

const sum = (values: ReadonlyArray<number>): number =>
  values.reduce((total, value) => total + value, 0)

/**
 * Lets processes of one contestant work at the same time, and adds up what they do. `postgres` is
 * the process of the database server.
 */
export const measureTogether = async (
  processes: ReadonlyArray<ContestantProcess>,
  workload: Workload,
  millis: number,
  postgres: number,
): Promise<Figure> => {
  const opened = await Promise.all(processes.map((each) => each.open()))
  const engine = opened.flatMap((each) => each.engine ?? [])
  const stores = opened.flatMap(({ store }) => store ?? [])
  const read = () => ({
    engine: sum(engine.map(ticksOf)),
    store: sum((stores.length === 0 ? [postgres] : stores).map(ticksBelow)),
  })
  const before = read()
  const all = await Promise.all(processes.map((each) => each.measure(workload, millis)))
  const after = read()
  await Promise.all(processes.map((each) => each.close()))
  const steps = sum(all.map((each) => each.steps))
  return {
    steps,
    value: sum(all.map(({ value }) => value)),
    accepted: sum(all.map(({ accepted = 0 }) => accepted)),
    p99: Math.max(...all.map(({ p99 = 0 }) => p99)),
    // A tick is ten milliseconds.
    engineCpu: ((after.engine - before.engine) * 10) / steps,
    storeCpu: ((after.store - before.store) * 10) / steps,
  }
}
