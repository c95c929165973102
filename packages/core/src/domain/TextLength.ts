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

/** The first so many code points of a text; never half of a surrogate pair. */
export const firstOf = (text: string, count: number): string => {
  if (text.length <= count) return text
  let end = 0
  for (let left = count; left > 0 && end < text.length; left--) {
    end += text.codePointAt(end)! > 0xffff ? 2 : 1
  }
  return text.slice(0, end)
}
