/**
 * The console's operations on the keys and the secrets of the account of the session.
 */
import { SecretName } from "@millrace/core/domain/Secret"
import { Schema } from "effect"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { ListedSecret, ListedSecrets, Secret, SetSecret } from "../AdminSecretWire.ts"
import { AccountKeys, CreatedKey, CreateKey, Key, UpdateKey } from "../AdminWire.ts"
import { IdParams } from "../Text.ts"
import { BadRequest, bodyErrors, Conflict, NotFound } from "../WireError.ts"
import { described, titled } from "./Words.ts"

const listKeys = described(
  "List keys",
  "Oldest first; those that were revoked or have expired, too.",
  HttpApiEndpoint.get("list", "/", { success: AccountKeys, error: NotFound }),
)

const createKey = described(
  "Make a key",
  "The whole key is in this answer and never again. Refused with 409 where the account has a " +
    "live key with this label, or ten live keys.",
  HttpApiEndpoint.post("create", "/", {
    payload: CreateKey,
    success: CreatedKey.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const updateKey = described(
  "Change a key",
  "Sets what is given. Limits hold from the next request on; what was used stays used.",
  HttpApiEndpoint.patch("update", "/:id", {
    params: IdParams,
    payload: UpdateKey,
    success: Key,
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const revokeKey = described(
  "Revoke a key",
  "It is refused from the next request on, by every server, for good.",
  HttpApiEndpoint.post("revoke", "/:id/revoke", {
    params: IdParams,
    success: Key,
    error: NotFound,
  }),
)

/** `/keys`. */
export class ConsoleKeysApi extends HttpApiGroup.make("keys")
  .add(listKeys, createKey, updateKey, revokeKey)
  .prefix("/keys")
  .annotateMerge(titled("Keys", "Which programs may call for the account.")) {}

const SecretParams = Schema.Struct({ name: SecretName })

const listSecrets = described(
  "List secrets",
  "By name, without their values, each with the workflows that name it.",
  HttpApiEndpoint.get("list", "/", { success: ListedSecrets, error: NotFound }),
)

const putSecret = described(
  "Set a secret",
  "Makes the secret, or replaces its value and its hosts in one step; attempts that begin later " +
    "use the new ones. Refused with 409 where the account has 200 secrets.",
  HttpApiEndpoint.put("put", "/:name", {
    params: SecretParams,
    payload: SetSecret,
    success: Secret,
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const removeSecret = described(
  "Remove a secret",
  "The answer says which workflows still name it. They cannot be started until they do not, or " +
    "until the secret is set again.",
  HttpApiEndpoint.delete("remove", "/:name", {
    params: SecretParams,
    success: ListedSecret,
    error: [BadRequest, NotFound],
  }),
)

/** `/secrets`. */
export class ConsoleSecretsApi extends HttpApiGroup.make("secrets")
  .add(listSecrets, putSecret, removeSecret)
  .prefix("/secrets")
  .annotateMerge(titled("Secrets", "Values that nodes send to other servers, sealed.")) {}
