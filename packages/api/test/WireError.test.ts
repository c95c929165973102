/**
 * Errors on the wire are a status and one sentence, whatever they are in code.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Wire from "@millrace/api/WireError"
import { Schema } from "effect"

const classes = [
  Wire.BadRequest,
  Wire.Unauthorized,
  Wire.NotFound,
  Wire.MethodNotAllowed,
  Wire.Conflict,
  Wire.PreconditionFailed,
  Wire.PayloadTooLarge,
  Wire.UnsupportedMediaType,
  Wire.TooManyRequests,
  Wire.InternalError,
  Wire.Unavailable,
] as const

describe("WireError", () => {
  for (const Class of classes) {
    it(`${Class.name} travels as its sentence alone and comes back as itself`, () => {
      const error = new Class({ error: "One sentence" })
      const codec = Class as unknown as Schema.Codec<Wire.WireError, { readonly error: string }>
      assert.strictEqual(error._tag, Class.name)
      assert.strictEqual(error.message, "One sentence")
      const encoded = Schema.encodeSync(codec)(error)
      assert.deepStrictEqual(encoded, { error: "One sentence" })
      assert.isTrue(Schema.decodeSync(codec)(encoded) instanceof Class)
    })
  }
})
