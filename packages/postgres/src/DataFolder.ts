/**
 * The folder of an embedded database (by default `.millrace/`): who may use it, and what is in it.
 *
 * The folder has `millrace.json`, which marks it as Millrace's and gives its format; `.gitignore`,
 * so nobody commits it; `lock`, while a process uses it; and `database/`.
 *
 * Guarantees: one process at a time uses the folder. A foreign folder is not changed, nor is one
 * whose database does not open. Leaves out: opening the database, and processes on other machines,
 * which the lock does not see.
 */
import { StorageError } from "@millrace/core/ports/StorageError"
import { Clock, Effect, Schema, type Scope } from "effect"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { renameSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as FolderLock from "./internal/FolderLock.ts"

/** Another process uses the folder. */
export class DataFolderLocked extends Schema.TaggedError<DataFolderLocked>()("DataFolderLocked", {
  folder: Schema.String,
  pid: Schema.Int,
}) {
  override get message(): string {
    const [holder, remedy] =
      this.pid === process.pid
        ? ["another engine of this process", "close that engine"]
        : [`process ${this.pid}`, "stop that process"]
    const place = `The data folder ${this.folder} is in use by ${holder}`
    return `${place}: ${remedy}, or choose another folder.`
  }
}

/** The folder has other files. Nothing in it was changed. */
export class DataFolderForeign extends Schema.TaggedError<DataFolderForeign>()(
  "DataFolderForeign",
  { folder: Schema.String },
) {
  override get message(): string {
    return (
      `The folder ${this.folder} holds files that are not Millrace's and was left as it is: ` +
      `choose an empty folder, or one that does not exist yet.`
    )
  }
}

/** The folder is Millrace's, but cannot be used. Nothing in it was changed. */
export class DataFolderDamaged extends Schema.TaggedError<DataFolderDamaged>()(
  "DataFolderDamaged",
  { folder: Schema.String, problem: Schema.String },
) {
  override get message(): string {
    return (
      `The data folder ${this.folder} cannot be used (${this.problem}) and was left as it is: ` +
      `restore it from a backup, or move it away to begin with an empty one.`
    )
  }
}

/** The format of the folder that this version writes and reads. */
const format = 1

const marker = "millrace.json"
const ignore = ".gitignore"
const database = "database"
/** This file exists only while the database is made for the first time. */
const beginning = "beginning"

/** A folder that this process holds until the scope closes. */
export interface DataFolder {
  /** Where the database is or will be. */
  readonly database: string
  /** Marks the folder as complete. To be run when the database has been opened. */
  readonly complete: Effect.Effect<void, StorageError>
}

type Problem = DataFolderLocked | DataFolderForeign | DataFolderDamaged | StorageError

const attempt = <A>(run: () => A): Effect.Effect<A, StorageError> =>
  Effect.try({
    try: run,
    catch: (cause) => new StorageError({ operation: "DataFolder.open", cause }),
  })

const isOurs = (name: string): boolean =>
  name === ignore || name === beginning || FolderLock.isLockFile(name)

/** True if the folder is missing or empty, or has only what an interrupted first start left. */
const isUnused = (folder: string): boolean => {
  if (!existsSync(folder)) return true
  if (!statSync(folder).isDirectory()) return false
  const names = readdirSync(folder)
  return names.every((name) => isOurs(name) || (name === database && names.includes(beginning)))
}

const damaged = (folder: string, problem: string) =>
  Effect.fail(new DataFolderDamaged({ folder, problem }))

const Marker = Schema.fromJsonString(Schema.Struct({ format: Schema.Int }))

/** Checks a folder that was used before. */
const check = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<void, DataFolderDamaged> {
  const read = Effect.try(() => readFileSync(join(folder, marker), "utf8"))
  const found = yield* read.pipe(
    Effect.flatMap(Schema.decodeEffect(Marker)),
    Effect.catch(() => damaged(folder, `${marker} cannot be read`)),
  )
  if (found.format > format) {
    return yield* damaged(folder, `it was written by a newer version, in format ${found.format}`)
  }
  // Without this file, PGlite would make a new database over the old one.
  if (!existsSync(join(folder, database, "PG_VERSION"))) {
    return yield* damaged(folder, `there is no database in ${database}`)
  }
})

const prepare = (folder: string): void => {
  writeFileSync(join(folder, ignore), "*\n")
  writeFileSync(join(folder, beginning), "")
  rmSync(join(folder, database), { recursive: true, force: true })
}

/** Writes the marker in one atomic step. */
const writeMarker = (folder: string, createdAt: string): void => {
  if (existsSync(join(folder, marker))) return
  const draft = join(folder, beginning)
  writeFileSync(draft, `${JSON.stringify({ format, createdAt })}\n`)
  renameSync(draft, join(folder, marker))
}

/** Takes a folder for this process until the scope closes. */
export const open = Effect.fnUntraced(function* (
  path: string,
): Effect.fn.Return<DataFolder, Problem, Scope.Scope> {
  const folder = resolve(path)
  const isNew = () => !existsSync(join(folder, marker))
  if ((yield* attempt(isNew)) && !(yield* attempt(() => isUnused(folder)))) {
    return yield* new DataFolderForeign({ folder })
  }
  yield* attempt(() => mkdirSync(folder, { recursive: true }))
  const holder = yield* FolderLock.acquire(folder)
  if (holder !== undefined) return yield* new DataFolderLocked({ folder, pid: holder.pid })
  // Checked again, because only now no other process can be using the folder.
  if (yield* attempt(isNew)) yield* attempt(() => prepare(folder))
  else yield* check(folder)
  return {
    database: join(folder, database),
    complete: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      attempt(() => writeMarker(folder, new Date(now).toISOString())),
    ),
  }
})
