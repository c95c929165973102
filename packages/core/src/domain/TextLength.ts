/**
 * The length of texts, counted as JSON Schema counts it. So the OpenAPI document and the checks
 * agree.
 */
import { Schema } from "effect"

/**
 * At most `maximum` characters: Unicode code points, not UTF-16 units, so an emoji of one code
 * point counts as one. `expected` replaces the words of the message.
 */
export const isAtMost = (maximum: number, expected = `a length of at most ${maximum}`) =>
  Schema.isMaxCodePoints(maximum, { expected })
