/**
 * The border of the engine: whatever crosses it, either way, is a copy in JSON, as if it had been
 * sent over a wire.
 *
 * Guarantees: a caller and the engine never share an object, so neither can change what the other
 * one holds; input has the form that the HTTP interface asks for, or is refused in one sentence.
 */
import { unknownFieldsOf } from "@millrace/api/Closed"
import { sentenceOf } from "@millrace/api/Sentence"
import { problemOf } from "@millrace/core/domain/Json"
import { InvalidRequest } from "@millrace/http/Errors"
import { Effect, Result, Schema } from "effect"

const copyOf = (value: unknown): Result.Result<unknown, string> => {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value) ?? "null")
    const problem = problemOf(copy)
    return problem === undefined ? Result.succeed(copy) : Result.fail(problem)
  } catch {
    return Result.fail("expected a value that can be written as JSON")
  }
}

/** A reader of input of this form; `root` is what the input as a whole is called in a sentence. */
export const reader = <A, I>(schema: Schema.Codec<A, I>, root: string) => {
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(schema))
  return (input: unknown): Effect.Effect<A, InvalidRequest> => {
    const refuse = (message: string) => Effect.fail(new InvalidRequest({ message }))
    const copy = copyOf(input)
    if (Result.isFailure(copy)) return refuse(`${root}: ${copy.failure}`)
    const decoded = decode(copy.success, { errors: "all" })
    const unknown = unknownFieldsOf(schema, copy.success)
    if (Result.isSuccess(decoded) && unknown.length === 0) return Effect.succeed(decoded.success)
    const wrong = Result.isSuccess(decoded) ? [] : [sentenceOf(decoded.failure.issue, root)]
    return refuse([...unknown, ...wrong].join("; "))
  }
}

/** A writer of answers of this form. */
export const writer = <A, I>(schema: Schema.Codec<A, I>) => {
  const encode = Schema.encodeUnknownSync(schema)
  return (answer: A): I => structuredClone(encode(answer))
}
