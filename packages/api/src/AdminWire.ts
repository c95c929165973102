/**
 * Accounts and keys on the wire of the admin interface: the domain's schemas, whole. A key holds
 * only the first characters of its secret, so all its fields may be shown.
 */
import { Account as StoredAccount } from "@millrace/core/domain/Account"
import { ApiKey } from "@millrace/core/domain/ApiKey"
import { PerDay, PerMinute } from "@millrace/core/domain/Quota"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { Schema } from "effect"
import { body, itemsOf, object, optional } from "./internal/Words.ts"
import { Identifier, isStorable } from "./Text.ts"

/** An account. */
export const Account = StoredAccount.annotate({ identifier: "Account" })
export type Account = typeof Account.Type

/** All accounts. */
export const Accounts = itemsOf("Accounts", Account)

/** Body of making an account. */
export const CreateAccount = body("CreateAccount", {
  name: StoredAccount.fields.name.check(isStorable, Schema.isTrimmed()),
})

/** Body of a change of an account: the fields to set. */
export const UpdateAccount = body("UpdateAccount", {
  runsAtOnce: StoredAccount.fields.runsAtOnce.annotate({
    description:
      "How many runs of the account may execute at the same time on all servers together, 1 to " +
      "1,000,000. Further runs stay QUEUED. `null`: only the servers' limits hold.",
  }),
})

/** An API key; never its secret (specification 2.8). */
export const Key = ApiKey.annotate({ identifier: "Key" })
export type Key = typeof Key.Type

/** The keys of an account. */
export const AccountKeys = itemsOf("Keys", Key)

/** A new key with its secret. Only the answer that makes a key has the secret. */
export const CreatedKey = object("CreatedKey", {
  ...ApiKey.fields,
  secret: Schema.String.annotate({ description: "The whole key. It is never shown again." }),
})
export type CreatedKey = typeof CreatedKey.Type

const label = Schema.String.check(isStorable).annotate({
  description: "1 to 100 characters; no two live keys of an account share a label, in any case.",
})
const perMinute = PerMinute.annotate({ description: "Requests a minute." })
const perDay = PerDay.annotate({ description: "Requests a day." })

/** Body of a change of a key: the fields to set. */
export const UpdateKey = body("UpdateKey", {
  label: Schema.optionalKey(label),
  perMinute: Schema.optionalKey(perMinute),
  perDay: Schema.optionalKey(perDay),
})

/** Body of making a key. */
export const CreateKey = body("CreateKey", {
  ...UpdateKey.fields,
  label,
  expiresAt: optional(Timestamp, "When the key expires; never by default."),
})

/** Path parameter `id` of an account. */
export const AccountParams = Schema.Struct({ id: Identifier })

/** Path parameters of a key of an account. */
export const KeyParams = Schema.Struct({ id: Identifier, keyId: Identifier })
