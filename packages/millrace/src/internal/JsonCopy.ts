/**
 * The border of the engine for what is no operation of the interface: whatever crosses it, either
 * way, is a copy in JSON.
 *
 * Guarantees: input has the form that the HTTP interface asks for, or is refused in one sentence.
 */
import { plainJson } from "@millrace/api/PlainJson"
import type { InvalidRequest } from "@millrace/http/Errors"
import * as Form from "@millrace/http/Form"
import { Effect, Schema } from "effect"

/** A reader of input of this form; `root` is what the input as a whole is called in a sentence. */
export const reader = <A, I>(schema: Schema.Codec<A, I>, root: string) => {
  const read = Form.reader(schema, root)
  return (input: unknown): Effect.Effect<A, InvalidRequest> =>
    Effect.suspend(() => Effect.fromResult(read(plainJson(input, root))))
}

/** A writer of answers of this form. */
export const writer = <A, I>(schema: Schema.Codec<A, I>) => {
  const encode = Schema.encodeUnknownSync(schema)
  return (answer: A): I => plainJson(encode(answer), "answer") as I
}
