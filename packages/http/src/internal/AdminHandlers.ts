/**
 * The operations of operators on accounts and keys.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { CreateAccount, CreateKey, UpdateAccount, UpdateKey } from "@millrace/api/AdminWire"
import { KeyId } from "@millrace/core/domain/Id"
import { Keys } from "@millrace/core/engine/Keys"
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { refuse } from "../Errors.ts"
import type { ById } from "./AdminCall.ts"
import { accountOf, withBody } from "./AdminCall.ts"

interface OfKey {
  readonly params: { readonly id: string; readonly keyId: string }
}

const idsOf = (call: OfKey) => [accountOf(call), KeyId.make(call.params.keyId)] as const

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
      .handleRaw(
        "create",
        withBody(CreateAccount, ({ name }) => keys.createAccount(name)),
      )
      .handleRaw(
        "update",
        withBody(UpdateAccount, (change, call: ById) =>
          keys.updateAccount(accountOf(call), change),
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
      .handle("list", (call: ById) =>
        Effect.map(Effect.catch(keys.list(accountOf(call)), refuse), (items) => ({ items })),
      )
      .handleRaw(
        "create",
        withBody(CreateKey, (wanted, call: ById) =>
          Effect.map(keys.create(accountOf(call), wanted), ({ key, secret }) => ({
            ...key,
            secret: Redacted.value(secret),
          })),
        ),
      )
      .handleRaw(
        "update",
        withBody(UpdateKey, (change, call: OfKey) => keys.update(...idsOf(call), change)),
      )
      .handle("revoke", (call: OfKey) => Effect.catch(keys.revoke(...idsOf(call)), refuse))
  }),
)
