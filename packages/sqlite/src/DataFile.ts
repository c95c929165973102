/**
 * The file of a database: who may use it, and what is in it.
 *
 * SQLite's own lock says who uses the file, and the operating system ends it with its process. Two
 * numbers in the header of the file say that it is Millrace's, and which version of the tables it
 * has. Beside it SQLite keeps `-wal`, which belongs to it.
 *
 * Guarantees: one connection at a time uses the file. A foreign file is not changed, nor is one
 * that cannot be used. A commit is on the disk before it is answered, so it survives a power cut,
 * too. Leaves out: files on a network, on which locks may not work.
 */
import { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, Schema, type Scope } from "effect"
import { closeSync, mkdirSync, openSync, readSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { leases, versions } from "./internal/Tables.ts"

/** Another engine, of this or another process, uses the file. */
export class DataFileLocked extends Schema.TaggedError<DataFileLocked>()("DataFileLocked", {
  file: Schema.String,
}) {
  override get message(): string {
    return (
      `The data file ${this.file} is in use by another engine or process: ` +
      `stop that one, or choose another file.`
    )
  }
}

/** The file is something else. It was not changed. */
export class DataFileForeign extends Schema.TaggedError<DataFileForeign>()("DataFileForeign", {
  file: Schema.String,
}) {
  override get message(): string {
    return (
      `The file ${this.file} is not Millrace's and was left as it is: ` +
      `choose a file that does not exist yet.`
    )
  }
}

/** The file is Millrace's, but cannot be used. It was not changed. */
export class DataFileDamaged extends Schema.TaggedError<DataFileDamaged>()("DataFileDamaged", {
  file: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return (
      `The data file ${this.file} cannot be used (${this.problem}) and was left as it is: ` +
      `restore it from a backup, or move it away to begin with an empty one.`
    )
  }
}

/** Why a file cannot be opened. */
export type DataFileError = DataFileLocked | DataFileForeign | DataFileDamaged | StorageError

/** "MilR" as a number, where SQLite keeps what a database is for. */
const applicationId = 0x4d_69_6c_52

/** The beginning of every database of SQLite. */
const magic = "SQLite format 3\0"

/** True if a file is neither missing nor empty, and does not say that it is Millrace's. */
const isForeign = (file: string): boolean => {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return false
  if (!found.isFile()) return true
  if (found.size === 0) return false
  const header = Buffer.alloc(100)
  const opened = openSync(file, "r")
  try {
    readSync(opened, header, 0, header.length, 0)
  } finally {
    closeSync(opened)
  }
  return header.toString("latin1", 0, 16) !== magic || header.readInt32BE(68) !== applicationId
}

const primaryCodes = { busy: 5, corrupt: 11, notADatabase: 26 }

/** The primary code of an error of SQLite. */
const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode & 0xff
    : undefined

/** Why a file cannot be opened, by the error of SQLite. */
export const problemOf =
  (file: string) =>
  (cause: unknown): DataFileError => {
    const code = codeOf(cause)
    if (cause instanceof DataFileForeign || cause instanceof DataFileDamaged) return cause
    if (code === primaryCodes.busy) return new DataFileLocked({ file })
    if (code === primaryCodes.corrupt || code === primaryCodes.notADatabase) {
      return new DataFileDamaged({ file, problem: (cause as Error).message })
    }
    return new StorageError({ operation: "DataFile.open", cause })
  }

/** The version of the tables; 0 if there are none. */
const versionOf = (database: DatabaseSync): number =>
  Number(database.prepare("PRAGMA user_version").get()!["user_version"])

/** Makes the tables, or brings them to the version of this software. All of it or nothing. */
const migrate = (database: DatabaseSync): void => {
  const found = versionOf(database)
  if (found === versions.length) return
  database.exec("BEGIN IMMEDIATE")
  for (const statements of versions.slice(found)) database.exec(statements)
  database.exec(`PRAGMA user_version = ${versions.length}; COMMIT`)
}

/** Prepares a connection: the lock, the journal and the tables. */
const prepare = (database: DatabaseSync, file: string): void => {
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY")
  const found = versionOf(database)
  if (found > versions.length) {
    const problem = `it has schema ${found} of a later version, this one reads ${versions.length}`
    throw new DataFileDamaged({ file, problem })
  }
  // Before the journal is a file of its own, because the header of the file has to say it.
  if (found === 0) database.exec(`PRAGMA application_id = ${applicationId}`)
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
  // The lock is taken with the first write. An empty one is enough.
  database.exec("BEGIN IMMEDIATE; COMMIT")
  migrate(database)
  database.exec(leases)
}

const connect = (file: string): DatabaseSync => {
  if (isForeign(file)) throw new DataFileForeign({ file })
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    prepare(database, file)
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

/** A database in memory, which is empty. */
export const openMemory = (): DatabaseSync => {
  const database = new DatabaseSync(":memory:")
  migrate(database)
  database.exec(leases)
  return database
}

/** Opens a file, which is made if missing, until the scope closes. */
export const open = (path: string): Effect.Effect<DatabaseSync, DataFileError, Scope.Scope> =>
  Effect.suspend(() => {
    const file = resolve(path)
    return Effect.acquireRelease(
      Effect.try({ try: () => connect(file), catch: problemOf(file) }),
      (database) => Effect.sync(() => void (database.isOpen && database.close())),
    )
  })
