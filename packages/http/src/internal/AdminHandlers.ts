/**
 * The operations of operators on accounts and keys.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { CreateAccount, CreateKey, UpdateAccount, UpdateKey } from "@millrace/api/AdminWire"
import { AccountId, KeyId } from "@millrace/core/domain/Id"
import { Keys } from "@millrace/core/engine/Keys"
import { Effect, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { reader } from "./Body.ts"
import { refuse } from "../Errors.ts"

const readAccount = reader(CreateAccount)
const readCreate = reader(CreateKey)
const readAccountChange = reader(UpdateAccount)
const readUpdate = reader(UpdateKey)

/** A request whose body is read here. */
interface WithBody {
  readonly request: HttpServerRequest.HttpServerRequest
}

interface OfAccount {
  readonly params: { readonly id: string }
}

interface OfKey {
  readonly params: { readonly id: string; readonly keyId: string }
}

const idsOf = ({ params }: OfKey) => [AccountId.make(params.id), KeyId.make(params.keyId)] as const

/** The handlers of the group `accounts`. */
export const layerAccounts = HttpApiBuilder.group(
  AdminApi,
  "accounts",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* Keys
    return handlers
      .handle("list", () =>
        Effect.map(Effect.catch(keys.listAccounts, refuse), (items) => ({ items })),
      )
      .handleRaw("create", ({ request }: WithBody) =>
        Effect.flatMap(readAccount(request), ({ name }) =>
          Effect.catch(keys.createAccount(name), refuse),
        ),
      )
      .handleRaw("update", ({ params, request }: OfAccount & WithBody) =>
        Effect.flatMap(readAccountChange(request), (change) =>
          Effect.catch(keys.updateAccount(AccountId.make(params.id), change), refuse),
        ),
      )
  }),
)

/** The handlers of the group `keys`. */
export const layerKeys = HttpApiBuilder.group(
  AdminApi,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* Keys
    return handlers
      .handle("list", ({ params }: OfAccount) =>
        Effect.map(Effect.catch(keys.list(AccountId.make(params.id)), refuse), (items) => ({
          items,
        })),
      )
      .handleRaw(
        "create",
        Effect.fnUntraced(function* ({ params, request }: OfAccount & WithBody) {
          const made = keys.create(AccountId.make(params.id), yield* readCreate(request))
          const { key, secret } = yield* Effect.catch(made, refuse)
          return { ...key, secret: Redacted.value(secret) }
        }),
      )
      .handleRaw(
        "update",
        Effect.fnUntraced(function* (call: OfKey & WithBody) {
          const change = yield* readUpdate(call.request)
          return yield* Effect.catch(keys.update(...idsOf(call), change), refuse)
        }),
      )
      .handle("revoke", (call: OfKey) => Effect.catch(keys.revoke(...idsOf(call)), refuse))
  }),
)
