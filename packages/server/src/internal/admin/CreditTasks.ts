/**
 * What `millrace credits` and `millrace doctor` do.
 *
 * Guarantees: what was asked for is on standard output, alone; what is said about it is on standard
 * error. What no server would take is refused before anything is opened, in the server's words.
 */
import {
  AccountCredits,
  AuditReport,
  CreateAdjustment,
  CreateGrant,
  Entry,
  Grant,
  SetMetering,
} from "@millrace/api/AdminCreditsWire"
import { sentenceOf } from "@millrace/api/Sentence"
import type { Account } from "@millrace/core/domain/Account"
import { toNumber } from "@millrace/core/domain/Credits"
import type { NumberedEntry } from "@millrace/core/domain/Ledger"
import { availableOf, nodeOf } from "@millrace/core/domain/Ledger"
import { csvHead, csvLineOf } from "@millrace/core/domain/StatementCsv"
import { format } from "@millrace/core/domain/Timestamp"
import { Console, Effect, Schema, Stream } from "effect"
import type { Target } from "../config/ConfigTarget.ts"
import type { Credits } from "./CreditAdmin.ts"
import { open } from "./OpenAdminTasks.ts"
import { tell } from "./QuarantineTasks.ts"
import type { AdminTasks } from "./AdminTasks.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import { linesOf } from "../command/Table.ts"

const refuse = (message: string) => new CommandFailed({ message, reason: "failed" })

/** What was typed, as a server reads it. */
const decode = <A>(schema: Schema.Codec<A, unknown>, typed: object) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(typed, { errors: "all" }), ({ issue }) =>
    refuse(sentenceOf(issue, "credits")),
  )

const print = <A, I>(schema: Schema.Codec<A, I>, value: A) =>
  Console.log(JSON.stringify(Schema.encodeSync(schema)(value)))

/** The account that is meant, by its identifier or its name: then the oldest of that name. */
const accountMeant = Effect.fnUntraced(function* ({ listAccounts }: AdminTasks, reference: string) {
  const all = yield* listAccounts
  const found = all.find(({ id, name }) => id === reference || name === reference)
  return found ?? (yield* refuse(`There is no account "${reference}"`))
})

const sayBalance = ({ name }: Account, { account }: Credits) => {
  const [available, reserved] = [account.posted - account.reserved, account.reserved].map(toNumber)
  const metering = account.metered ? "metered" : "not metered"
  return Console.error(
    `Account "${name}" is ${metering}: ${available} credits available, ${reserved} reserved`,
  )
}

const grantColumns = ["grant", "amount", "remaining", "priority", "expires", "actor", "reason"]

const grantRow = (grant: typeof Grant.Type): ReadonlyArray<string> => [
  grant.id,
  String(toNumber(grant.amount)),
  String(toNumber(grant.remaining)),
  String(grant.priority),
  grant.expiresAt === null ? "never" : format(grant.expiresAt),
  grant.actor,
  grant.reason,
]

/** `millrace credits show`: what an account has, and of which grants. */
export const show = (target: Target, reference: string, json: boolean) =>
  Effect.gen(function* () {
    const tasks = yield* open(target)
    const account = yield* accountMeant(tasks, reference)
    const found = yield* tasks.credits.find(account.id)
    const { grants } = found
    const { metered, posted, reserved } = found.account
    const available = availableOf({ accountId: account.id, dueAt: null, ...found.account })
    const balance = { metered, posted, reserved, available }
    if (json) return yield* print(AccountCredits, { balance, grants })
    yield* sayBalance(account, found)
    if (grants.length === 0) return
    yield* Console.log(linesOf(grantColumns, grants.map(grantRow)).join("\n"))
  }).pipe(Effect.scoped)

/** What was typed of a operation; what it does is checked with it. */
export interface TypedOperation {
  readonly id?: string
  readonly actor: string
  readonly reason: string
}

/** `millrace credits grant`: prints the name of the grant. */
export const grant = (
  target: Target,
  reference: string,
  typed: TypedOperation & { readonly amount: number; readonly priority?: number },
  json: boolean,
) =>
  Effect.gen(function* () {
    const wanted = yield* decode(CreateGrant, typed)
    const tasks = yield* open(target)
    const account = yield* accountMeant(tasks, reference)
    const made = yield* tasks.credits.grant(account.id, wanted)
    if (json) return yield* print(Grant, made)
    yield* sayBalance(account, yield* tasks.credits.find(account.id))
    yield* Console.log(made.id)
  }).pipe(Effect.scoped)

