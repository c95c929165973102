/**
 * The admin operations on accounts.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { described, titled } from "./Words.ts"
import { Account, AccountParams, Accounts, CreateAccount, UpdateAccount } from "../AdminWire.ts"
import { bodyErrors, NotFound } from "../WireError.ts"

const list = described(
  "List accounts",
  "All of them, oldest first.",
  HttpApiEndpoint.get("list", "/", { success: Accounts }),
)

const create = described(
  "Make an account",
  "The name is for people: several accounts may have the same.",
  HttpApiEndpoint.post("create", "/", {
    payload: CreateAccount,
    success: Account.pipe(HttpApiSchema.status(201)),
    error: bodyErrors,
  }),
)

const update = described(
  "Change an account",
  "Every server obeys a new cap within eight seconds. What is in progress by then goes on.",
  HttpApiEndpoint.patch("update", "/:id", {
    params: AccountParams,
    payload: UpdateAccount,
    success: Account,
    error: [...bodyErrors, NotFound],
  }),
)

/** `/accounts`. */
export class AdminAccountsApi extends HttpApiGroup.make("accounts")
  .add(list, create, update)
  .prefix("/accounts")
  .annotateMerge(titled("Accounts", "To whom workflows, runs and keys belong.")) {}
