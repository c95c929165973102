/**
 * The sign-in of the application in the place of API keys.
 *
 * Guarantees: a request passes only if the application names an account that there is. Leaves out:
 * limits of requests, which go with keys.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { accountNamesKnown } from "@millrace/core/domain/Limits"
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Effect } from "effect"

/** Whose a request is. It may do everything in this account. */
export interface RequestOwner {
  /** The name of an account, as in the option `account` of an engine. */
  readonly account: string
}

type Found = RequestOwner | null | undefined

/**
 * Says whose a request is, from its address and headers; it has no body. Nothing, and an error that
 * is thrown, is the answer 401.
 */
export type Authorize = (request: Request) => Found | Promise<Found>

const missing = (name: unknown) =>
  Effect.logWarning(`authorize: there is no account ${JSON.stringify(name)}; the answer is 401`)

/** Finds the account of a request; `null` if it has none. */
export const make = (authorize: Authorize) =>
  Effect.map(KeyStore, (store) => {
    const known = new BoundedMap<string, AccountId>(accountNamesKnown)
    const idOf = Effect.fnUntraced(function* (name: string) {
      const id = known.get(name)
      if (id !== undefined) return id
      const account = (yield* store.listAccounts).find((each) => each.name === name)
      if (account !== undefined) known.set(name, account.id)
      return account?.id
    })
    return (request: Request): Effect.Effect<AccountId | null, StorageError> =>
      Effect.gen(function* () {
        const asked = Effect.tryPromise(async () => authorize(request))
        const owner = yield* Effect.catch(asked, (error) =>
          Effect.as(Effect.logDebug("authorize has thrown", error), null),
        )
        if (owner === null || owner === undefined) return null
        const id = yield* idOf(owner.account)
        if (id === undefined) yield* missing(owner.account)
        return id ?? null
      })
  })
