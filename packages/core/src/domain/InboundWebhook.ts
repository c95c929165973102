/**
 * Inbound webhooks: an address at which another system starts runs of a workflow.
 *
 * Guarantees: of the address only a hash is kept. What is named of a request is never a header that
 * carries credentials. Leaves out: checking a request, and what becomes of it.
 */
import { Schema } from "effect"
import { AccountId, TriggerId, WorkflowId } from "./Id.ts"
import type { Json } from "./Json.ts"
import { JsonObject } from "./Json.ts"
import {
  fieldsPerWebhook,
  networksPerWebhook,
  placeLength,
  toleranceSeconds as mostToleranceSeconds,
  webhookCheckLength,
} from "./Limits.ts"
import { SecretName } from "./Secret.ts"
import { isAtMost } from "./TextLength.ts"
import { Timestamp } from "./Timestamp.ts"
import { Webhook } from "./Webhook.ts"
import { TriggerVersion } from "./WorkflowVersion.ts"

/** The prefix of the part of an address that nobody can guess. */
export const addressPrefix = "mrh_"

const HeaderName = Schema.String.check(
  isAtMost(webhookCheckLength),
  Schema.isPattern(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, {
    expected: "the name of a header in lower case",
  }),
)

const optional = Schema.optionalKey

const toleranceSeconds = optional(
  Schema.Int.check(
    Schema.isBetween(
      { minimum: 1, maximum: mostToleranceSeconds },
      { expected: `a whole number of seconds from 1 to ${mostToleranceSeconds}` },
    ),
  ),
)

/** Whoever knows the address may send. */
const NoCheck = Schema.Struct({ type: Schema.Literal("none") })

/** `Authorization: Bearer` with the value of a secret of the account. */
const BearerCheck = Schema.Struct({ type: Schema.Literal("bearer"), secret: SecretName })

/** A header has an HMAC of the body, with the value of a secret of the account as the key. */
const HmacCheck = Schema.Struct({
  type: Schema.Literal("hmac"),
  secret: SecretName,
  header: HeaderName,
  /** `sha256` by default. */
  algorithm: optional(Schema.Literals(["sha256", "sha512", "sha1"])),
  /** `hex` by default. */
  encoding: optional(Schema.Literals(["hex", "base64"])),
  /** What stands before the signature, such as `sha256=`; nothing by default. */
  prefix: optional(Schema.String.check(isAtMost(webhookCheckLength))),
  /** The header with the seconds since 1970 at which the request was signed. */
  timestampHeader: optional(HeaderName),
  /** What is signed: a text with `{body}`, and `{timestamp}` where there is a header with it. */
  signed: optional(Schema.String.check(isAtMost(webhookCheckLength))),
  /** By how many seconds that time may differ; 300 by default. */
  toleranceSeconds,
})
export type HmacCheck = typeof HmacCheck.Type

/** The headers of Standard Webhooks, with the value of a secret of the account, `whsec_...`. */
const StandardCheck = Schema.Struct({
  type: Schema.Literal("standard"),
  secret: SecretName,
  toleranceSeconds,
})

/** How a request shows that it comes from its sender. */
export const WebhookCheck = Schema.Union([NoCheck, BearerCheck, HmacCheck, StandardCheck])
export type WebhookCheck = typeof WebhookCheck.Type

const secretive = "(?:proxy-)?authorization$|cookie$|.*(?:signature|token|secret|api-?key|password)"

/** The names of headers that carry credentials, in lower case. */
export const credentials = new RegExp(`^(?:${secretive})`)

/** Places of a request, and no header that carries credentials: no run gets their values. */
const placePattern = new RegExp(
  `^(?:body(?:\\.[^.]+)*|query\\.[^.]+|method|headers\\.(?!${secretive})[a-z0-9_-]+)$`,
)

const placeForm =
  "body, body.a.b, query.name, method or headers.name in lower case, and no header with credentials"

