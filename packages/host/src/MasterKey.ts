/**
 * The master key, which seals secrets of accounts, signing secrets and the headers of webhooks.
 *
 * Guarantees: a key that does not open the secrets in the store is refused. A new key is written to
 * the data folder or beside the data file, readable to its user alone, before it seals anything. A
 * key file that cannot be read is never replaced, because the sealed secrets would be lost. Leaves
 * out: where an operator keeps the key of a server.
 */
import { valuePurpose } from "@millrace/core/engine/Secrets"
import { secretPurpose } from "@millrace/core/engine/Webhooks"
import { SecretStore } from "@millrace/core/ports/SecretStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
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

/** Where the key comes from: the given key, else the key that is kept, else a new one. */
export interface KeySource {
  readonly given?: Redacted.Redacted | undefined
  /** The folder with the file `master.key`; a new key is written there. */
  readonly folder?: string | undefined
  /** The file with the key, where it is not in a folder of its own. Neither: a key is not kept. */
  readonly file?: string | undefined
}

/** A key, and where it is to be kept if it is new. */
interface Found {
  readonly key: Redacted.Redacted
  readonly newPath: string | undefined
}

const pathOf = ({ file, folder }: KeySource): string | undefined =>
  folder === undefined ? file : join(folder, "master.key")

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

const find = Effect.fnUntraced(function* (
  source: KeySource,
): Effect.fn.Return<Found, MasterKeyRefused | StorageError> {
  const { given } = source
  if (given !== undefined) return { key: given, newPath: undefined }
  const path = pathOf(source)
  if (path !== undefined && existsSync(path)) return { key: yield* read(path), newPath: undefined }
  return { key: yield* MasterVault.newMasterKey, newPath: path }
})

/** Writes the file whole or not at all. */
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

/** The key from this source. The store must be open, so that no other process writes there. */
export const ensure = (
  source: KeySource,
): Effect.Effect<Redacted.Redacted, MasterKeyRefused | StorageError> =>
  Effect.flatMap(find(source), keep)

/** True if the key opens all secrets. Tests one secret for each key that sealed any. */
const opensAll = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const vault = MasterVault.make(key)
  const { ports } = yield* StoreManifest
  const signing = ports.includes("webhooks") ? yield* (yield* WebhookStore).secretOfEachKey : []
  const secrets = ports.includes("secrets") ? yield* (yield* SecretStore).secretOfEachKey : []
  const sealed: ReadonlyArray<readonly [purpose: string, sealed: string]> = [
    ...signing.map((each) => [secretPurpose(each.accountId), each.sealed] as const),
    ...secrets.map((each) => [valuePurpose(each), each.sealed] as const),
  ]
  const opened = yield* Effect.forEach(sealed, ([purpose, text]) =>
    Effect.isSuccess(vault.open(purpose, text)),
  )
  return opened.every(Boolean)
})

/** The services with which the secrets in a store are found. */
export type SealedStores = WebhookStore | SecretStore | StoreManifest

/**
 * Like {@link ensure}. Fails if the key does not open the secrets in the store; with `sentence`, if
 * the key was given.
 */
export const ensureOpens = Effect.fnUntraced(function* (
  source: KeySource,
  sentence: string,
): Effect.fn.Return<Redacted.Redacted, MasterKeyRefused | StorageError, SealedStores> {
  const found = yield* find(source)
  if (yield* opensAll(found.key)) return yield* keep(found)
  const { folder = "the data file", given } = source
  const path = pathOf(source)
  return yield* refused(
    given === undefined && path !== undefined
      ? `The key in ${path} does not open the signing secrets in ${folder}: ` +
          "restore that file from a backup"
      : sentence,
  )
})
