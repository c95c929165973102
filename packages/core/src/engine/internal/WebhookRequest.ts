/**
 * A request to the address of an inbound webhook, as the engine judges it: what is checked, and
 * which values of a run it brings. Pure.
 */
import type { InboundWebhook } from "../../domain/InboundWebhook.ts"
import { withPlaces } from "../../domain/InboundWebhook.ts"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { isJsonObject } from "../../domain/Json.ts"
import type { RequestField } from "../../graph/Request.ts"

/** The text of each name; a name that is there more than once has a list. */
export type TextParts = Readonly<Record<string, string | ReadonlyArray<string>>>

/** What was sent, before its body is read. */
export interface WebhookRequest {
  readonly method: string
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly query: TextParts
  /** The bytes as they came. */
  readonly body: Uint8Array
}

/** A body that was read. Of a form and of a query, all values are texts. */
export type WebhookBody =
  | { readonly _tag: "Json"; readonly value: Json }
  | { readonly _tag: "Texts"; readonly value: TextParts }

/** The value at a path below a JSON value; `undefined` if there is none. */
export const below = (value: Json | TextParts, path: ReadonlyArray<string>): Json | undefined => {
  let at: Json | undefined = value
  for (const part of path) {
    if (Array.isArray(at))
      at = /^\d{1,6}$/.test(part) ? (at as Array<Json>)[Number(part)] : undefined
    else at = isJsonObject(at) && Object.hasOwn(at, part) ? at[part] : undefined
    if (at === undefined) return undefined
  }
  return at
}

/** The value at a place such as `body.order.id`. */
const valueAt = (place: string, request: WebhookRequest, body: WebhookBody): Json | undefined => {
  const [part, ...path] = place.split(".")
  switch (part) {
    case "method":
      return request.method
    case "headers":
      return request.headers[path.join(".")]
    case "query":
      return below(request.query, path)
    default:
      return below(body.value, path)
  }
}

/** What tells a request apart from others of its webhook; `undefined`: nothing does. */
export const nameOf = (
  { dedupeBy, dedupeHeader }: Pick<InboundWebhook, "dedupeBy" | "dedupeHeader">,
  request: WebhookRequest,
  body: WebhookBody,
): string | undefined => {
  if (dedupeHeader !== null) return request.headers[dedupeHeader]
  return dedupeBy === null
    ? undefined
    : withPlaces(dedupeBy, (place) => valueAt(place, request, body))
}

/** Of a text, what a field of this type takes it for; the text itself if that is nothing. */
const typed = (type: RequestField["type"] | undefined, text: Json): Json => {
  if (typeof text !== "string") return text
  if (type === "number" && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text)
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true"
  return text
}

/**
 * The values of a run that a request brings: those at the places that the webhook names, or else
 * the fields of the body that the workflow declares; all of them, if it declares none. What is
 * absent in the request is absent here. `undefined`: the body has no fields, and no place is named.
 */
export const valuesOf = (
  { into, values }: Pick<InboundWebhook, "into" | "values">,
  fields: ReadonlyArray<RequestField>,
  request: WebhookRequest,
  body: WebhookBody,
): JsonObject | undefined => {
  const types = new Map(fields.map(({ name, type }) => [name, type]))
  const brought = into === null ? fieldsOf(fields, body) : placed(into, request, body)
  if (brought === undefined) return undefined
  const own = brought.map(([name, { isText, value }]) => {
    return [name, isText ? typed(types.get(name), value) : value] as const
  })
  return { ...values, ...Object.fromEntries(own) }
}

/** Values by field, and whether they came as texts. */
type Brought = ReadonlyArray<
  readonly [name: string, { readonly value: Json; readonly isText: boolean }]
>

const placed = (
  into: Readonly<Record<string, string>>,
  request: WebhookRequest,
  body: WebhookBody,
): Brought =>
  Object.entries(into).flatMap(([name, place]) => {
    const value = valueAt(place, request, body)
    const isText = !place.startsWith("body") || body._tag === "Texts"
    return value === undefined ? [] : [[name, { value, isText }] as const]
  })

const fieldsOf = (
  fields: ReadonlyArray<RequestField>,
  { _tag, value }: WebhookBody,
): Brought | undefined => {
  if (!isJsonObject(value)) return undefined
  const names = fields.length === 0 ? Object.keys(value) : fields.map(({ name }) => name)
  const isText = _tag === "Texts"
  return names
    .filter((name) => Object.hasOwn(value, name))
    .map((name) => [name, { value: value[name]!, isText }] as const)
}
