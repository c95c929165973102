/**
 * The test of an inbound webhook: an address of its own, for a while, at which requests are judged
 * as at the other one, and start nothing. What arrived there is kept for the owner.
 *
 * Guarantees: a kept request has no value of a header that carries credentials, and no body of a
 * sender who did not show who it is. Leaves out: judging requests.
 */
import { Schema } from "effect"
import { credentials } from "./InboundWebhook.ts"
import { JsonObject } from "./Json.ts"
import { keptRequestHeaderLength, keptRequestHeaders, keptRequestLength } from "./Limits.ts"
import { Timestamp } from "./Timestamp.ts"

/** The prefix of the part of a test address that nobody can guess. */
export const testPrefix = "mrt_"

/** What takes the place of a value that is not kept. */
export const notKept = "(not kept)"

/** A request that arrived at a test address. */
export const ReceivedRequest = Schema.Struct({
  at: Timestamp,
  method: Schema.String,
  /** The beginning of what is behind the question mark of its address. */
  query: Schema.String,
  /** By names in lower case. Of those that carry credentials only the name is there. */
  headers: Schema.Record(Schema.String, Schema.String),
  /** The beginning of its body; `null` if it was refused before its body was trusted. */
  body: Schema.NullOr(Schema.String),
  /** The values that its run would have got; `null` if it was refused, or they are large. */
  values: Schema.NullOr(JsonObject),
  /** Why it would have started no run, in one sentence; `null` if it would have. */
  refused: Schema.NullOr(Schema.String),
})
export type ReceivedRequest = typeof ReceivedRequest.Type

/** A test as its owner sees it. */
export interface WebhookTest {
  /** When the address stops answering; `null` if there is no test. */
  readonly expiresAt: Timestamp | null
  /** The last ones, the newest first. */
  readonly requests: ReadonlyArray<ReceivedRequest>
}

/** The headers of a request, as they are kept. */
export const keptHeaders = (
  headers: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers)
      .slice(0, keptRequestHeaders)
      .flatMap(([name, value]) => {
        if (value === undefined) return []
        const kept = credentials.test(name) ? notKept : value.slice(0, keptRequestHeaderLength)
        return [[name, kept] as const]
      }),
  )

/** The beginning of a body, as text. */
export const keptBody = (bytes: Uint8Array): string =>
  new TextDecoder().decode(bytes.subarray(0, keptRequestLength))

/** Values that are not too large to be kept. */
export const keptValues = (values: JsonObject): JsonObject | null =>
  JSON.stringify(values).length <= keptRequestLength ? values : null
