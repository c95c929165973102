/**
 * The admin operations on an account's secrets.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import { described, titled } from "./Words.ts"
import { ListedSecret, ListedSecrets, Secret, SecretParams, SetSecret } from "../AdminSecretWire.ts"
import { AccountParams } from "../AdminWire.ts"
import { BadRequest, bodyErrors, Conflict, NotFound } from "../WireError.ts"

const list = described(
  "List an account's secrets",
  "By name, without their values, each with the workflows that name it.",
  HttpApiEndpoint.get("list", "/", {
    params: AccountParams,
    success: ListedSecrets,
    error: NotFound,
  }),
)

const set = described(
  "Set a secret",
  "Makes the secret, or replaces its value and its hosts in one step; attempts that begin later " +
    "use the new ones. Refused with 409 where the account has 200 secrets.",
  HttpApiEndpoint.put("set", "/:name", {
    params: SecretParams,
    payload: SetSecret,
    success: Secret,
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const remove = described(
  "Remove a secret",
  "The answer says which workflows still name it. They cannot be started until they do not, or " +
    "until the secret is set again.",
  HttpApiEndpoint.delete("remove", "/:name", {
    params: SecretParams,
    success: ListedSecret,
    error: [BadRequest, NotFound],
  }),
)

/** `/accounts/{id}/secrets`. */
export class AdminSecretsApi extends HttpApiGroup.make("secrets")
  .add(list, set, remove)
  .prefix("/accounts/:id/secrets")
  .annotateMerge(titled("Secrets", "Values that nodes send to other servers, sealed.")) {}
