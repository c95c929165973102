/**
 * The length of texts, counted as JSON Schema counts it, so that a document and a check that give
 * the same number mean the same texts.
 */
import { Schema } from "effect"

/**
 * At most so many characters: Unicode code points, not UTF-16 units, so an emoji of one code point
 * counts as one. `expected` says it in other words.
 */
export const isAtMost = (maximum: number, expected = `a length of at most ${maximum}`) =>
  Schema.isMaxCodePoints(maximum, { expected })
