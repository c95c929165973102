/**
 * Secrets of accounts: seals and stores them, says who uses them, and opens them for nodes.
 *
 * Guarantees: a value is sealed before it reaches a store, for its account, its name and its hosts;
 * whoever can write in the database cannot send it elsewhere. No operation shows a value, and no
 * error repeats one. Leaves out: where a graph may name a secret, and masking what nodes record.
 */
import { Clock, Context, Effect, Layer, Redacted, Result, Schema } from "effect"
import type { AccountId } from "../domain/Id.ts"
import { secretsMarked, secretsPerReseal } from "../domain/Limits.ts"
import { plain } from "../domain/Quote.ts"
import type { Secret } from "../domain/Secret.ts"
import { problemsOfValue, readHosts, SecretName, secretNameForm } from "../domain/Secret.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { minuteMillis } from "../domain/Timestamp.ts"
import type { SealedSecret, SecretUser, TooManySecrets } from "../ports/SecretStore.ts"
import { SecretStore } from "../ports/SecretStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { StoreManifest } from "../ports/StoreManifest.ts"
import type { VaultClosed } from "../ports/Vault.ts"
import { Vault } from "../ports/Vault.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { BoundedMap } from "./BoundedMap.ts"
import type { SecretSource } from "./CurrentSecrets.ts"
import { secretPurpose } from "./Webhooks.ts"

/** A secret to set. */
export interface NewSecret {
  readonly name: string
  readonly value: Redacted.Redacted
  readonly hosts: ReadonlyArray<string>
}

/** A secret, and the workflows that name it. */
export interface ListedSecret extends Secret {
  readonly usedBy: ReadonlyArray<Omit<SecretUser, "names">>
}

/** A part of the secret is outside its bounds. The message names every problem, never the value. */
export class InvalidSecret extends Schema.TaggedError<InvalidSecret>()("InvalidSecret", {
  message: Schema.String,
}) {}

/** The account has no such secret. */
export class SecretNotFound extends Schema.TaggedError<SecretNotFound>()("SecretNotFound", {
  name: Schema.String,
}) {
  override get message(): string {
    return `Secret ${plain(this.name)} does not exist`
  }
}

export class Secrets extends Context.Service<
  Secrets,
  SecretSource & {
    /** Stores a secret, or replaces value and hosts of the one with this name, in one step. */
    readonly set: (
      account: AccountId,
      secret: NewSecret,
    ) => Effect.Effect<Secret, InvalidSecret | TooManySecrets | VaultClosed | StorageError>
    /** The account's secrets, by name. */
    readonly list: (account: AccountId) => Effect.Effect<ReadonlyArray<ListedSecret>, StorageError>
    /** Removes a secret; answers with what it was, and which workflows still name it. */
    readonly remove: (
      account: AccountId,
      name: string,
    ) => Effect.Effect<ListedSecret, SecretNotFound | StorageError>
  }
>()("@millrace/core/engine/Secrets") {
  static readonly layer: Layer.Layer<Secrets, never, SecretStore | Vault> = Layer.effect(
    Secrets,
    Effect.suspend(() => make),
  )
}

/** The purpose that seals a secret. Names and hosts have no blanks, so no two are alike. */
export const valuePurpose = ({
  accountId,
  hosts,
  name,
}: Pick<SealedSecret, "accountId" | "hosts" | "name">): string =>
  `secret ${name} for ${hosts.join(",")} of ${accountId}`

const isName = Schema.is(SecretName)

const checked = Effect.fnUntraced(function* ({ hosts: wanted, name, value }: NewSecret) {
  const { hosts, problems } = readHosts(wanted)
  const clauses = [
    ...(isName(name) ? [] : [`name: expected ${secretNameForm}`]),
    ...problemsOfValue(Redacted.value(value)).map((clause) => `value: ${clause}`),
    ...problems.map((clause) => `hosts: ${clause}`),
  ]
  return clauses.length === 0 ? hosts : yield* new InvalidSecret({ message: clauses.join("; ") })
})

const usersOf = (users: ReadonlyArray<SecretUser>, name: string): ListedSecret["usedBy"] =>
  users.flatMap(({ names, workflowId, workflowName }) =>
    names.includes(name) ? [{ workflowId, workflowName }] : [],
  )

