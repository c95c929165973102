/**
 * The operations of operators on the credits of accounts, and the audit of all of them.
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  AccountCredits,
  AuditReport,
  CreateAdjustment,
  CreateGrant,
  Entry,
  Grant,
  SetMetering,
  Statement,
  StatementQuery,
} from "../AdminCreditsWire.ts"
import { AccountParams } from "../AdminWire.ts"
import { BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType } from "../WireError.ts"

const params = AccountParams
const refusals = [BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType] as const

const show = HttpApiEndpoint.get("show", "/", {
  params,
  success: AccountCredits,
  error: NotFound,
}).annotateMerge(OpenApi.annotations({ summary: "Show an account's credits" }))

const grant = HttpApiEndpoint.post("grant", "/grants", {
  params,
  payload: CreateGrant,
  success: Grant.pipe(HttpApiSchema.status(201)),
  error: refusals,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Grant credits",
    description:
      "Of grants of one priority the one that ends first is used first. A grant whose id was " +
      "given before is answered with that first one.",
  }),
)

const adjust = HttpApiEndpoint.post("adjust", "/adjustments", {
  params,
  payload: CreateAdjustment,
  success: Entry.pipe(HttpApiSchema.status(201)),
  error: refusals,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Correct a balance",
    description: "Up or down. The balance may become negative; then nothing starts that costs.",
  }),
)

const meter = HttpApiEndpoint.post("meter", "/metering", {
  params,
  payload: SetMetering,
  success: Entry.pipe(HttpApiSchema.status(201)),
  error: refusals,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Say whether runs need cover",
    description: "Runs of an account that is not metered are never refused; they are recorded.",
  }),
)

const statement = HttpApiEndpoint.get("statement", "/statement", {
  params,
  query: StatementQuery,
  success: Statement,
  error: [BadRequest, NotFound],
}).annotateMerge(
  OpenApi.annotations({ summary: "Read the ledger", description: "Newest first, 100 by default." }),
)

const csv = HttpApiEndpoint.get("csv", "/statement.csv", {
  params,
  success: HttpApiSchema.StreamUint8Array({ contentType: "text/csv" }),
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Read the whole ledger as CSV",
    description: "One line for each entry, newest first, after a line of names.",
  }),
)

/** `/accounts/{id}/credits`. */
export class AdminCreditsApi extends HttpApiGroup.make("credits")
  .add(show, grant, adjust, meter, statement, csv)
  .prefix("/accounts/:id/credits")
  .annotateMerge(
    OpenApi.annotations({ title: "Credits", description: "What accounts have, and why." }),
  ) {}

const audit = HttpApiEndpoint.get("audit", "/", { success: AuditReport }).annotateMerge(
  OpenApi.annotations({
    summary: "Check all ledgers",
    description: "Reads every entry of every account and names what does not add up.",
  }),
)

/** `/audit`. */
export class AdminAuditApi extends HttpApiGroup.make("audit")
  .add(audit)
  .prefix("/audit")
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "Do the books add up?" })) {}
