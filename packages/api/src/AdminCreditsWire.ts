/**
 * Credits on the wire of the admin interface: balances, grants, and the ledger.
 *
 * Guarantees: an amount has at most six decimals and is within its bounds. Every operation names an
 * actor and a reason.
 */
import { Amount, SignedAmount } from "@millrace/core/domain/Credits"
import { Grant as StoredGrant } from "@millrace/core/domain/Grant"
import { Entry as StoredEntry } from "@millrace/core/domain/Ledger"
import { entriesPerStatement, grantPriority } from "@millrace/core/domain/Limits"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { Schema } from "effect"
import { body, object, optional } from "./internal/Words.ts"
import { integerText } from "./PageQuery.ts"
import { isStorable } from "./Text.ts"
import { Balance } from "./UsageApi.ts"

/** Text that the ledger keeps. */
const text = (maximum: number, description: string) =>
  Schema.String.check(
    Schema.isTrimmed(),
    Schema.isMinLength(1, { expected: `1 to ${maximum} characters` }),
    Schema.isMaxCodePoints(maximum, { expected: `1 to ${maximum} characters` }),
    isStorable,
  ).annotate({ description })

const operation = {
  id: Schema.optionalKey(
    text(200, "An id of your choice. Repeating the operation with the same id changes nothing."),
  ),
  actor: text(200, "Who does this; the ledger keeps it."),
  reason: text(500, "Why it is done; the ledger keeps it."),
}

const isSomething = Schema.makeFilter((micro: number) => micro !== 0, {
  expected: "an amount other than 0",
})

/** Body of a grant. */
export const CreateGrant = body("CreateGrant", {
  ...operation,
  amount: Amount.check(isSomething),
  priority: optional(
    Schema.Int.check(
      Schema.isBetween(
        { minimum: 0, maximum: grantPriority },
        { expected: `an integer from 0 to ${grantPriority}` },
      ),
    ),
    "Grants with a lower number are used first; 0 by default.",
  ),
  expiresAt: optional(Timestamp, "When the grant's unused credits expire."),
})

/** Body of a correction. */
export const CreateAdjustment = body("CreateAdjustment", {
  ...operation,
  amount: SignedAmount.check(isSomething),
})

/** Body of turning metering on or off. */
export const SetMetering = body("SetMetering", { ...operation, metered: Schema.Boolean })

/** A grant. */
export const Grant = StoredGrant.annotate({ identifier: "Grant" })

/** One line of the ledger. */
export const Entry = object("Entry", { ...StoredEntry.fields, number: Schema.Int })

/** An account's balance and grants. */
export const AccountCredits = object("AccountCredits", {
  balance: Balance,
  grants: Schema.Array(Grant).annotate({ description: "The grants that have credits left." }),
})
export type AccountCredits = typeof AccountCredits.Type

/** Query of a statement: `limit` entries before the entry `before`, or the newest ones. */
export const StatementQuery = Schema.Struct({
  before: Schema.optionalKey(integerText(1, Number.MAX_SAFE_INTEGER)),
  limit: Schema.optionalKey(integerText(1, entriesPerStatement)),
})
export type StatementQuery = typeof StatementQuery.Type

/** Entries, newest first. */
export const Statement = object("Statement", {
  items: Schema.Array(Entry),
  nextBefore: Schema.NullOr(Schema.Int).annotate({
    description: "The `before` of the entries that follow; `null` at the end.",
  }),
})

/** What an audit found. */
export const AuditReport = object("AuditReport", {
  accounts: Schema.Int.annotate({ description: "How many accounts were read." }),
  discrepancies: Schema.Array(
    Schema.Struct({ accountId: Schema.String, message: Schema.String }),
  ).annotate({ description: "What does not add up; empty if all is well." }),
})