const make = Effect.gen(function* () {
  const store = yield* SecretStore
  const vault = yield* Vault
  const clock = yield* Clock.Clock

  const list = Effect.fn("Secrets.list")(function* (account: AccountId) {
    const found = yield* store.list(account)
    const users = found.length === 0 ? [] : yield* store.users(account)
    return found.map((secret) => ({ ...secret, usedBy: usersOf(users, secret.name) }))
  })

  /** When this process last marked a secret as used. */
  const marked = new BoundedMap<string, Timestamp>(secretsMarked)

  const mark = (account: AccountId, used: ReadonlyArray<string>) =>
    Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      const keyOf = (name: string) => `${name} ${account}`
      const due = used.filter((name) => (marked.get(keyOf(name)) ?? 0) <= now - minuteMillis)
      if (due.length === 0) return Effect.void
      for (const name of due) marked.set(keyOf(name), now)
      // A node does not fail because its use could not be marked.
      return Effect.ignore(store.markUsed(account, due))
    })

  return Secrets.of({
    list,
    names: (account) => Effect.map(store.list(account), (all) => all.map(({ name }) => name)),
    set: Effect.fn("Secrets.set")(function* (accountId, wanted) {
      const hosts = yield* checked(wanted)
      const { name, value } = wanted
      const now = clock.currentTimeMillisUnsafe()
      const purpose = valuePurpose({ accountId, hosts, name })
      const sealed = yield* vault.seal(purpose, Redacted.value(value))
      const times = { createdAt: now, updatedAt: now, lastUsedAt: null }
      return yield* store.put({ accountId, name, hosts, sealed, ...times })
    }),
    remove: Effect.fn("Secrets.remove")(function* (account, name) {
      const found = (yield* list(account)).find((secret) => secret.name === name)
      if (found === undefined || !(yield* store.remove(account, name))) {
        return yield* new SecretNotFound({ name })
      }
      return found
    }),
    open: Effect.fnUntraced(function* (account, names, used) {
      const found = yield* store.find(account, names)
      yield* mark(account, used)
      return yield* Effect.forEach(found, (secret) =>
        Effect.map(vault.open(valuePurpose(secret), secret.sealed), (text) => ({
          name: secret.name,
          hosts: secret.hosts,
          value: Redacted.make(text),
        })),
      )
    }),
  })
})

/** What re-sealing needs of a store of sealed texts. */
interface Sealed<S> {
  readonly sealedOtherwise: (
    keyName: string,
    limit: number,
  ) => Effect.Effect<ReadonlyArray<S>, StorageError>
  readonly reseal: (secret: S, sealed: string) => Effect.Effect<void, StorageError>
}

const resealed = Effect.fnUntraced(function* <S extends { readonly sealed: string }>(
  keyName: string,
  { reseal, sealedOtherwise }: Sealed<S>,
  purposeOf: (secret: S) => string,
) {
  const vault = yield* Vault
  // What does not open must not keep the rest from the new key.
  const failed = new Set<string>()
  let count = 0
  while (true) {
    const limit = secretsPerReseal + failed.size
    const old = yield* sealedOtherwise(keyName, limit)
    for (const secret of old) {
      const purpose = purposeOf(secret)
      const key = `${purpose} ${secret.sealed}`
      if (failed.has(key)) continue
      const opened = yield* Effect.result(vault.open(purpose, secret.sealed))
      if (Result.isFailure(opened)) {
        failed.add(key)
        continue
      }
      yield* reseal(secret, yield* vault.seal(purpose, opened.success))
      count += 1
    }
    if (old.length < limit) return count
  }
})

/**
 * Seals all secrets of all accounts, and their signing secrets, with the newest master key. Returns
 * how many an older key had sealed. A secret that is replaced meanwhile stays as it was replaced.
 */
export const resealAll = Effect.gen(function* () {
  const { ports } = yield* StoreManifest
  const sealed = yield* (yield* Vault).seal("", "")
  const keyName = sealed.slice(0, sealed.lastIndexOf("."))
  const signing = yield* WebhookStore
  const secrets = yield* SecretStore
  const ofWebhooks = resealed(keyName, signing, ({ accountId }) => secretPurpose(accountId))
  const ofAccounts = resealed(keyName, secrets, valuePurpose)
  const counts = [
    ports.includes("webhooks") ? yield* ofWebhooks : 0,
    ports.includes("secrets") ? yield* ofAccounts : 0,
  ]
  return counts[0]! + counts[1]!
})
