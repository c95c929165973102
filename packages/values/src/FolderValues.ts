/**
 * Large values as files of a folder, which several servers may share.
 *
 * Guarantees: a value is on the disk, whole, when `put` ends; a `put` that fails leaves nothing
 * behind. What a crash leaves half written is no value, and is removed an hour later, when the
 * folder is listed. Leaves out: which values are of use; the sweep of the engine knows.
 */
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { StorageError } from "@millrace/core/ports/StorageError"
import type { ValueKey, WrittenValue } from "@millrace/core/ports/ValueStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Clock, Effect, Layer, Option, Stream } from "effect"
import { createReadStream } from "node:fs"
import { mkdir, mkdtemp, readdir, rename, rm, rmdir, stat, unlink } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { codeOf, syncFolder, unlessGone, writeSynced } from "./internal/Disk.ts"
import { filesAfter, keyOfFile, pathOf } from "./internal/FolderPaths.ts"

/** No value takes that long to be written. */
const abandonedMillis = 3_600_000

const pieceBytes = 262_144

/** Where values are before they are whole. No account has this name. */
const unfinished = ".unfinished"

/** How often another process may remove the folder of a run before a value is in it. */
const moveTries = 10

const sentences: Readonly<Record<string, string>> = {
  ENOSPC: "there is no space left for values",
  EDQUOT: "there is no space left for values",
  EFBIG: "there is no space left for values",
  ENOENT: "the folder of values is gone",
  EACCES: "the folder of values cannot be written",
  EPERM: "the folder of values cannot be written",
  EROFS: "the folder of values cannot be written",
}

/** An error without paths, because the node whose value it was shows it. */
const failed =
  (operation: string) =>
  (error: unknown): StorageError => {
    const code = codeOf(error)
    const sentence =
      sentences[code ?? ""] ?? `the folder of values cannot be used (${code ?? String(error)})`
    return new StorageError({
      operation: `ValueStore.${operation}`,
      cause: new Error(sentence, { cause: error }),
    })
  }

const attempt = <A>(operation: string, run: () => Promise<A>): Effect.Effect<A, StorageError> =>
  Effect.tryPromise({ try: run, catch: failed(operation) })

/** Gives a file that is whole its name. The folder of its run may vanish under it, empty. */
const moveTo = async (root: string, from: string, file: string): Promise<void> => {
  for (let moves = 1; ; moves++) {
    const made = await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    try {
      await rename(from, file)
    } catch (error) {
      if (codeOf(error) === "ENOENT" && moves < moveTries) continue
      throw error
    }
    let folder = dirname(file)
    await syncFolder(folder)
    if (made === undefined) return
    while (folder !== root) {
      folder = dirname(folder)
      await syncFolder(folder)
    }
    return
  }
}

const put = async (root: string, key: ValueKey, bytes: Uint8Array): Promise<void> => {
  const path = pathOf(key)
  if (path === undefined) throw new Error("the id of a value is too long")
  const file = join(root, path)
  // No two writers of one key: each value gets an id of its own.
  if ((await unlessGone(stat(file))) !== undefined) return
  const own = await mkdtemp(join(root, unfinished, "value-"))
  try {
    const whole = join(own, "value")
    await writeSynced(whole, bytes)
    await moveTo(root, whole, file)
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}

const has = async (file: string): Promise<boolean> =>
  (await unlessGone(stat(file)))?.isFile() === true

const remove = async (root: string, keys: ReadonlyArray<ValueKey>): Promise<void> => {
  for (const key of keys) {
    const path = pathOf(key)
    if (path === undefined) continue
    const file = join(root, path)
    await unlessGone(unlink(file))
    // It stays if the run has other values.
    await rmdir(dirname(file)).catch(() => undefined)
  }
}

const removeAbandoned = async (root: string, now: Timestamp): Promise<void> => {
  for (const name of await readdir(join(root, unfinished))) {
    const folder = join(root, unfinished, name)
    const found = await unlessGone(stat(folder))
    if (found !== undefined && found.mtimeMs < now - abandonedMillis) {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

const list = async (root: string, after: ValueKey | undefined, limit: number) => {
  const found: Array<WrittenValue> = []
  for await (const path of filesAfter(root, after)) {
    if (found.length === limit) break
    const key = keyOfFile(path)
    const known = key && (await unlessGone(stat(join(root, path))))
    if (key === undefined || known === undefined) continue
    found.push({ ...key, writtenAt: Math.floor(known.mtimeMs) })
  }
  return found
}

const storeIn = (root: string): ValueStore["Service"] => ({
  // Not broken off in the middle: a promise would go on.
  put: (key, bytes) => Effect.uninterruptible(attempt("put", () => put(root, key, bytes))),
  read: (key) => {
    const path = pathOf(key)
    if (path === undefined) return Effect.succeedNone
    const file = join(root, path)
    const bytes = Stream.suspend(() =>
      Stream.fromAsyncIterable<Uint8Array, StorageError>(
        createReadStream(file, { highWaterMark: pieceBytes }),
        failed("read"),
      ),
    )
    return Effect.map(
      attempt("read", () => has(file)),
      (isThere) => (isThere ? Option.some(bytes) : Option.none()),
    )
  },
  remove: (keys) => attempt("remove", () => remove(root, keys)),
  list: (after, limit) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      attempt("list", async () => {
        if (after === undefined) await removeAbandoned(root, now)
        return await list(root, after, limit)
      }),
    ),
})

const open = Effect.fnUntraced(function* (folder: string) {
  const root = resolve(folder)
  yield* Effect.tryPromise({
    try: async () => {
      await mkdir(join(root, unfinished), { recursive: true, mode: 0o700 })
      // Tells now, not in the first run, that nothing can be written here.
      const trial = await mkdtemp(join(root, unfinished, "open-"))
      await rm(trial, { recursive: true, force: true })
    },
    catch: (cause) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      const sentence = `the folder of values ${folder} cannot be used: ${reason}`
      return new StorageError({ operation: "ValueStore.open", cause: new Error(sentence) })
    },
  })
  return ValueStore.of(storeIn(root))
})

/**
 * A store of large values in a folder, which is made if missing. Fails if it cannot be written.
 * Processes that share the folder must share a database, too.
 */
export const layer = (folder: string): Layer.Layer<ValueStore, StorageError> =>
  Layer.effect(ValueStore, open(folder))
