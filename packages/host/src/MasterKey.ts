/**
 * The master key: what signing secrets and the headers of webhooks are sealed with.
 *
 * Guarantees: a key that does not open what is sealed in the store is refused. A key that is made
 * is kept in the data folder, readable to its user alone, before anything is sealed with it; one
 * that cannot be read is never replaced, because what was sealed with it would be lost. Leaves out:
 * where an operator keeps the key of a server.
 */
import { secretPurpose } from "@millrace/core/engine/Webhooks"
import { StorageError } from "@millrace/core/ports/StorageError"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { isMasterKey, masterKeyForm } from "@millrace/webhooks/MasterKey"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import { Effect, Redacted, Schema } from "effect"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** The key cannot be used. Nothing was changed. `message` says why and what to do. */
export class MasterKeyRefused extends Schema.TaggedError<MasterKeyRefused>()("MasterKeyRefused", {
  message: Schema.String,
}) {}

/** Where the key comes from: the one that is given, else the one in a folder, else a new one. */
export interface KeySource {
  readonly given?: Redacted.Redacted | undefined
  /** Where a key is looked for, and kept when it is new. Absent: a new one is kept nowhere. */
  readonly folder?: string | undefined
}

/** A key, and where it is to be kept if it is new. */
interface Found {
  readonly key: Redacted.Redacted
  readonly newPath: string | undefined
}

const pathIn = (folder: string): string => join(folder, "master.key")

const refused = (message: string) => Effect.fail(new MasterKeyRefused({ message }))

const attempt = <A>(operation: string, run: () => A): Effect.Effect<A, StorageError> =>
  Effect.try({ try: run, catch: (cause) => new StorageError({ operation, cause }) })

const read = Effect.fnUntraced(function* (path: string) {
  const text = yield* attempt("MasterKey.read", () => readFileSync(path, "utf8").trim())
  if (isMasterKey(text)) return Redacted.make(text)
  return yield* refused(
    `The master key in ${path} is not ${masterKeyForm}: restore it from a backup`,
  )
})

const find = Effect.fnUntraced(function* ({
  folder,
  given,
}: KeySource): Effect.fn.Return<Found, MasterKeyRefused | StorageError> {
  if (given !== undefined) return { key: given, newPath: undefined }
  const path = folder === undefined ? undefined : pathIn(folder)
  if (path !== undefined && existsSync(path)) return { key: yield* read(path), newPath: undefined }
  return { key: yield* MasterVault.newMasterKey, newPath: path }
})

/** Whole or not at all, so that nobody is left with half a key. */
const write = (path: string, key: Redacted.Redacted): void => {
  const draft = `${path}.draft`
  writeFileSync(draft, `${Redacted.value(key)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

const keep = ({ key, newPath }: Found): Effect.Effect<Redacted.Redacted, StorageError> =>
  newPath === undefined
    ? Effect.succeed(key)
    : Effect.as(
        attempt("MasterKey.write", () => write(newPath, key)),
        key,
      )

/** The key from this source. A folder has to be open, and ours. */
export const ensure = (
  source: KeySource,
): Effect.Effect<Redacted.Redacted, MasterKeyRefused | StorageError> =>
  Effect.flatMap(find(source), keep)

/** True when the key opens a secret of every key that secrets were sealed with. */
const opensAll = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const vault = MasterVault.make(key)
  const secrets = yield* (yield* WebhookStore).secretOfEachKey
  const opened = yield* Effect.forEach(secrets, ({ accountId, sealed }) =>
    Effect.isSuccess(vault.open(secretPurpose(accountId), sealed)),
  )
  return opened.every(Boolean)
})

/**
 * {@link ensure}, refused where the key does not open what is sealed in the store. `sentence` is
 * what is said of a key that was given.
 */
export const ensureOpens = Effect.fnUntraced(function* (
  source: KeySource,
  sentence: string,
): Effect.fn.Return<Redacted.Redacted, MasterKeyRefused | StorageError, WebhookStore> {
  const found = yield* find(source)
  if (yield* opensAll(found.key)) return yield* keep(found)
  const { folder, given } = source
  return yield* refused(
    given === undefined && folder !== undefined
      ? `The key in ${pathIn(folder)} does not open the signing secrets in ${folder}: ` +
          "restore that file from a backup"
      : sentence,
  )
})
