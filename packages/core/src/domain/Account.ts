/**
 * An account: the tenant. Workflows, runs and keys belong to exactly one account, and a foreign
 * identifier behaves exactly like an unknown one.
 *
 * Leaves out: people, roles and sign-in; those are the embedding product's.
 */
import { Schema } from "effect"
import { AccountId } from "./Id.ts"
import { isAtMost } from "./TextLength.ts"
import { Timestamp } from "./Timestamp.ts"

/** A tenant. */
export const Account = Schema.Struct({
  id: AccountId,
  name: Schema.String.check(Schema.isMinLength(1), isAtMost(120)),
  createdAt: Timestamp,
})
export type Account = typeof Account.Type
