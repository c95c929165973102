/**
 * The admin operations on the credits of accounts, and the audit of all ledgers.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { described, titled } from "./Words.ts"
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
import { BadRequest, bodyErrors, NotFound } from "../WireError.ts"

const params = AccountParams
const refusals = [...bodyErrors, NotFound] as const

const show = described(
  "Show an account's credits",
  undefined,
  HttpApiEndpoint.get("show", "/", { params, success: AccountCredits, error: NotFound }),
)

const grant = described(
  "Grant credits",
  "Of grants of one priority the one that ends first is used first. A grant whose id was " +
    "given before is answered with that first one.",
  HttpApiEndpoint.post("grant", "/grants", {
    params,
    payload: CreateGrant,
    success: Grant.pipe(HttpApiSchema.status(201)),
    error: refusals,
  }),
)

const adjust = described(
  "Correct a balance",
  "Up or down. The balance may become negative; then nothing starts that costs.",
  HttpApiEndpoint.post("adjust", "/adjustments", {
    params,
    payload: CreateAdjustment,
    success: Entry.pipe(HttpApiSchema.status(201)),
    error: refusals,
  }),
)

const meter = described(
  "Say whether runs need cover",
  "Runs of an account that is not metered are never refused; they are recorded.",
  HttpApiEndpoint.post("meter", "/metering", {
    params,
    payload: SetMetering,
    success: Entry.pipe(HttpApiSchema.status(201)),
    error: refusals,
  }),
)

const statement = described(
  "Read the ledger",
  "Newest first, 100 by default.",
  HttpApiEndpoint.get("statement", "/statement", {
    params,
    query: StatementQuery,
    success: Statement,
    error: [BadRequest, NotFound],
  }),
)

const csv = described(
  "Read the whole ledger as CSV",
  "One line for each entry, newest first, after a line of names.",
  HttpApiEndpoint.get("csv", "/statement.csv", {
    params,
    success: HttpApiSchema.StreamUint8Array({ contentType: "text/csv" }),
    error: NotFound,
  }),
)

/** `/accounts/{id}/credits`. */
export class AdminCreditsApi extends HttpApiGroup.make("credits")
  .add(show, grant, adjust, meter, statement, csv)
  .prefix("/accounts/:id/credits")
  .annotateMerge(titled("Credits", "What accounts have, and why.")) {}

const audit = described(
  "Check all ledgers",
  "Reads every entry of every account and names what does not add up.",
  HttpApiEndpoint.get("audit", "/", { success: AuditReport }),
)

/** `/audit`. */
export class AdminAuditApi extends HttpApiGroup.make("audit")
  .add(audit)
  .prefix("/audit")
  .annotateMerge(titled("Audit", "Do the books add up?")) {}
