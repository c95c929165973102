/**
 * What `millrace accounts` does.
 *
 * Guarantees: what was asked for is on standard output, alone; what is said about it is on standard
 * error.
 */
import { Account, Accounts } from "@millrace/api/AdminWire"
import { Account as StoredAccount, RunsAtOnce } from "@millrace/core/domain/Account"
import type { AccountChange } from "@millrace/core/ports/KeyStore"
import { format } from "@millrace/core/domain/Timestamp"
import { mostRunsAtOnce } from "@millrace/core/domain/Limits"
import { Console, Effect, Schema } from "effect"
import type { Target } from "../config/ConfigTarget.ts"
import { open } from "./OpenAdminTasks.ts"
import type { AdminTasks } from "./AdminTasks.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import { linesOf } from "../command/Table.ts"

const isName = Schema.is(StoredAccount.fields.name)
const isRunsAtOnce = Schema.is(RunsAtOnce)

const refuse = (message: string) => Effect.fail(new CommandFailed({ message, reason: "failed" }))

/** The one account that is meant by an identifier or a name. */
const accountMeant = Effect.fnUntraced(function* ({ listAccounts }: AdminTasks, reference: string) {
  const all = yield* listAccounts
  const byId = all.filter(({ id }) => id === reference)
  const [found, second] = byId.length > 0 ? byId : all.filter(({ name }) => name === reference)
  if (found === undefined) return yield* refuse(`There is no account "${reference}"`)
  if (second === undefined) return found
  return yield* refuse(`Several accounts are called "${reference}": name the one by its id`)
})

/** The account of this name, made now if need be. Refused where the name will not do. */
export const make = Effect.fnUntraced(function* ({ createAccount }: AdminTasks, name: string) {
  if (isName(name)) return yield* createAccount(name)
  return yield* refuse("account: expected 1 to 120 characters")
})

/** `millrace accounts create`: prints the identifier, or the account as JSON. */
export const create = (target: Target, name: string, json: boolean) =>
  Effect.gen(function* () {
    const account = yield* make(yield* open(target), name)
    if (json) return yield* Console.log(JSON.stringify(Schema.encodeSync(Account)(account)))
    yield* Console.error(`Account "${account.name}"`)
    yield* Console.log(account.id)
  }).pipe(Effect.scoped)

const capSentence = ({ name, runsAtOnce }: StoredAccount): string =>
  runsAtOnce === null
    ? `Account "${name}" has no cap of its own; the limits of the servers hold`
    : `Account "${name}" has at most ${runsAtOnce} runs in progress`

/** `millrace accounts update`: prints the identifier, or the account as JSON. */
export const update = (target: Target, reference: string, change: AccountChange, json: boolean) =>
  Effect.gen(function* () {
    if (change.runsAtOnce !== null && !isRunsAtOnce(change.runsAtOnce)) {
      return yield* refuse(`runsAtOnce: expected 1 to ${mostRunsAtOnce}, or none`)
    }
    const tasks = yield* open(target)
    const { id } = yield* accountMeant(tasks, reference)
    const account = yield* tasks.updateAccount(id, change)
    if (json) return yield* Console.log(JSON.stringify(Schema.encodeSync(Account)(account)))
    yield* Console.error(capSentence(account))
    yield* Console.log(account.id)
  }).pipe(Effect.scoped)

/** `millrace accounts list`: prints a table, or all accounts as JSON. */
export const list = (target: Target, json: boolean) =>
  Effect.gen(function* () {
    const items = yield* (yield* open(target)).listAccounts
    if (json) return yield* Console.log(JSON.stringify(Schema.encodeSync(Accounts)({ items })))
    if (items.length === 0) return yield* Console.error("There are no accounts")
    const rows = items.map(({ createdAt, id, name, runsAtOnce }) => [
      id,
      name,
      format(createdAt),
      String(runsAtOnce ?? "none"),
    ])
    yield* Console.log(linesOf(["id", "name", "created", "runs at once"], rows).join("\n"))
  }).pipe(Effect.scoped)
