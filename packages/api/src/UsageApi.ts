/**
 * What an account has, and what its runs have used (specification: credits).
 */
import { SignedAmount } from "@millrace/core/domain/Credits"
import { usageDays, usageRows } from "@millrace/core/domain/Limits"
import { Day, Usage } from "@millrace/core/domain/Usage"
import { Schema } from "effect"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import { described, object, titled } from "./internal/Words.ts"
import { BadRequest } from "./WireError.ts"

/** What an account has. */
export const Balance = object("Balance", {
  metered: Schema.Boolean.annotate({
    description: "True when a run is refused that is not covered.",
  }),
  posted: SignedAmount.annotate({ description: "What was given and is not used." }),
  reserved: SignedAmount.annotate({ description: "What open runs have set aside of it." }),
  available: SignedAmount.annotate({ description: "What is left for further runs." }),
})
export type Balance = typeof Balance.Type

/** Which days are asked about. */
export const UsageQuery = Schema.Struct({
  from: Schema.optionalKey(Day),
  to: Schema.optionalKey(Day),
})
export type UsageQuery = typeof UsageQuery.Type

/** The answer. */
export const UsageReport = object("Usage", {
  balance: Schema.optionalKey(
    Balance.annotate({
      description: "Absent for a session that sees only some workflows: it is the account's.",
    }),
  ),
  from: Day,
  to: Day,
  ...Usage.fields,
})
export type UsageReport = typeof UsageReport.Type

const read = described(
  "Read balance and usage",
  `Runs that were created from \`from\` to \`to\`, both included, by day, workflow and key: ` +
    `at most ${usageDays} days, the last 30 where nothing is said. Days are those of UTC. Of ` +
    `workflows and keys the ${usageRows} that cost most are named.`,
  HttpApiEndpoint.get("read", "/", { query: UsageQuery, success: UsageReport, error: BadRequest }),
)

/** `/usage`. */
export class UsageApi extends HttpApiGroup.make("usage")
  .add(read)
  .prefix("/usage")
  .annotateMerge(titled("Usage", "Credits: what there is and was used.")) {}
