/**
 * The master key of a server: from its settings, or from the data folder of `millrace dev`.
 *
 * Guarantees: a server starts only if its key opens the secrets that are sealed in its store.
 */
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { KeySource, MasterKeyRefused } from "@millrace/host/MasterKey"
import * as MasterKey from "@millrace/host/MasterKey"
import { Effect, type Redacted } from "effect"
import type { DevSettings } from "../../Config.ts"
import { CommandFailed } from "../../CommandFailed.ts"

const variable = "MILLRACE_MASTER_KEY"

type Where = Pick<DevSettings, "data" | "masterKey" | "memory">

const sourceOf = ({ data, masterKey, memory }: Where): KeySource => ({
  given: masterKey ?? undefined,
  folder: memory ? undefined : data,
})

const explain = ({ message }: MasterKeyRefused | StorageError) =>
  Effect.fail(CommandFailed.failed(message))

/**
 * The master key of `millrace dev`: the key in the settings, else the key in the data folder, which
 * is made if missing. The folder must be open.
 */
export const ensure = (where: Where): Effect.Effect<Redacted.Redacted, CommandFailed> =>
  Effect.catch(MasterKey.ensure(sourceOf(where)), explain)

const lost =
  "if it is lost, replace the secret of each account with millrace webhooks secret --account " +
  "<name> --rotate --overlap 0s"

/** The key of a server on a database. Fails if the key does not open the secrets sealed there. */
export const check = (
  given: Redacted.Redacted,
): Effect.Effect<Redacted.Redacted, CommandFailed | StorageError, MasterKey.SealedStores> =>
  MasterKey.ensureOpens(
    { given },
    `${variable} does not open the signing secrets in this database: set the key that sealed ` +
      `them, or NEW,OLD while a new key replaces an old one; ${lost}`,
  ).pipe(Effect.catchTag("MasterKeyRefused", explain))

/** Like {@link ensure}. Fails if the key does not open the secrets sealed in the folder. */
export const ensureOpens = (
  where: Where,
): Effect.Effect<Redacted.Redacted, CommandFailed | StorageError, MasterKey.SealedStores> =>
  MasterKey.ensureOpens(
    sourceOf(where),
    `${variable} does not open the signing secrets in ${where.data}: ` +
      "unset it, or set the key that sealed them",
  ).pipe(Effect.catchTag("MasterKeyRefused", explain))
