/**
 * What operators send and are shown: accounts and keys as the domain has them. Nothing is left out
 * of a key, because of a secret there is nothing in it but the beginning.
 */
import { Account as StoredAccount } from "@millrace/core/domain/Account"
import { ApiKey } from "@millrace/core/domain/ApiKey"
import { PerDay, PerMinute } from "@millrace/core/domain/Quota"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { Schema } from "effect"
import { Identifier, isStorable } from "./Text.ts"

/** An account. */
export const Account = StoredAccount.annotate({ identifier: "Account" })
export type Account = typeof Account.Type

/** All accounts. */
export const Accounts = Schema.Struct({ items: Schema.Array(Account) }).annotate({
  identifier: "Accounts",
})

/** Body of making an account. */
export const CreateAccount = Schema.Struct({
  name: StoredAccount.fields.name.check(isStorable, Schema.isTrimmed()),
}).annotate({ identifier: "CreateAccount" })

/** Body of a change of an account: what is to be set. */
export const UpdateAccount = Schema.Struct({
  runsAtOnce: StoredAccount.fields.runsAtOnce.annotate({
    description:
      "Runs of the account that execute at the same time, anywhere, 1 to 1,000,000; more of them " +
      "stay QUEUED. `null` leaves it to the server's limits.",
  }),
}).annotate({ identifier: "UpdateAccount" })

/** An API key; never its secret (specification 2.8). */
export const Key = ApiKey.annotate({ identifier: "Key" })
export type Key = typeof Key.Type

/** The keys of an account. */
export const AccountKeys = Schema.Struct({ items: Schema.Array(Key) }).annotate({
  identifier: "Keys",
})

/** A key and, this once, its secret. */
export const CreatedKey = Schema.Struct({
  ...ApiKey.fields,
  secret: Schema.String.annotate({ description: "The whole key. It is never shown again." }),
}).annotate({ identifier: "CreatedKey" })
export type CreatedKey = typeof CreatedKey.Type

const label = Schema.String.check(isStorable).annotate({
  description: "1 to 100 characters; no two live keys of an account share a label, in any case.",
})
const perMinute = PerMinute.annotate({ description: "Requests a minute." })
const perDay = PerDay.annotate({ description: "Requests a day." })

/** Body of a change of a key: what is to be set. */
export const UpdateKey = Schema.Struct({
  label: Schema.optionalKey(label),
  perMinute: Schema.optionalKey(perMinute),
  perDay: Schema.optionalKey(perDay),
}).annotate({ identifier: "UpdateKey" })

/** Body of making a key. */
export const CreateKey = Schema.Struct({
  ...UpdateKey.fields,
  label,
  expiresAt: Schema.optionalKey(
    Timestamp.annotate({ description: "From when on the key is refused; never by default." }),
  ),
}).annotate({ identifier: "CreateKey" })

/** Path parameter `id` of an account. */
export const AccountParams = Schema.Struct({ id: Identifier })

/** Path parameters of a key of an account. */
export const KeyParams = Schema.Struct({ id: Identifier, keyId: Identifier })
