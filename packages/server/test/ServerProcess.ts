/**
 * The real command as a child process: started, listened to, and ended by its process id.
 *
 * Guarantees: waiting is bounded and never by the clock alone: it ends with a line of output, with
 * the end of the process, or by a deadline that shows everything that was printed.
 */
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, vi } from "vitest"

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url))

const deadlineMillis = 100_000

/** What an engine says of a machine that gives its process no time. */
export const busyMachine = /^.*The event loop was blocked for .*\n/gm

/** The master key of every `serve` that is not given another one. */
export const masterKey = Buffer.alloc(32, 7).toString("base64")

/** What every `serve` is given. A busy machine may answer later than the usual 1.5 seconds. */
const usual = { MILLRACE_MASTER_KEY: masterKey, MILLRACE_REQUEST_TIMEOUT: "10s" }

/** What processes are given of the surroundings; nothing else may speak to a server. */
export const surroundings = Object.fromEntries(
  ["PATH", "NODE_COMPILE_CACHE"].map((name) => [name, process.env[name]]),
)

/** How a process ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running command. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly ended: Promise<Ended>
  /** True once it has ended and everything it printed is here. */
  #isOver = false
  stdout = ""
  #stderr = ""

  constructor(
    args: ReadonlyArray<string>,
    env: Readonly<Record<string, string>> = {},
    entry: string = main,
    folder?: string,
  ) {
    const needs = args[0] === "serve" ? usual : {}
    this.#child = spawn(process.execPath, ["--conditions=@millrace/source", entry, ...args], {
      env: { ...surroundings, NO_COLOR: "1", ...needs, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      cwd: folder,
    })
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text))
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text))
    this.ended = new Promise((resolve) =>
      this.#child.on("close", (code, signal) => {
        this.#isOver = true
        resolve({ code, signal })
      }),
    )
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN
  }

  /** True as long as it has not ended. */
  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** What was printed to standard error, but for warnings of a busy machine. */
  get stderr(): string {
    return this.#stderr.replaceAll(busyMachine, "")
  }

  /** Everything that was printed, for messages. */
  get output(): string {
    return `--- stdout\n${this.stdout}\n--- stderr\n${this.#stderr}`
  }

  /** Waits until standard output matches. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#wait(pattern, "stdout")
  }

  /** Waits until standard error matches. */
  waitForError(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#wait(pattern, "stderr")
  }

  #wait(pattern: RegExp, from: "stdout" | "stderr"): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(this[from])
        if (found !== null) finish(() => resolve(found))
      }
      const give = (why: string) => () =>
        finish(() => reject(new Error(`${why} before ${pattern}\n${this.output}`)))
      const ended = give("The process ended")
      const timer = setTimeout(give("The deadline came"), deadlineMillis)
      const finish = (settle: () => void) => {
        clearTimeout(timer)
        this.#child[from]?.off("data", look)
        this.#child.off("close", ended)
        settle()
      }
      this.#child[from]?.on("data", look)
      this.#child.on("close", ended)
      look()
      if (this.#isOver) ended()
    })
  }

  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<Ended> {
    this.#child.kill(signal)
    return this.ended
  }
}

/** Where a server says that it is, once it says that it is ready. */
export const ready = async (server: ServerProcess): Promise<string> => {
  await server.waitFor(/Ctrl-C stops the server/)
  const [, origin = ""] = await server.waitFor(/API +(http:\S+)\/api\/v1/)
  return origin
}

/**
 * Processes and folders of a test file: ended and removed after the last test. After a test that
 * failed, the last process shows what it had to say.
 */
export class Workshop {
  readonly #servers: Array<ServerProcess> = []
  readonly #folders: Array<string> = []

  constructor() {
    // Making a database takes seconds on a busy machine.
    vi.setConfig({ testTimeout: 3 * deadlineMillis })
    afterEach(({ task }) => {
      if (task.result?.state === "fail") console.error(this.#servers.at(-1)?.output)
    })
    afterAll(() => this.#clear())
  }

  /** Starts `millrace` with these arguments. */
  start(
    args: ReadonlyArray<string>,
    env?: Readonly<Record<string, string>>,
    folder?: string,
  ): ServerProcess {
    const server = new ServerProcess(args, env, main, folder)
    this.#servers.push(server)
    return server
  }

  /** The path of an empty folder of its own. */
  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "millrace-server-"))
    this.#folders.push(folder)
    return folder
  }

  /** Ends what still runs and removes every folder. */
  async #clear(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.end("SIGKILL")))
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true })
  }
}
