/**
 * The work of `millrace webhooks`. Only `millrace webhooks secret` prints secrets.
 */
import {
  AdminDeliveryDetail,
  AdminDeliveryItem,
  Redelivered,
  type SigningSecret,
  SigningSecrets,
} from "@millrace/api/AdminWebhookWire"
import type { DeliveryAttempt, DeliveryState } from "@millrace/core/domain/Delivery"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { format } from "@millrace/core/domain/Timestamp"
import { Console, Effect, Schema } from "effect"
import type { Admin, Session } from "./AdminSession.ts"
import { accountNamed, print, table } from "./AdminSession.ts"

/** The named account as a part of a query; no part if none is named. */
const ofAccount = (admin: Admin, reference: string | undefined) =>
  reference === undefined
    ? Effect.succeed({})
    : Effect.map(accountNamed(admin, reference), ({ id }) => ({ accountId: id }))

const timeOf = (time: Timestamp | null): string => (time === null ? "" : format(time))

const columns = {
  id: ({ id }: AdminDeliveryItem) => id,
  state: ({ state }: AdminDeliveryItem) => state,
  type: ({ type }: AdminDeliveryItem) => type,
  attempts: ({ attempts }: AdminDeliveryItem) => String(attempts),
  created: ({ createdAt }: AdminDeliveryItem) => format(createdAt),
  "next attempt": ({ nextAttemptAt }: AdminDeliveryItem) => timeOf(nextAttemptAt),
  url: ({ url }: AdminDeliveryItem) => url,
}

/** Which deliveries to list. */
export interface ListRequest {
  readonly runId?: string
  readonly state?: DeliveryState
  readonly limit: number
}

const Items = Schema.Struct({ items: Schema.Array(AdminDeliveryItem) })

/** `millrace webhooks list`: prints a table, or the deliveries as JSON. */
export const list = Effect.fnUntraced(function* (
  session: Session,
  account: string | undefined,
  request: ListRequest,
) {
  const admin = yield* session.open
  const query = { ...request, ...(yield* ofAccount(admin, account)) }
  const { items } = yield* admin.webhooks.list({ query })
  yield* print(session, Items, { items }, table(columns, items, "There are no deliveries"))
})

const attemptColumns = {
  attempt: ({ number }: DeliveryAttempt) => String(number),
  at: ({ at }: DeliveryAttempt) => format(at),
  ms: ({ durationMillis }: DeliveryAttempt) => String(durationMillis ?? ""),
  outcome: ({ error, status }: DeliveryAttempt) => String(status ?? error ?? ""),
  "next attempt": ({ nextAt }: DeliveryAttempt) => timeOf(nextAt),
  answer: ({ answer }: DeliveryAttempt) => JSON.stringify((answer ?? "").slice(0, 80)),
}

/** `millrace webhooks show`: prints a delivery, its body and every attempt. */
export const show = Effect.fnUntraced(function* (session: Session, id: string) {
  const found = yield* (yield* session.open).webhooks.get({ params: { id } })
  const { lines = [] } = table(columns, [found], "")
  const { lines: attempts } = table(attemptColumns, found.attemptLog, "")
  const log = attempts === undefined ? [] : ["", ...attempts]
  yield* print(session, AdminDeliveryDetail, found, { lines: [...lines, "", found.body, ...log] })
})

/** `millrace webhooks resend` of one. */
export const resend = Effect.fnUntraced(function* (session: Session, id: string) {
  const item = yield* (yield* session.open).webhooks.redeliver({ params: { id } })
  const text = { said: `Delivery ${item.id} is sent again`, lines: [item.id] }
  yield* print(session, AdminDeliveryItem, item, text)
})

/** `millrace webhooks resend` of all that failed. */
export const resendFailed = Effect.fnUntraced(function* (
  session: Session,
  account: string | undefined,
  since: Timestamp,
) {
  const admin = yield* session.open
  const payload = { since, ...(yield* ofAccount(admin, account)) }
  const resent = yield* admin.webhooks.redeliverFailed({ payload })
  const said = "Failed deliveries that are sent again:"
  yield* print(session, Redelivered, resent, { said, lines: [String(resent.count)] })
})

const Sent = Schema.Struct({ id: Schema.String })

/** `millrace webhooks test`: prints the delivery's identifier. */
export const test = Effect.fnUntraced(function* (session: Session, account: string, url: string) {
  const admin = yield* session.open
  const { id } = yield* accountNamed(admin, account)
  const sent = yield* admin.webhooks.test({ params: { id }, payload: { url } })
  const said = "A test event is stored; millrace webhooks show prints its attempts"
  yield* print(session, Sent, sent, { said, lines: [sent.id] })
})

const describeSecret = ({ expiresAt, id }: SigningSecret): string =>
  expiresAt === null ? `${id} signs` : `${id} signs until ${format(expiresAt)}`

/** `millrace webhooks secret`: prints the secrets that sign. Rotates first if asked to. */
export const secret = Effect.fnUntraced(function* (
  session: Session,
  account: string,
  rotation: { readonly overlapSeconds?: number } | undefined,
) {
  const admin = yield* session.open
  const { id } = yield* accountNamed(admin, account)
  const params = { id }
  const found = yield* rotation === undefined
    ? admin.webhooks.secrets({ params })
    : admin.webhooks.rotate({ params, payload: rotation })
  if (session.json) return yield* print(session, SigningSecrets, found, {})
  for (const each of found.items) {
    yield* Console.error(describeSecret(each))
    yield* Console.log(each.secret)
  }
})
