/**
 * What `millrace webhooks` does.
 *
 * Guarantees: what was asked for is on standard output, alone; what is said about it is on standard
 * error. Secrets are printed by the command that is named after them, and by no other.
 */
import {
  AdminDeliveryDetail,
  AdminDeliveryItem,
  Redelivered,
  SigningSecrets,
} from "@millrace/api/AdminWebhookWire"
import type { Account } from "@millrace/core/domain/Account"
import type {
  DeliveryAttempt,
  DeliveryItem,
  DeliveryRecord,
  DeliveryState,
} from "@millrace/core/domain/Delivery"
import { DeliveryId, RunId } from "@millrace/core/domain/Id"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { format } from "@millrace/core/domain/Timestamp"
import type { SigningSecret } from "@millrace/core/engine/Webhooks"
import { Console, Effect, Redacted, Schema } from "effect"
import type { Target } from "../config/ConfigTarget.ts"
import { openWebhookAdmin } from "./OpenAdminTasks.ts"
import type { AdminTasks } from "./AdminTasks.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import { linesOf } from "../command/Table.ts"

/** The account that is meant: by its identifier, or by its name if no other has that. */
const accountMeant = Effect.fnUntraced(function* ({ listAccounts }: AdminTasks, reference: string) {
  const accounts = yield* listAccounts
  const byId = accounts.filter(({ id }) => id === reference)
  const [found, second] = byId.length > 0 ? byId : accounts.filter(({ name }) => name === reference)
  if (found !== undefined && second === undefined) return found
  const message =
    found === undefined
      ? `There is no account "${reference}"`
      : `Several accounts are called "${reference}": name it by its id`
  return yield* new CommandFailed({ message, reason: "failed" })
})

const idMeant = (tasks: AdminTasks, reference: string | undefined) =>
  reference === undefined
    ? Effect.succeed(undefined)
    : Effect.map(accountMeant(tasks, reference), (account: Account) => account.id)

const printJson = <A, I>(schema: Schema.Codec<A, I>, value: A) =>
  Console.log(JSON.stringify(Schema.encodeSync(schema)(value)))

const timeOf = (time: Timestamp | null): string => (time === null ? "" : format(time))

const columns = ["id", "state", "type", "attempts", "created", "next attempt", "url"]

const rowOf = (item: DeliveryItem): ReadonlyArray<string> => [
  item.id,
  item.state,
  item.type,
  String(item.attempts),
  format(item.createdAt),
  timeOf(item.nextAttemptAt),
  item.url,
]

/** Which deliveries are asked for. */
export interface ListRequest {
  /** By identifier or name. */
  readonly account: string | undefined
  readonly run: string | undefined
  readonly state: DeliveryState | undefined
  readonly limit: number
}

const Items = Schema.Struct({ items: Schema.Array(AdminDeliveryItem) })

/** `millrace webhooks list`: prints a table, or the deliveries as JSON. */
export const list = (target: Target, request: ListRequest, json: boolean) =>
  Effect.gen(function* () {
    const webhookAdmin = yield* openWebhookAdmin(target)
    const { limit, run, state } = request
    const account = yield* idMeant(webhookAdmin, request.account)
    const runId = run === undefined ? undefined : RunId.make(run)
    const items = yield* webhookAdmin.listDeliveries({ account, runId, state, limit })
    if (json) return yield* printJson(Items, { items })
    if (items.length === 0) return yield* Console.error("There are no deliveries")
    yield* Console.log(linesOf(columns, items.map(rowOf)).join("\n"))
  }).pipe(Effect.scoped)

/** What came of an attempt, for people. */
const outcomeOf = ({ error, status }: DeliveryAttempt): string =>
  status === null ? (error ?? "") : String(status)

const attemptColumns = ["attempt", "at", "ms", "outcome", "next attempt", "answer"]

const attemptRow = (attempt: DeliveryAttempt): ReadonlyArray<string> => [
  String(attempt.number),
  format(attempt.at),
  attempt.durationMillis === null ? "" : String(attempt.durationMillis),
  outcomeOf(attempt),
  timeOf(attempt.nextAt),
  JSON.stringify((attempt.answer ?? "").slice(0, 80)),
]

const describe = ({ attempts, body, item }: DeliveryRecord): string =>
  [
    ...linesOf(columns, [rowOf(item)]),
    "",
    body,
    ...(attempts.length === 0 ? [] : ["", ...linesOf(attemptColumns, attempts.map(attemptRow))]),
  ].join("\n")

/** `millrace webhooks show`: prints a delivery, what is sent, and every attempt. */
export const show = (target: Target, id: string, json: boolean) =>
  Effect.gen(function* () {
    const record = yield* (yield* openWebhookAdmin(target)).showDelivery(DeliveryId.make(id))
    const { attempts, body, item } = record
    if (!json) return yield* Console.log(describe(record))
    yield* printJson(AdminDeliveryDetail, { ...item, body, attemptLog: attempts })
  }).pipe(Effect.scoped)

/** `millrace webhooks resend` of one. */
export const resend = (target: Target, id: string, json: boolean) =>
  Effect.gen(function* () {
    const item = yield* (yield* openWebhookAdmin(target)).resend(DeliveryId.make(id))
    if (json) return yield* printJson(AdminDeliveryItem, item)
    yield* Console.error(`Delivery ${item.id} is sent again`)
    yield* Console.log(item.id)
  }).pipe(Effect.scoped)

/** `millrace webhooks resend` of all that failed. */
export const resendFailed = (
  target: Target,
  account: string | undefined,
  since: Timestamp,
  json: boolean,
) =>
  Effect.gen(function* () {
    const webhookAdmin = yield* openWebhookAdmin(target)
    const count = yield* webhookAdmin.resendFailed(yield* idMeant(webhookAdmin, account), since)
    if (json) return yield* printJson(Redelivered, { count })
    yield* Console.error("Failed deliveries that are sent again:")
    yield* Console.log(String(count))
  }).pipe(Effect.scoped)

/** `millrace webhooks test`: prints the delivery's identifier. */
export const test = (target: Target, account: string, url: string, json: boolean) =>
  Effect.gen(function* () {
    const webhookAdmin = yield* openWebhookAdmin(target)
    const { id } = yield* accountMeant(webhookAdmin, account)
    const delivery = yield* webhookAdmin.sendTest(id, { url })
    if (json) return yield* Console.log(JSON.stringify({ id: delivery }))
    yield* Console.error(`A test event is on its way; millrace webhooks show tells what came of it`)
    yield* Console.log(delivery)
  }).pipe(Effect.scoped)

const describeSecret = ({ expiresAt, id }: SigningSecret): string =>
  expiresAt === null ? `${id} signs` : `${id} signs until ${format(expiresAt)}`

/** `millrace webhooks secret`: prints the secrets that sign, after a rotation if one is asked. */
export const secret = (
  target: Target,
  account: string,
  rotation: { readonly overlapSeconds: number | undefined } | undefined,
  json: boolean,
) =>
  Effect.gen(function* () {
    const webhookAdmin = yield* openWebhookAdmin(target)
    const { id } = yield* accountMeant(webhookAdmin, account)
    const items = yield* rotation === undefined
      ? webhookAdmin.secrets(id)
      : webhookAdmin.rotateSecret(id, rotation.overlapSeconds)
    const shown = items.map((each) => ({ ...each, secret: Redacted.value(each.secret) }))
    if (json) return yield* printJson(SigningSecrets, { items: shown })
    for (const [index, each] of items.entries()) {
      yield* Console.error(describeSecret(each))
      yield* Console.log(shown[index]!.secret)
    }
  }).pipe(Effect.scoped)
