/**
 * The operations of operators on accounts.
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Account, AccountParams, Accounts, CreateAccount, UpdateAccount } from "../AdminWire.ts"
import { BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType } from "../WireError.ts"

const list = HttpApiEndpoint.get("list", "/", { success: Accounts }).annotateMerge(
  OpenApi.annotations({ summary: "List accounts", description: "All of them, oldest first." }),
)

const create = HttpApiEndpoint.post("create", "/", {
  payload: CreateAccount,
  success: Account.pipe(HttpApiSchema.status(201)),
  error: [BadRequest, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Make an account",
    description: "The name is for people: several accounts may have the same.",
  }),
)

const update = HttpApiEndpoint.patch("update", "/:id", {
  params: AccountParams,
  payload: UpdateAccount,
  success: Account,
  error: [BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Change an account",
    description:
      "Every server obeys a new cap within a quarter of its lease, 7.5 seconds by default. What " +
      "is in progress by then goes on.",
  }),
)

/** `/accounts`. */
export class AdminAccountsApi extends HttpApiGroup.make("accounts")
  .add(list, create, update)
  .prefix("/accounts")
  .annotateMerge(
    OpenApi.annotations({
      title: "Accounts",
      description: "To whom workflows, runs and keys belong.",
    }),
  ) {}