/** Where a value of a run stands in a request: `body.order.id`, `headers.x-github-event`. */
const Place = Schema.String.check(
  isAtMost(placeLength),
  Schema.isPattern(placePattern, { expected: placeForm }),
)

const placeInText = /\{\{\s*([^{}]*?)\s*\}\}/g

/** The places that a text names: `{{ body.order.id }}:{{ body.status }}`. */
export const placesIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(placeInText), ([, place = ""]) => place)

/** The text with values in the place of their places; `undefined` if a value is absent. */
export const withPlaces = (
  text: string,
  valueAt: (place: string) => Json | undefined,
): string | undefined => {
  const values = new Map(placesIn(text).map((place) => [place, valueAt(place)]))
  if ([...values.values()].includes(undefined)) return undefined
  return text.replaceAll(placeInText, (_, place: string) => {
    const value = values.get(place)!
    return typeof value === "string" ? value : JSON.stringify(value)
  })
}

/** A text with places of a request, at least one. */
const TextWithPlaces = Schema.String.check(
  isAtMost(webhookCheckLength),
  Schema.makeFilter(
    (text: string) => {
      const places = placesIn(text)
      const isRead = !/[{}]{2}/.test(text.replaceAll(placeInText, ""))
      return isRead && places.length > 0 && places.every((place) => placePattern.test(place))
    },
    { expected: `a text with places such as {{ body.order.id }}; a place is ${placeForm}` },
  ),
)

/** The methods that an inbound webhook may answer. */
const webhookMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const

/** What its owner sets of an inbound webhook. */
export const WebhookSettings = Schema.Struct({
  methods: Schema.Array(Schema.Literals(webhookMethods)).check(
    Schema.isMinLength(1, { expected: "at least one method" }),
    Schema.isMaxLength(webhookMethods.length, { expected: "each method once" }),
  ),
  verify: WebhookCheck,
  /** The networks, such as `192.0.2.0/24`, from which requests may come; `null`: from all. */
  networks: Schema.NullOr(
    Schema.Array(Schema.String).check(
      Schema.isMinLength(1, { expected: "at least one network" }),
      Schema.isMaxLength(networksPerWebhook, {
        expected: `at most ${networksPerWebhook} networks`,
      }),
    ),
  ),
  /** `at_once`: the run's id. `output`: its output, if it ends within 30 seconds. */
  respond: Schema.Literals(["at_once", "output"]),
  /** The place of each value of a run, by field; `null`: fields of the body, by their names. */
  into: Schema.NullOr(
    Schema.Record(Schema.String, Place).check(
      Schema.isMaxProperties(fieldsPerWebhook, { expected: `at most ${fieldsPerWebhook} fields` }),
    ),
  ),
  /** Requests with the same value of this header start one run within 24 hours. */
  dedupeHeader: Schema.NullOr(HeaderName),
  /**
   * The same for requests of which this text gives the same: `{{ body.order.id }}`. A request in
   * which a place has no value is told apart by nothing.
   */
  dedupeBy: Schema.NullOr(TextWithPlaces),
  /** The values of its runs; what a request brings goes before them. */
  values: JsonObject,
  version: TriggerVersion,
  enabled: Schema.Boolean,
})
export type WebhookSettings = typeof WebhookSettings.Type

/** What holds of webhooks that were stored before anybody could say it. */
export const webhookDefaults = { dedupeBy: null, version: null, webhook: null } as const

/** An inbound webhook. */
export const InboundWebhook = Schema.Struct({
  id: TriggerId,
  accountId: AccountId,
  workflowId: WorkflowId,
  type: Schema.Literal("webhook"),
  ...WebhookSettings.fields,
  /** The webhook of its runs; `null`: none. */
  webhook: Schema.NullOr(Webhook),
  /** The SHA-256 of the part of its address that nobody can guess, in hexadecimal. */
  addressHash: Schema.String,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  /** Raised by every change; a write with an older one is refused. */
  fence: Schema.Int,
})
export type InboundWebhook = typeof InboundWebhook.Type
