/**
 * An embedded database: PGlite in a folder or in memory, used with the Postgres driver.
 *
 * Guarantees: a committed transaction survives the death of the process. Leaves out: power failures
 * (PGlite does not wait for the disk), several processes, and parallel statements: there is one
 * session, and a statement blocks the whole process.
 */
import { PgClient } from "@effect/sql-pg"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, type Layer, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { existsSync } from "node:fs"
import { join } from "node:path"
import * as DataFolder from "./DataFolder.ts"
import { orStorageError } from "./internal/DatabaseError.ts"
import * as PgliteStream from "./internal/PgliteStream.ts"
import * as PreparedDatabase from "./internal/PreparedDatabase.ts"

const operation = "Pglite.open"

const millisToOpen = 120_000

/** The version that this package was tested with, as its package.json says. */
const pgliteVersion = "0.5.16"

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND"

/** Loads PGlite when it is used, so users of a Postgres server need not install it. */
const loadPglite = Effect.tryPromise({
  try: () => import("@electric-sql/pglite"),
  catch: (cause) =>
    new StorageError({
      operation,
      cause: isMissing(cause)
        ? new Error(
            "a database in a folder needs the package @electric-sql/pglite: install it with " +
              `npm install @electric-sql/pglite@${pgliteVersion}`,
            { cause },
          )
        : cause,
    }),
})

/** True for a line that explains a failure. PGlite's error does not explain it. */
const isTelling = (line: string): boolean => /\b(?:FATAL|PANIC|ERROR):|could not/.test(line)

const withoutTimestamp = (line: string): string => line.replace(/^.*?(?=FATAL|PANIC|ERROR)/, "")

/** Opens a database. An error has the reason in one line. */
const open = Effect.fnUntraced(function* (
  dataDir: string | undefined,
): Effect.fn.Return<PgliteStream.Session, StorageError, Scope.Scope> {
  const { PGlite } = yield* loadPglite
  let reason: string | undefined
  const onStderr = (line: string): boolean => {
    if (isTelling(line)) reason = withoutTimestamp(line)
    return false
  }
  const isNew = dataDir === undefined || !existsSync(join(dataDir, "PG_VERSION"))
  const create = Effect.tryPromise({
    try: async () =>
      PGlite.create({
        onStderr,
        ...(dataDir === undefined ? {} : { dataDir }),
        ...(isNew ? { loadDataDir: await PreparedDatabase.read() } : {}),
      }),
    catch: (cause) =>
      new StorageError({ operation, cause: reason === undefined ? cause : new Error(reason) }),
  }).pipe(
    Effect.timeoutOrElse({
      duration: millisToOpen,
      orElse: () =>
        Effect.fail(new StorageError({ operation, cause: new Error("it does not answer") })),
    }),
  )
  return yield* Effect.acquireRelease(create, (db) =>
    Effect.ignore(Effect.promise(() => db.close())),
  )
})

/** The driver's client over the only session of the database. */
const clientOf = Effect.fnUntraced(function* (session: PgliteStream.Session) {
  const client = yield* orStorageError(operation)(
    PgClient.make({
      stream: () => PgliteStream.connect(session),
      username: "postgres",
      database: "postgres",
      applicationName: "millrace",
      maxConnections: 1,
      idleTimeout: "10000 days",
      maxMessageSize: 256 * 1_024 * 1_024,
    }),
  )
  return Object.assign(client, { driver: "pglite" })
})

/** An empty database in memory, for tests and experiments. */
export const layerMemory: Layer.Layer<PgClient.PgClient | SqlClient, StorageError> =
  PgClient.layerFrom(Effect.flatMap(open(undefined), clientOf))

const openFolder = Effect.fnUntraced(function* (path: string) {
  yield* loadPglite
  const folder = yield* DataFolder.open(path)
  const session = yield* open(folder.database).pipe(
    Effect.mapError(
      ({ cause }) =>
        new DataFolder.DataFolderDamaged({
          folder: path,
          problem: cause instanceof Error ? cause.message : String(cause),
        }),
    ),
  )
  yield* folder.complete
  return yield* clientOf(session)
})

/**
 * The database in a folder, which is made if missing. No other process can use it until the scope
 * closes.
 */
export const layer = (
  folder: string,
): Layer.Layer<
  PgClient.PgClient | SqlClient,
  | DataFolder.DataFolderLocked
  | DataFolder.DataFolderForeign
  | DataFolder.DataFolderDamaged
  | StorageError
> => PgClient.layerFrom(openFolder(folder))
