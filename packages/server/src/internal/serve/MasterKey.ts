/**
 * The master key: what signing secrets and the headers of webhooks are kept with.
 *
 * Guarantees: a server starts only with a key that opens what is sealed in its store. A development
 * server keeps the key that it made, readable to its user alone, and never replaces one that it
 * cannot read, because what was sealed with that would be lost. Leaves out: where an operator
 * keeps the key of other servers.
 */
import { secretPurpose } from "@millrace/core/engine/Webhooks"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { isMasterKey, masterKeyForm } from "@millrace/webhooks/MasterKey"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import { Effect, Redacted } from "effect"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { DevSettings } from "../../Config.ts"
import { CommandFailed } from "../../CommandFailed.ts"

const fileName = "master.key"

const variable = "MILLRACE_MASTER_KEY"

/** A key, and where it is to be kept if it is new. */
interface Found {
  readonly key: Redacted.Redacted
  readonly newPath: string | undefined
}

type Where = Pick<DevSettings, "data" | "masterKey" | "memory">

const refused = (message: string) => Effect.fail(new CommandFailed({ message, reason: "failed" }))

const read = (path: string): Effect.Effect<Redacted.Redacted, CommandFailed> => {
  const text = readFileSync(path, "utf8").trim()
  if (isMasterKey(text)) return Effect.succeed(Redacted.make(text))
  return refused(`The master key in ${path} is not ${masterKeyForm}: restore it from a backup`)
}

/** Whole or not at all, so that nobody is left with half a key. */
const write = (path: string, key: Redacted.Redacted): void => {
  const draft = `${path}.draft`
  writeFileSync(draft, `${Redacted.value(key)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

const find = Effect.fnUntraced(function* ({
  data,
  masterKey,
  memory,
}: Where): Effect.fn.Return<Found, CommandFailed> {
  if (masterKey !== null) return { key: masterKey, newPath: undefined }
  const path = join(data, fileName)
  if (!memory && existsSync(path)) return { key: yield* read(path), newPath: undefined }
  return { key: yield* MasterVault.newMasterKey, newPath: memory ? undefined : path }
})

const keep = ({ key, newPath }: Found): Redacted.Redacted => {
  if (newPath !== undefined) write(newPath, key)
  return key
}

/**
 * The master key of a development server: the one it is told, else the one in its data folder,
 * which is made when missing. The folder has to be open.
 */
export const ensure = (where: Where): Effect.Effect<Redacted.Redacted, CommandFailed> =>
  Effect.map(find(where), keep)

/** True when the key opens a secret of every key that secrets were sealed with. */
const opensAll = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const vault = MasterVault.make(key)
  const secrets = yield* (yield* WebhookStore).secretOfEachKey
  const opened = yield* Effect.forEach(secrets, ({ accountId, sealed }) =>
    Effect.isSuccess(vault.open(secretPurpose(accountId), sealed)),
  )
  return opened.every(Boolean)
})

const lost =
  "if it is lost, millrace webhooks secret --account <name> --rotate --overlap 0s replaces the " +
  "secret of an account"

/** Refuses a server whose key does not open what is sealed in its database. */
export const check = Effect.fnUntraced(function* (
  key: Redacted.Redacted,
): Effect.fn.Return<void, CommandFailed | StorageError, WebhookStore> {
  if (yield* opensAll(key)) return
  return yield* refused(
    `${variable} does not open the signing secrets in this database: set the key that they were ` +
      `sealed with, after a new one and a comma where it is being replaced; ${lost}`,
  )
})

/** {@link ensure}, refused where the key does not open what is sealed in the folder. */
export const ensureOpens = Effect.fnUntraced(function* (
  where: Where,
): Effect.fn.Return<Redacted.Redacted, CommandFailed | StorageError, WebhookStore> {
  const found = yield* find(where)
  if (yield* opensAll(found.key)) return keep(found)
  const path = join(where.data, fileName)
  return yield* refused(
    where.masterKey === null
      ? `The key in ${path} does not open the signing secrets in ${where.data}: ` +
          "restore that file from a backup"
      : `${variable} does not open the signing secrets in ${where.data}: ` +
          "unset it, or set the key that they were sealed with",
  )
})
