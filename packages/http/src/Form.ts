/**
 * Whether a value from outside has the form that is asked for: the one place that says so in a
 * sentence, for bodies of requests and for what is given to an engine in the same process.
 *
 * Leaves out: whether it is JSON, and how large it may be.
 */
import { unknownFieldsOf } from "@millrace/api/Closed"
import { sentenceOf } from "@millrace/api/Sentence"
import { Result, Schema } from "effect"
import { InvalidRequest } from "./Errors.ts"

/**
 * Makes what reads JSON of this form, or names everything that is wrong with it; the first thing
 * only where that is asked for. `root` is what the value as a whole is called.
 */
export const reader = <A, I>(schema: Schema.Codec<A, I>, root: string) => {
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(schema))
  return (value: unknown, errors: "all" | "first" = "all"): Result.Result<A, InvalidRequest> => {
    const decoded = decode(value, { errors })
    const unknown = unknownFieldsOf(schema, value)
    if (Result.isSuccess(decoded) && unknown.length === 0) return Result.succeed(decoded.success)
    const wrong = Result.isSuccess(decoded) ? [] : [sentenceOf(decoded.failure.issue, root)]
    return Result.fail(new InvalidRequest({ message: [...unknown, ...wrong].join("; ") }))
  }
}
