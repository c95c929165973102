/**
 * The sign-in of the application in the place of API keys.
 *
 * Guarantees: a request passes only if the application names an account that there is. Leaves out:
 * limits of requests, which go with keys.
 */
import { Identifier } from "@millrace/api/Text"
import { AccountId } from "@millrace/core/domain/Id"
import { accountsKnown } from "@millrace/core/domain/Limits"
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import { Keys } from "@millrace/core/engine/Keys"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, Option, Schema } from "effect"

/** Whose a request is. It may do everything in this account. */
export type RequestOwner =
  /** The name of an account, as in the option `account` of an engine. */
  | { readonly account: string; readonly accountId?: never }
  /** The id of an account, as `engine.accounts.create` gives it. */
  | { readonly accountId: string; readonly account?: never }

type Found = RequestOwner | null | undefined

/**
 * Says whose a request is, from its address and headers; it has no body. Nothing, and an error that
 * is thrown, is the answer 401.
 */
export type Authorize = (request: Request) => Found | Promise<Found>

const missing = (owner: RequestOwner) =>
  Effect.logWarning(`authorize: there is no account ${JSON.stringify(owner)}; the answer is 401`)

const isText = Schema.is(Identifier)

/** Finds the account of a request; `null` if it has none. */
export const make = (authorize: Authorize) =>
  Effect.gen(function* () {
    const store = yield* KeyStore
    const { findAccountNamed } = yield* Keys
    const known = new BoundedMap<string, AccountId>(accountsKnown)
    const found = ({ account, accountId }: RequestOwner) => {
      if (isText(accountId)) return store.findAccount(AccountId.make(accountId))
      return isText(account) ? findAccountNamed(account) : Effect.succeedNone
    }
    const idOf = Effect.fnUntraced(function* (owner: RequestOwner) {
      const key = JSON.stringify([owner.account, owner.accountId])
      const id = known.get(key)
      if (id !== undefined) return id
      const account = Option.getOrUndefined(yield* found(owner))
      if (account === undefined) return undefined
      known.set(key, account.id)
      return account.id
    })
    return (request: Request): Effect.Effect<AccountId | null, StorageError> =>
      Effect.gen(function* () {
        const asked = Effect.tryPromise(async () => authorize(request))
        const owner = yield* Effect.catch(asked, (error) =>
          Effect.as(Effect.logDebug("authorize has thrown", error), null),
        )
        if (owner === null || owner === undefined) return null
        const id = yield* idOf(owner)
        if (id === undefined) yield* missing(owner)
        return id ?? null
      })
  })
