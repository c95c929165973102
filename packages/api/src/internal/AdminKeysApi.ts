/**
 * The operations of operators on an account's API keys (specification 2.8 and part 5).
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  AccountKeys,
  AccountParams,
  CreatedKey,
  CreateKey,
  Key,
  KeyParams,
  UpdateKey,
} from "../AdminWire.ts"
import {
  BadRequest,
  Conflict,
  NotFound,
  PayloadTooLarge,
  UnsupportedMediaType,
} from "../WireError.ts"

const list = HttpApiEndpoint.get("list", "/", {
  params: AccountParams,
  success: AccountKeys,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "List an account's keys",
    description: "Oldest first; those that were revoked or have expired, too.",
  }),
)

const create = HttpApiEndpoint.post("create", "/", {
  params: AccountParams,
  payload: CreateKey,
  success: CreatedKey.pipe(HttpApiSchema.status(201)),
  error: [BadRequest, NotFound, Conflict, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Make a key",
    description:
      "The whole key is in this answer and never again. Refused with 409 where the account has a " +
      "live key with this label, or ten live keys.",
  }),
)

const update = HttpApiEndpoint.patch("update", "/:keyId", {
  params: KeyParams,
  payload: UpdateKey,
  success: Key,
  error: [BadRequest, NotFound, Conflict, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Change a key",
    description:
      "Sets what is given. Limits hold from the next request on; what was used stays used.",
  }),
)

const revoke = HttpApiEndpoint.post("revoke", "/:keyId/revoke", {
  params: KeyParams,
  success: Key,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Revoke a key",
    description: "It is refused from the next request on, by every server, for good.",
  }),
)

/** `/accounts/{id}/keys`. */
export class AdminKeysApi extends HttpApiGroup.make("keys")
  .add(list, create, update, revoke)
  .prefix("/accounts/:id/keys")
  .annotateMerge(
    OpenApi.annotations({ title: "Keys", description: "Who may call for an account." }),
  ) {}
