/**
 * Secrets of an engine's account: values that nodes send to other servers.
 *
 * Guarantees: no call answers with a value.
 */
import * as Wire from "@millrace/api/AdminSecretWire"
import type { AccountId } from "@millrace/core/domain/Id"
import { Secrets as Core } from "@millrace/core/engine/Secrets"
import { InvalidRequest } from "@millrace/http/Errors"
import { Effect, Redacted, Schema } from "effect"
import { reader, writer } from "./internal/JsonCopy.ts"
import type { Runtime } from "./internal/Runtime.ts"

/** A secret without its value. Times are ISO 8601 in UTC. */
export type Secret = typeof Wire.Secret.Encoded

/** A secret, and the workflows that name it. */
export type ListedSecret = typeof Wire.ListedSecret.Encoded

/** A secret to set. */
export interface NewSecret {
  /** 1 to 64 letters, digits or `_`: nodes name it by `{{ secrets.name }}`. */
  readonly name: string
  /** 8 characters to 64 KiB. */
  readonly value: string
  /** Where nodes may send it: `api.example.com`, `*.example.com`, `api.example.com:8443`. */
  readonly hosts: ReadonlyArray<string>
}

/** The secrets of the engine's account. They need a master key. */
export interface Secrets {
  /** Makes a secret, or replaces its value and its hosts. Rejects with `INVALID_SECRET`. */
  set(secret: NewSecret): Promise<Secret>
  /** By name, without their values. */
  list(): Promise<ReadonlyArray<ListedSecret>>
  /** Says which workflows still name it. Rejects with `SECRET_NOT_FOUND`. */
  remove(name: string): Promise<ListedSecret>
}

const readSecret = reader(
  Schema.Struct({ name: Schema.String, ...Wire.SetSecret.fields }),
  "secret",
)
const readName = reader(Schema.String, "name")
const writeSecret = writer(Wire.Secret)
const writeListed = writer(Wire.ListedSecret)

const refused = ({ message }: { readonly message: string }) =>
  Effect.fail(new InvalidRequest({ message }))

/** The secrets of one account. */
export const make = ({ call }: Runtime<Core>, account: AccountId): Secrets => ({
  set: Effect.fnUntraced(
    function* (given: NewSecret) {
      const { value, ...wanted } = yield* readSecret(given)
      const secrets = yield* Core
      return writeSecret(yield* secrets.set(account, { ...wanted, value: Redacted.make(value) }))
    },
    Effect.catchTag("VaultClosed", refused),
    call,
  ),
  list: Effect.fnUntraced(function* () {
    return (yield* (yield* Core).list(account)).map(writeListed)
  }, call),
  remove: Effect.fnUntraced(function* (given: string) {
    const name = yield* readName(given)
    return writeListed(yield* (yield* Core).remove(account, name))
  }, call),
})
