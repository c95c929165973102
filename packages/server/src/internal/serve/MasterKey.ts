/**
 * The master key of a server: from its configuration, or from the data folder of a development
 * server.
 *
 * Guarantees: a server starts only with a key that opens what is sealed in its store.
 */
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { WebhookStore } from "@millrace/core/ports/WebhookStore"
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
  Effect.fail(new CommandFailed({ message, reason: "failed" }))

/**
 * The master key of a development server: the one it is told, else the one in its data folder,
 * which is made when missing. The folder has to be open.
 */
export const ensure = (where: Where): Effect.Effect<Redacted.Redacted, CommandFailed> =>
  Effect.catch(MasterKey.ensure(sourceOf(where)), explain)

const lost =
  "if it is lost, millrace webhooks secret --account <name> --rotate --overlap 0s replaces the " +
  "secret of an account"

/** The key of a server on a database, refused where it does not open what is sealed there. */
export const check = (
  given: Redacted.Redacted,
): Effect.Effect<Redacted.Redacted, CommandFailed | StorageError, WebhookStore> =>
  MasterKey.ensureOpens(
    { given },
    `${variable} does not open the signing secrets in this database: set the key that they were ` +
      `sealed with, after a new one and a comma where it is being replaced; ${lost}`,
  ).pipe(Effect.catchTag("MasterKeyRefused", explain))

/** {@link ensure}, refused where the key does not open what is sealed in the folder. */
export const ensureOpens = (
  where: Where,
): Effect.Effect<Redacted.Redacted, CommandFailed | StorageError, WebhookStore> =>
  MasterKey.ensureOpens(
    sourceOf(where),
    `${variable} does not open the signing secrets in ${where.data}: ` +
      "unset it, or set the key that they were sealed with",
  ).pipe(Effect.catchTag("MasterKeyRefused", explain))
