/**
 * Validates values from outside: the bodies of requests, and the arguments of an engine in the same
 * process. A value of the wrong form is refused in one sentence.
 *
 * Leaves out: whether the value is JSON, and how large it may be.
 */
import { unknownFieldsIn } from "@millrace/api/Closed"
import { sentenceOf } from "@millrace/api/Sentence"
import { Result, Schema } from "effect"
import { InvalidRequest } from "./Errors.ts"

/**
 * Makes a reader of JSON of this form. A refusal names every problem, or only the `"first"` one.
 * `root` names the whole value in the sentence.
 */
export const reader = <A, I>(schema: Schema.Codec<A, I>, root: string) => {
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(schema))
  const unknownOf = unknownFieldsIn(schema)
  return (value: unknown, errors: "all" | "first" = "all"): Result.Result<A, InvalidRequest> => {
    const decoded = decode(value, { errors })
    const unknown = unknownOf(value)
    if (Result.isSuccess(decoded) && unknown.length === 0) return Result.succeed(decoded.success)
    const wrong = Result.isSuccess(decoded) ? [] : [sentenceOf(decoded.failure.issue, root)]
    return Result.fail(new InvalidRequest({ message: [...unknown, ...wrong].join("; ") }))
  }
}