/** What one entry is called, or the entry as JSON; and what there is now. */
const printDone = Effect.fnUntraced(function* (
  { credits }: AdminTasks,
  account: Account,
  entry: NumberedEntry,
  json: boolean,
) {
  if (json) return yield* print(Entry, entry)
  yield* sayBalance(account, yield* credits.find(account.id))
  yield* Console.log(entry.part)
})

/** `millrace credits adjust`. */
export const adjust = (
  target: Target,
  reference: string,
  typed: TypedOperation & { readonly amount: number },
  json: boolean,
) =>
  Effect.gen(function* () {
    const wanted = yield* decode(CreateAdjustment, typed)
    const tasks = yield* open(target)
    const account = yield* accountMeant(tasks, reference)
    const entry = yield* tasks.credits.adjust(account.id, wanted)
    yield* printDone(tasks, account, entry, json)
  }).pipe(Effect.scoped)

/** `millrace credits meter`. */
export const meter = (
  target: Target,
  reference: string,
  typed: TypedOperation & { readonly metered: boolean },
  json: boolean,
) =>
  Effect.gen(function* () {
    const { metered, ...operation } = yield* decode(SetMetering, typed)
    const tasks = yield* open(target)
    const account = yield* accountMeant(tasks, reference)
    const entry = yield* tasks.credits.meter(account.id, operation, metered)
    yield* printDone(tasks, account, entry, json)
  }).pipe(Effect.scoped)

const entryColumns = ["number", "at", "kind", "posted", "reserved", "run", "node", "by", "reason"]

const entryRow = (entry: NumberedEntry): ReadonlyArray<string> => [
  String(entry.number),
  format(entry.at),
  entry.kind,
  String(toNumber(entry.posted)),
  String(toNumber(entry.reserved)),
  entry.runId ?? "-",
  nodeOf(entry) ?? "-",
  entry.actor ?? "-",
  entry.reason ?? "-",
]

/** How a statement is printed. */
export type StatementForm = "table" | "csv" | "json"

/** `millrace credits statement`: the newest entries, or all of them as CSV. */
export const statement = (target: Target, reference: string, limit: number, form: StatementForm) =>
  Effect.gen(function* () {
    const tasks = yield* open(target)
    const account = yield* accountMeant(tasks, reference)
    const entries = tasks.credits.entries(account.id)
    if (form === "csv") {
      yield* Console.log(csvHead.trimEnd())
      return yield* Stream.runForEach(entries, (entry) => Console.log(csvLineOf(entry).trimEnd()))
    }
    const items = yield* Stream.runCollect(Stream.take(entries, limit))
    if (form === "json") return yield* print(Schema.Array(Entry), items)
    if (items.length === 0) return yield* Console.error("There are no entries")
    yield* Console.log(linesOf(entryColumns, items.map(entryRow)).join("\n"))
  }).pipe(Effect.scoped)

/** `millrace doctor`: checks all ledgers, and fails where something does not add up. */
export const doctor = (target: Target, json: boolean) =>
  Effect.gen(function* () {
    const tasks = yield* open(target)
    const { clockProblem, credits } = tasks
    const clock = yield* clockProblem
    if (clock !== undefined) yield* Console.error(clock)
    yield* tell(tasks)
    const report = yield* credits.audit
    const { accounts, discrepancies } = report
    if (json) yield* print(AuditReport, report)
    else {
      for (const { accountId, message } of discrepancies) {
        yield* Console.log(`${accountId}: ${message}`)
      }
    }
    const read = `read the credits of ${accounts} ${accounts === 1 ? "account" : "accounts"}`
    if (discrepancies.length === 0) return yield* Console.error(`All credits add up: ${read}`)
    const count = discrepancies.length === 1 ? "one thing" : `${discrepancies.length} things`
    return yield* refuse(`Found ${count} that do not add up: ${read}`)
  }).pipe(Effect.scoped)
