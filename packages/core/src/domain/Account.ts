/**
 * An account: the tenant. Workflows, runs and keys belong to exactly one account, and a foreign
 * identifier behaves exactly like an unknown one.
 *
 * Leaves out: people, roles and sign-in; the embedding product has those.
 */
import { Schema } from "effect"
import { AccountId } from "./Id.ts"
import { accountNameLength, mostRunsAtOnce } from "./Limits.ts"
import { isAtMost } from "./TextLength.ts"
import { Timestamp } from "./Timestamp.ts"

/** How many runs of one account may execute at once, on all servers together: 1 to 1,000,000. */
export const RunsAtOnce = Schema.Int.check(
  Schema.isBetween(
    { minimum: 1, maximum: mostRunsAtOnce },
    { expected: `a whole number from 1 to ${mostRunsAtOnce}` },
  ),
)

/** A tenant. */
export const Account = Schema.Struct({
  id: AccountId,
  name: Schema.String.check(
    Schema.isMinLength(1, { expected: `1 to ${accountNameLength} characters` }),
    isAtMost(accountNameLength, `1 to ${accountNameLength} characters`),
  ),
  createdAt: Timestamp,
  /** The account's own cap, which replaces the limit `runsPerAccount`; `null` if it has none. */
  runsAtOnce: Schema.NullOr(RunsAtOnce),
})
export type Account = typeof Account.Type
