/**
 * What `millrace accounts` does.
 *
 * Guarantees: what was asked for is on standard output, alone; what is said about it is on standard
 * error.
 */
import { Account, Accounts } from "@millrace/api/AdminWire"
import { Account as StoredAccount } from "@millrace/core/domain/Account"
import { format } from "@millrace/core/domain/Timestamp"
import { Console, Effect, Schema } from "effect"
import type { Target } from "./ConfigTarget.ts"
import { open } from "./OpenRegistry.ts"
import type { Registry } from "./Registry.ts"
import { StartRefused } from "./StartRefused.ts"
import { linesOf } from "./Table.ts"

const isName = Schema.is(StoredAccount.fields.name)

/** The account of this name, made now if need be. Refused where the name will not do. */
export const make = Effect.fnUntraced(function* ({ createAccount }: Registry, name: string) {
  if (isName(name)) return yield* createAccount(name)
  const message = "account: expected 1 to 120 characters"
  return yield* new StartRefused({ message, reason: "failed" })
})

/** `millrace accounts create`: prints the identifier, or the account as JSON. */
export const create = (target: Target, name: string, json: boolean) =>
  Effect.gen(function* () {
    const account = yield* make(yield* open(target), name)
    if (json) return yield* Console.log(JSON.stringify(Schema.encodeSync(Account)(account)))
    yield* Console.error(`Account "${account.name}"`)
    yield* Console.log(account.id)
  }).pipe(Effect.scoped)

/** `millrace accounts list`: prints a table, or all accounts as JSON. */
export const list = (target: Target, json: boolean) =>
  Effect.gen(function* () {
    const items = yield* (yield* open(target)).listAccounts
    if (json) return yield* Console.log(JSON.stringify(Schema.encodeSync(Accounts)({ items })))
    if (items.length === 0) return yield* Console.error("There are no accounts")
    const rows = items.map(({ createdAt, id, name }) => [id, name, format(createdAt)])
    yield* Console.log(linesOf(["id", "name", "created"], rows).join("\n"))
  }).pipe(Effect.scoped)
