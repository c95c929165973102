/**
 * The admin operations on an account's API keys (specification 2.8 and part 5).
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { described, titled } from "./Words.ts"
import {
  AccountKeys,
  AccountParams,
  CreatedKey,
  CreateKey,
  Key,
  KeyParams,
  UpdateKey,
} from "../AdminWire.ts"
import { bodyErrors, Conflict, NotFound } from "../WireError.ts"

const list = described(
  "List an account's keys",
  "Oldest first; those that were revoked or have expired, too.",
  HttpApiEndpoint.get("list", "/", {
    params: AccountParams,
    success: AccountKeys,
    error: NotFound,
  }),
)

const create = described(
  "Make a key",
  "The whole key is in this answer and never again. Refused with 409 where the account has a " +
    "live key with this label, or ten live keys.",
  HttpApiEndpoint.post("create", "/", {
    params: AccountParams,
    payload: CreateKey,
    success: CreatedKey.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const update = described(
  "Change a key",
  "Sets what is given. Limits hold from the next request on; what was used stays used.",
  HttpApiEndpoint.patch("update", "/:keyId", {
    params: KeyParams,
    payload: UpdateKey,
    success: Key,
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const revoke = described(
  "Revoke a key",
  "It is refused from the next request on, by every server, for good.",
  HttpApiEndpoint.post("revoke", "/:keyId/revoke", {
    params: KeyParams,
    success: Key,
    error: NotFound,
  }),
)

/** `/accounts/{id}/keys`. */
export class AdminKeysApi extends HttpApiGroup.make("keys")
  .add(list, create, update, revoke)
  .prefix("/accounts/:id/keys")
  .annotateMerge(titled("Keys", "Who may call for an account.")) {}
