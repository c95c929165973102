/**
 * Reads the arguments and writes the answers of calls that the HTTP interface does not have, such
 * as `engine.keys.create`.
 *
 * Guarantees: arguments and answers are copied as JSON. An argument has the form that the interface
 * for operators asks for, or is refused in one sentence.
 */
import { plainJson } from "@millrace/api/PlainJson"
import type { InvalidRequest } from "@millrace/http/Errors"
import * as Form from "@millrace/http/Form"
import { Effect, Schema } from "effect"

/**
 * A reader of input of this form, which refuses unknown fields; `root` names the whole input in a
 * sentence.
 */
export const reader = <A, I>(schema: Schema.Codec<A, I>, root: string) => {
  const read = Form.reader(schema.annotate({ closed: true }), root)
  return (input: unknown): Effect.Effect<A, InvalidRequest> =>
    Effect.suspend(() => Effect.fromResult(read(plainJson(input, root))))
}

/** A writer of answers of this form. */
export const writer = <A, I>(schema: Schema.Codec<A, I>) => {
  const encode = Schema.encodeUnknownSync(schema)
  return (answer: A): I => plainJson(encode(answer), "answer") as I
}
