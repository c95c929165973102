/**
 * What `millrace keys` does.
 *
 * Guarantees: what was asked for is on standard output, alone; what is said about it is on standard
 * error. A secret is printed when it is made, and never again.
 */
import { AccountKeys, CreatedKey, Key } from "@millrace/api/AdminWire"
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import { isLive } from "@millrace/core/domain/ApiKey"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { format } from "@millrace/core/domain/Timestamp"
import type { NewKey } from "@millrace/core/engine/Keys"
import type { KeyChange } from "@millrace/core/ports/KeyStore"
import { Clock, Console, Effect, Redacted, Schema } from "effect"
import * as AccountTasks from "./AccountTasks.ts"
import type { Target } from "../config/ConfigTarget.ts"
import { open } from "./OpenAdminTasks.ts"
import type { AdminTasks } from "./AdminTasks.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import { linesOf } from "../command/Table.ts"

const refuse = (message: string) => Effect.fail(new CommandFailed({ message, reason: "failed" }))

/** An account is meant by its identifier, or by its name: then the oldest of that name. */
const isMeant = (account: Account, reference: string): boolean =>
  account.id === reference || account.name === reference

const limitsOf = ({ perDay, perMinute }: ApiKey): string =>
  `for ${perMinute} requests a minute and ${perDay} a day`

/** `millrace keys create`: prints the secret alone, or the key with its secret as JSON. */
export const create = (target: Target, accountName: string, wanted: NewKey, json: boolean) =>
  Effect.gen(function* () {
    const tasks = yield* open(target)
    const accounts = yield* tasks.listAccounts
    const found = accounts.find((account) => isMeant(account, accountName))
    const account = found ?? (yield* AccountTasks.make(tasks, accountName))
    const { key, secret } = yield* tasks.createKey(account.id, wanted)
    yield* Console.error(
      `Key "${key.label}" of account "${account.name}", ${limitsOf(key)}. It is shown only this ` +
        "once:",
    )
    const text = Redacted.value(secret)
    const created = { ...key, secret: text }
    yield* Console.log(json ? JSON.stringify(Schema.encodeSync(CreatedKey)(created)) : text)
  }).pipe(Effect.scoped)

/** The accounts that are meant; all of them where none is named. */
const accountsOf = Effect.fnUntraced(function* (
  { listAccounts }: AdminTasks,
  reference: string | undefined,
) {
  const accounts = yield* listAccounts
  if (reference === undefined) return accounts
  const meant = accounts.filter((account) => isMeant(account, reference))
  return meant.length > 0 ? meant : yield* refuse(`There is no account "${reference}"`)
})

interface Owned {
  readonly account: Account
  readonly key: ApiKey
}

/** All keys of the accounts that are meant. */
const keysOf = Effect.fnUntraced(function* (tasks: AdminTasks, reference: string | undefined) {
  const accounts = yield* accountsOf(tasks, reference)
  const keys = yield* Effect.forEach(
    accounts,
    (account) =>
      Effect.map(tasks.listKeys(account.id), (all) => all.map((key): Owned => ({ account, key }))),
    { concurrency: 8 },
  )
  return keys.flat()
})

const timeOf = (time: Timestamp | null): string => (time === null ? "never" : format(time))

const stateOf = (key: ApiKey, now: Timestamp): string => {
  if (key.revokedAt !== null) return "revoked"
  return isLive(key, now) ? "live" : "expired"
}

const columns = [
  "id",
  "account",
  "label",
  "prefix",
  "a minute",
  "a day",
  "state",
  "last used",
  "expires",
]

const rowOf = ({ account, key }: Owned, now: Timestamp): ReadonlyArray<string> => [
  key.id,
  account.name,
  key.label,
  key.prefix,
  String(key.perMinute),
  String(key.perDay),
  stateOf(key, now),
  timeOf(key.lastUsedAt),
  timeOf(key.expiresAt),
]

/** `millrace keys list`: prints a table, or the keys as JSON. */
export const list = (target: Target, account: string | undefined, json: boolean) =>
  Effect.gen(function* () {
    const owned = yield* keysOf(yield* open(target), account)
    const items = owned.map(({ key }) => key)
    if (json) return yield* Console.log(JSON.stringify(Schema.encodeSync(AccountKeys)({ items })))
    if (owned.length === 0) return yield* Console.error("There are no keys")
    const now = yield* Clock.currentTimeMillis
    const rows = owned.map((each) => rowOf(each, now))
    yield* Console.log(linesOf(columns, rows).join("\n"))
  }).pipe(Effect.scoped)

/** The key that is meant: by its identifier, or by its label among those that are live. */
const keyMeant = Effect.fnUntraced(function* (
  tasks: AdminTasks,
  reference: string,
  account: string | undefined,
) {
  const now = yield* Clock.currentTimeMillis
  const label = reference.trim().toLowerCase()
  const all = yield* keysOf(tasks, account)
  const byId = all.filter(({ key }) => key.id === reference)
  const byLabel = all.filter(({ key }) => isLive(key, now) && key.label.toLowerCase() === label)
  const [found, second] = byId.length > 0 ? byId : byLabel
  if (found === undefined) return yield* refuse(`There is no live key "${reference}"`)
  if (second === undefined) return found
  return yield* refuse(`Several keys are called "${reference}": say of which account, or the id`)
})

const printKey = (key: ApiKey, json: boolean, sentence: string) =>
  json
    ? Console.log(JSON.stringify(Schema.encodeSync(Key)(key)))
    : Effect.andThen(Console.error(sentence), Console.log(key.id))

/** Which key is meant. */
export interface KeyReference {
  /** Its identifier or its label. */
  readonly key: string
  /** Its account, by identifier or name; any where nothing is said. */
  readonly account: string | undefined
}

/** `millrace keys update`. */
export const update = (target: Target, meant: KeyReference, change: KeyChange, json: boolean) =>
  Effect.gen(function* () {
    const tasks = yield* open(target)
    const { account, key } = yield* keyMeant(tasks, meant.key, meant.account)
    const updated = yield* tasks.updateKey(account.id, key.id, change)
    const name = `Key "${updated.label}" of account "${account.name}"`
    yield* printKey(updated, json, `${name} is now ${limitsOf(updated)}`)
  }).pipe(Effect.scoped)

/** `millrace keys revoke`. */
export const revoke = (target: Target, meant: KeyReference, json: boolean) =>
  Effect.gen(function* () {
    const tasks = yield* open(target)
    const { account, key } = yield* keyMeant(tasks, meant.key, meant.account)
    const revoked = yield* tasks.revokeKey(account.id, key.id)
    const name = `Key "${revoked.label}" of account "${account.name}"`
    yield* printKey(revoked, json, `${name} is refused from now on`)
  }).pipe(Effect.scoped)
