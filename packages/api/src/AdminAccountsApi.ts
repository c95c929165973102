/**
 * The operations of operators on accounts.
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Account, Accounts, CreateAccount } from "./AdminWire.ts"
import { BadRequest, PayloadTooLarge, UnsupportedMediaType } from "./WireError.ts"

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

/** `/accounts`. */
export class AdminAccountsApi extends HttpApiGroup.make("accounts")
  .add(list, create)
  .prefix("/accounts")
  .annotateMerge(
    OpenApi.annotations({
      title: "Accounts",
      description: "To whom workflows, runs and keys belong.",
    }),
  ) {}
