/**
 * `millrace keys create`: an account's next API key, made in the database itself, for the operator
 * who has no key yet to make one with.
 *
 * Guarantees: the secret is on standard output, alone and this once; what is said about it is on
 * standard error. Leaves out: listing and revoking.
 */
import { Account } from "@millrace/core/domain/Account"
import { Quota } from "@millrace/core/domain/Quota"
import { Ids } from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { Console, Effect, Layer, Redacted, Schema } from "effect"
import type { DatabaseSettings } from "./Config.ts"
import * as Database from "./Database.ts"
import { StartRefused } from "./StartRefused.ts"

/** What is asked for. */
export interface KeyRequest extends Partial<Quota> {
  readonly label: string
  /** The name of the account, which is made when there is none of that name. */
  readonly account: string
}

const refuse = ({ message }: { readonly message: string }) =>
  Effect.fail(new StartRefused({ message, reason: "failed" }))

const isName = Schema.is(Account.fields.name)
const isPerMinute = Schema.is(Quota.fields.perMinute)
const isPerDay = Schema.is(Quota.fields.perDay)

/** What is wrong with a request that can be told without asking the database. */
const problemOf = ({ account, perDay, perMinute }: KeyRequest): string | undefined => {
  if (!isName(account)) return "account: expected 1 to 120 characters"
  if (perMinute !== undefined && !isPerMinute(perMinute)) return "per-minute: expected 1 to 10000"
  if (perDay !== undefined && !isPerDay(perDay)) return "per-day: expected 1 to 100000"
  return undefined
}

/** The oldest account of this name, or a new one. */
const accountNamed = Effect.fnUntraced(function* (name: string) {
  const accounts = yield* (yield* KeyStore).listAccounts
  const found = accounts.find((account) => account.name === name)
  return found ?? (yield* (yield* Keys).createAccount(name))
})

const create = Effect.fnUntraced(function* ({ account: name, ...wanted }: KeyRequest) {
  const account = yield* accountNamed(name)
  const { key, secret } = yield* (yield* Keys).create(account.id, wanted)
  yield* Console.error(
    `Key "${key.label}" of account "${account.name}", for ${key.perMinute} requests a minute and ` +
      `${key.perDay} a day. It is shown only this once:`,
  )
  yield* Console.log(Redacted.value(secret))
})

/** Makes a key, and its account where there is none. Refused in one sentence. */
export const createKey = (
  request: KeyRequest,
  database: DatabaseSettings,
): Effect.Effect<void, StartRefused> =>
  Effect.gen(function* () {
    const problem = problemOf(request)
    if (problem !== undefined) return yield* refuse({ message: problem })
    const stores = Layer.succeedContext(yield* Database.open(database))
    const keys = Keys.layer.pipe(Layer.provide(Ids.layer), Layer.provideMerge(stores))
    yield* Effect.provide(create(request), keys)
  }).pipe(
    Effect.scoped,
    Effect.catchTag(
      ["AccountNotFound", "LabelTaken", "TooManyKeys", "InvalidKey", "StorageError"],
      refuse,
    ),
  )
