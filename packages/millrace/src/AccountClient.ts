/**
 * The accounts of an engine's store, and what an engine does for one of them.
 *
 * Guarantees: a call for an account that does not exist is refused, and nothing is stored. What
 * belongs to another account looks exactly like what does not exist.
 */
import { invalid } from "@millrace/api/MillraceError"
import type { Client } from "@millrace/api/PromiseClient"
import { clientOver } from "@millrace/api/PromiseClient"
import { Identifier } from "@millrace/api/Text"
import type { Transport } from "@millrace/api/Transport"
import * as Wire from "@millrace/api/AdminWire"
import { AccountId } from "@millrace/core/domain/Id"
import { accountsKnown } from "@millrace/core/domain/Limits"
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import { Keys as Core } from "@millrace/core/engine/Keys"
import type { Engine } from "@millrace/core/engine/Engine"
import { AccountNotFound, KeyStore } from "@millrace/core/ports/KeyStore"
import type { Operations } from "@millrace/http/DirectTransport"
import { Effect, Option, Schema } from "effect"
import type { Credits } from "./Credit.ts"
import * as Credit from "./Credit.ts"
import { reader, writer } from "./internal/JsonCopy.ts"
import type { Runtime } from "./internal/Runtime.ts"
import type { Keys } from "./Key.ts"
import * as Key from "./Key.ts"
import type { Secrets } from "./Secret.ts"
import * as Secret from "./Secret.ts"
import type { Webhooks } from "./Webhook.ts"
import * as Webhook from "./Webhook.ts"

/** An account: the tenant. Times are ISO 8601 in UTC. */
export type Account = typeof Wire.Account.Encoded

/** An account to make. */
export interface NewAccount {
  /** 1 to 120 characters, for people: several accounts may have the same. */
  readonly name: string
}

/** The fields of an account to set. */
export interface AccountChange {
  /**
   * How many runs of the account may execute at once, over all engines and servers: 1 to 1,000,000.
   * Further runs stay QUEUED. `null`: only `limits` hold.
   */
  readonly runsAtOnce: number | null
}

/** The accounts of the store. */
export interface Accounts {
  /** Makes an account with an id of its own. */
  create(account: NewAccount): Promise<Account>
  /** All accounts, oldest first. */
  list(): Promise<ReadonlyArray<Account>>
  /** Sets the given fields; engines obey within eight seconds. May reject: `ACCOUNT_NOT_FOUND`. */
  update(id: string, change: AccountChange): Promise<Account>
}

/** What an engine does for one account. */
export interface AccountClient extends Client {
  /** The account's id. */
  readonly accountId: string
  /** The keys with which programs reach the account over HTTP. */
  readonly keys: Keys
  /** The account's balance, its grants and its statement. */
  readonly credits: Credits
  /** Values that workflows name and nobody reads: `{{ secrets.token }}`. */
  readonly secrets: Secrets
  /** Signing secrets, test events and redeliveries. */
  readonly webhooks: Webhooks
}

/** The services that the client of an account calls. */
export type AccountServices = Engine | KeyStore | Operations

/** Makes the transport of an account, over a runtime that knows the account. */
export type TransportOf = (account: AccountId, runtime: Runtime<AccountServices>) => Transport

/** The client of one account, which must exist. */
export const clientOf = (
  runtime: Runtime<AccountServices>,
  account: AccountId,
  transportOf: TransportOf,
): AccountClient => ({
  ...clientOver(transportOf(account, runtime)),
  accountId: account,
  keys: Key.make(runtime, account),
  credits: Credit.make(runtime, account),
  secrets: Secret.make(runtime, account),
  webhooks: Webhook.make(runtime, account),
})

/** A runtime whose calls are refused if the account does not exist. Asks the store once. */
const knowing = (
  runtime: Runtime<AccountServices>,
  accountId: AccountId,
): Runtime<AccountServices> => {
  let isKnown = false
  const ensure = Effect.gen(function* () {
    if (isKnown) return
    const found = yield* KeyStore.use((store) => store.findAccount(accountId))
    if (Option.isNone(found)) return yield* new AccountNotFound({ accountId })
    isKnown = true
  })
  return {
    ...runtime,
    call: (effect) => runtime.call(Effect.andThen(ensure, effect)),
    callUntil: (effect, signal) => runtime.callUntil(Effect.andThen(ensure, effect), signal),
  }
}

/** Gives the client of any account. The same id gives the same client. */
export const clientsOf = (runtime: Runtime<AccountServices>, transportOf: TransportOf) => {
  const clients = new BoundedMap<string, AccountClient>(accountsKnown)
  return (id: string): AccountClient => {
    if (!Schema.is(Identifier)(id)) throw invalid("account: expected the id of an account")
    const account = AccountId.make(id)
    const known = clients.get(id)
    if (known !== undefined) return known
    const client = clientOf(knowing(runtime, account), account, transportOf)
    clients.set(id, client)
    return client
  }
}

const readAccount = reader(Wire.CreateAccount, "account")
const readChange = reader(Wire.UpdateAccount, "change")
const readId = reader(Identifier, "id")
const writeAccount = writer(Wire.Account)

/** The accounts of the store. */
export const make = ({ call }: Runtime<Core>): Accounts => ({
  create: Effect.fnUntraced(function* (given: NewAccount) {
    const { name } = yield* readAccount(given)
    return writeAccount(yield* (yield* Core).createAccount(name))
  }, call),
  list: Effect.fnUntraced(function* () {
    return (yield* (yield* Core).listAccounts).map(writeAccount)
  }, call),
  update: Effect.fnUntraced(function* (id: string, given: AccountChange) {
    const account = AccountId.make(yield* readId(id))
    const change = yield* readChange(given)
    return writeAccount(yield* (yield* Core).updateAccount(account, change))
  }, call),
})
