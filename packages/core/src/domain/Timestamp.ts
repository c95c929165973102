/**
 * Points in time. In code, a time is a number: milliseconds since the epoch, which pure code can
 * compare and add. On the wire it is ISO 8601 in UTC with milliseconds.
 *
 * Leaves out: reading the clock. A function that needs `now` has a parameter for it.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"

/** Milliseconds since the epoch, an integer. */
export type Timestamp = number

export const minuteMillis = 60_000
export const dayMillis = 86_400_000

/** The beginning of the day of a time, in UTC. */
export const dayOf = (time: Timestamp): Timestamp => time - (time % dayMillis)

/** The last possible time: the end of a wait that only a message ends. */
export const never: Timestamp = 8_640_000_000_000_000

const isoDay = /^(?:\d{4}|[+-]\d{6})-\d\d-(\d\d)(?=T|$)/

/**
 * The time of a text in ISO 8601; `undefined` if it is none. `Date.parse` alone would also read
 * "5 minutes", as a day in 2001, and 31 February, as a day in March.
 */
export const timeOf = (text: string): Timestamp | undefined => {
  const [day, ofMonth] = isoDay.exec(text) ?? []
  if (day === undefined || new Date(day).getUTCDate() !== Number(ofMonth)) return undefined
  const millis = Date.parse(text)
  return Number.isNaN(millis) ? undefined : millis
}

const parse = (text: string) => {
  const millis = timeOf(text)
  return millis === undefined
    ? Effect.fail(new SchemaIssue.InvalidValue({ message: "Expected an ISO 8601 time" }, text))
    : Effect.succeed(millis)
}

/** The last second that was written: nodes of a run often begin and end in one. */
const last = { second: Number.NaN, text: "" }

/** ISO 8601 text, UTC, with milliseconds: `2026-01-31T09:30:00.000Z`. */
export const format = (millis: Timestamp): string => {
  const second = Math.floor(millis / 1_000)
  if (second !== last.second) {
    last.text = new Date(second * 1_000).toISOString().slice(0, -"000Z".length)
    last.second = second
  }
  return `${last.text}${String(Math.floor(millis - second * 1_000)).padStart(3, "0")}Z`
}

/** The codec between {@link Timestamp} and its text. */
export const Timestamp: Schema.Codec<number, string> = Schema.String.annotate({
  format: "date-time",
}).pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transformEffect(parse),
    encode: SchemaGetter.transform(format),
  }),
)
