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
  | {
      /** The name of an account, as in the option `account` of an engine. */
      readonly account: string
      /** Not beside a name. */
      readonly accountId?: never
    }
  | {
      /** The id of an account, as `engine.accounts.create` gives it. */
      readonly accountId: string
      /** Not beside an id. */
      readonly account?: never
    }

type Found = RequestOwner | null | undefined

/**
 * Says whose a request is, from its address and headers; it has no body. Nothing, and an error that
 * is thrown, is the answer 401.
 */
export type Authorize = (request: Request) => Found | Promise<Found>

const missing = (owner: RequestOwner) =>
  Effect.logWarning(`authorize: there is no account ${JSON.stringify(owner)}; the answer is 401`)

const isText = Schema.is(Identifier)

/** Finds accounts by name or id. `undefined`, and a line in the log: there is no such account. */
const makeIdOf = Effect.gen(function* () {
  const store = yield* KeyStore
  const { findAccountNamed } = yield* Keys
  const known = new BoundedMap<string, AccountId>(accountsKnown)
  const found = ({ account, accountId }: RequestOwner) => {
    if (isText(accountId)) return store.findAccount(AccountId.make(accountId))
    return isText(account) ? findAccountNamed(account) : Effect.succeedNone
  }
  return Effect.fnUntraced(function* ({ account, accountId }: RequestOwner) {
    const owner = { account, accountId } as RequestOwner
    const key = JSON.stringify([account, accountId])
    const id = known.get(key)
    if (id !== undefined) return id
    const present = Option.getOrUndefined(yield* found(owner))
    if (present === undefined) {
      yield* missing(owner)
      return undefined
    }
    known.set(key, present.id)
    return present.id
  })
})

/**
 * Makes the function that asks an application whose a request is, and finds that account. If the
 * application throws, the request is nobody's.
 */
export const makeOwnerOf = <A extends RequestOwner>(
  authorize: (request: Request) => A | null | undefined | Promise<A | null | undefined>,
) =>
  Effect.map(makeIdOf, (idOf) =>
    Effect.fnUntraced(function* (request: Request) {
      const asked = Effect.tryPromise(async () => authorize(request))
      const said = yield* Effect.catch(asked, (error) =>
        Effect.as(Effect.logDebug("authorize has thrown", error), null),
      )
      if (said === null || said === undefined) return undefined
      const id = yield* idOf(said)
      return id === undefined ? undefined : { id, said }
    }),
  )

/** Finds the account of a request; `null` if it has none. */
export const make = (authorize: Authorize) =>
  Effect.map(
    makeOwnerOf(authorize),
    (ownerOf) =>
      (request: Request): Effect.Effect<AccountId | null, StorageError> =>
        Effect.map(ownerOf(request), (found) => found?.id ?? null),
  )
