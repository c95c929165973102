/**
 * A lock file that holds for as long as the process that made it lives.
 *
 * Guarantees: at most one live process of this machine holds a folder's lock, whatever dies when,
 * and however many take over a dead one's lock at the same time. A process is known by its number
 * and, where `/proc` tells it, by its start, so that another process with a reused number is not
 * mistaken for it. Leaves out: other machines, and containers that do not see each other's
 * processes.
 *
 * Whoever finds the lock of a dead process makes the file `lock.<token of the dead>`, which only
 * one can, and renames it to `lock`. Should that one die in between, the next makes the file named
 * after *its* token, and so on: no file of somebody else is ever removed while it may be in use.
 */
import { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, Option, Schema, type Scope } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as process from "node:process"

const Holder = Schema.Struct({
  pid: Schema.Int,
  /** When the process started, in the words of the operating system; `null` where it has none. */
  startedAt: Schema.NullOr(Schema.String),
  /** Different for every lock that was ever taken. */
  token: Schema.String.check(Schema.isPattern(/^[\w-]+$/)),
})

/** Who holds a lock. */
export type Holder = typeof Holder.Type

const name = "lock"

/** True for the names that this module gives to files. */
export const isLockFile = (file: string): boolean => file === name || file.startsWith(`${name}.`)

const decodeHolder = Schema.decodeUnknownOption(Schema.fromJsonString(Holder))

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code

/** Runs what may fail with this code, which then means `undefined`. */
const unless = <A>(code: string, run: () => A): A | undefined => {
  try {
    return run()
  } catch (error) {
    if (hasCode(error, code)) return undefined
    throw error
  }
}

/** States of a process that has ended and that its parent has not asked after yet. */
const ended = new Set(["Z", "X"])

/**
 * The 22nd field of the process's status, where it is alive; the second field may contain anything,
 * also brackets.
 */
const startOf = (pid: number): string | null => {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8")
    const [state = "", ...fields] = status.slice(status.lastIndexOf(")") + 2).split(" ")
    return ended.has(state) ? null : (fields[18] ?? null)
  } catch {
    return null
  }
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user may not be signalled, but it is there.
    return hasCode(error, "EPERM")
  }
}

const isAlive = ({ pid, startedAt }: Holder): boolean =>
  isRunning(pid) && (startedAt === null || startedAt === startOf(pid))

/** The holder that a file names; one that cannot be read names somebody who is long gone. */
const readHolder = (file: string): Holder | undefined => {
  const text = unless("ENOENT", () => readFileSync(file, "utf8"))
  if (text === undefined) return undefined
  const gone: Holder = { pid: 0, startedAt: null, token: "unreadable" }
  return Option.getOrElse(decodeHolder(text), () => gone)
}

/** Gives the draft a further name, unless a file of that name exists. */
const tryLink = (draft: string, file: string): boolean =>
  unless("EEXIST", () => {
    linkSync(draft, file)
    return true
  }) ?? false

type Outcome =
  | { readonly _tag: "Taken" }
  | { readonly _tag: "Held"; readonly by: Holder }
  | { readonly _tag: "Changed" }

/** One try; `Changed` when somebody else was at work meanwhile and it has to be tried again. */
const tryTake = (folder: string, draft: string): Outcome => {
  const lock = join(folder, name)
  const chain: Array<{ readonly file: string; readonly holder: Holder }> = []
  for (let file = lock; !tryLink(draft, file);) {
    const holder = readHolder(file)
    if (holder === undefined) return { _tag: "Changed" }
    if (holder.pid !== 0 && isAlive(holder)) return { _tag: "Held", by: holder }
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

/** Takes the folder's lock until the scope closes, or returns who holds it. */
export const acquire = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<Holder | undefined, StorageError, Scope.Scope> {
  const { pid } = process
  const own: Holder = { pid, startedAt: startOf(pid), token: yield* newToken }
  return yield* Effect.acquireRelease(
    Effect.try({
      try: () => take(folder, own),
      catch: (cause) => new StorageError({ operation: "FolderLock.acquire", cause }),
    }),
    () => Effect.ignore(Effect.try(() => release(folder, own))),
  )
})
