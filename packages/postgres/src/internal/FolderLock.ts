/**
 * A lock file that is valid as long as the process that made it is alive.
 *
 * Guarantees: at most one live process of this machine holds a folder's lock, even if a process
 * dies at any moment or several processes take over a dead one's lock at once. A process is
 * identified by its number and, if `/proc` shows it, by its start time. So a process with a reused
 * number is a different process. Leaves out: other machines, and containers that do not see each
 * other's processes.
 *
 * A process that finds a dead process's lock makes the file `lock.<token of the dead process>`,
 * which only one process can make, and renames it to `lock`. If it dies before the rename, the next
 * process makes the file with *its* token, and so on. So no process removes a file that another one
 * may be using.
 */
import { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, Option, Schema, type Scope } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as LocalProcess from "./LocalProcess.ts"

const Holder = Schema.Struct({
  pid: Schema.Int,
  /** When the process started, as the operating system writes it; `null` if unknown. */
  startedAt: Schema.NullOr(Schema.String),
  /** Different for every lock. */
  token: Schema.String.check(Schema.isPattern(/^[\w-]+$/)),
})

/** Who holds a lock. */
export type Holder = typeof Holder.Type

const name = "lock"

/** True for the name of a file that this module makes. */
export const isLockFile = (file: string): boolean => file === name || file.startsWith(`${name}.`)

const decodeHolder = Schema.decodeUnknownOption(Schema.fromJsonString(Holder))

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code

/** Runs a function. Returns `undefined` if it throws an error with this code. */
const unless = <A>(code: string, run: () => A): A | undefined => {
  try {
    return run()
  } catch (error) {
    if (hasCode(error, code)) return undefined
    throw error
  }
}

/** The holder that a file names. A file that cannot be read names a process that has ended. */
const readHolder = (file: string): Holder | undefined => {
  const text = unless("ENOENT", () => readFileSync(file, "utf8"))
  if (text === undefined) return undefined
  const gone: Holder = { pid: 0, startedAt: null, token: "unreadable" }
  return Option.getOrElse(decodeHolder(text), () => gone)
}

/** Links the draft to a second name. False if a file of that name exists. */
const tryLink = (draft: string, file: string): boolean =>
  unless("EEXIST", () => {
    linkSync(draft, file)
    return true
  }) ?? false

type Outcome =
  | { readonly _tag: "Taken" }
  | { readonly _tag: "Held"; readonly by: Holder }
  | { readonly _tag: "Changed" }

/** One try. `Changed` means that another process interfered: try again. */
const tryTake = (folder: string, draft: string): Outcome => {
  const lock = join(folder, name)
  const chain: Array<{ readonly file: string; readonly holder: Holder }> = []
  for (let file = lock; !tryLink(draft, file);) {
    const holder = readHolder(file)
    if (holder === undefined) return { _tag: "Changed" }
    if (holder.pid !== 0 && LocalProcess.isRunning(holder)) return { _tag: "Held", by: holder }
    chain.push({ file, holder })
    file = join(folder, `${name}.${holder.token}`)
  }
  const last = chain.at(-1)
  if (last === undefined) return { _tag: "Taken" }
  const successor = join(folder, `${name}.${last.holder.token}`)
  const isUnchanged = chain.every(({ file, holder }) => readHolder(file)?.token === holder.token)
  if (!isUnchanged) {
    rmSync(successor, { force: true })
    return { _tag: "Changed" }
  }
  renameSync(successor, lock)
  for (const { file } of chain.slice(1)) rmSync(file, { force: true })
  return { _tag: "Taken" }
}

const take = (folder: string, own: Holder): Holder | undefined => {
  const draft = join(folder, `${name}.draft-${own.token}`)
  writeFileSync(draft, JSON.stringify(own))
  try {
    for (;;) {
      const outcome = tryTake(folder, draft)
      if (outcome._tag === "Taken") return undefined
      if (outcome._tag === "Held") return outcome.by
    }
  } finally {
    rmSync(draft, { force: true })
  }
}

const release = (folder: string, own: Holder): void => {
  const lock = join(folder, name)
  if (readHolder(lock)?.token === own.token) rmSync(lock, { force: true })
}

const newToken = SecureRandom.SecureRandom.use((random) => random.uuidV4()).pipe(
  Effect.provide(SecureRandom.layerWebCrypto),
)

/** Takes the folder's lock until the scope closes, or returns the process that holds it. */
export const acquire = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<Holder | undefined, StorageError, Scope.Scope> {
  const own: Holder = { ...LocalProcess.own, token: yield* newToken }
  return yield* Effect.acquireRelease(
    Effect.try({
      try: () => take(folder, own),
      catch: (cause) => new StorageError({ operation: "FolderLock.acquire", cause }),
    }),
    () => Effect.ignore(Effect.try(() => release(folder, own))),
  )
})
