/**
 * Quotes a user's text within a message.
 *
 * Guarantees: a quoted text has a bounded length and one line. Characters that could change how the
 * rest of the message reads are escaped. Leaves out: whether a text may be quoted at all. Values of
 * a request may not, because they may be secrets.
 */
/** Characters of a name that a sentence shows before it cuts; every valid id fits. */
export const shownCharacters = 128

/** Names that a list in a sentence shows before it only counts. */
const shownNames = 20

/** Names that need no quotes: letters, digits and characters of `_ . : -`. */
const bare = new RegExp(`^[\\w.:-]{1,${shownCharacters}}$`)

/**
 * Characters that JSON does not escape but that change a terminal's or a browser's display: DEL and
 * the C1 controls, marks and overrides of the writing direction, line separators, and characters
 * without a width.
 */
const unseen = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The first so many code points of a text; never half of a surrogate pair. */
export const firstOf = (text: string, count: number): string => {
  if (text.length <= count) return text
  let end = 0
  for (let left = count; left > 0 && end < text.length; left--) {
    end += text.codePointAt(end)! > 0xffff ? 2 : 1
  }
  return text.slice(0, end)
}

/** The name in double quotes, escaped like a JSON string and cut after 128 characters. */
export const quoted = (name: string): string => {
  const start = firstOf(name, shownCharacters)
  const shown = start === name ? name : `${firstOf(name, shownCharacters - 1)}…`
  return JSON.stringify(shown).replace(unseen, escaped)
}

/** The name as it is where it looks like an identifier, {@link quoted} otherwise. */
export const plain = (name: string): string => (bare.test(name) ? name : quoted(name))

/** `a, b, c`, at most 20 of them, then how many more there are; `none` for none. */
export const listed = (names: Iterable<string>): string => {
  const all = Array.from(names)
  if (all.length === 0) return "none"
  const shown = all.slice(0, shownNames).map(plain).join(", ")
  return all.length <= shownNames ? shown : `${shown} and ${all.length - shownNames} more`
}

/** A path in brackets, as a sentence names a place in a value: `[2][name]`; empty for the whole. */
export const bracketed = (
  path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }>,
): string =>
  path.map((part) => `[${plain(String(typeof part === "object" ? part.key : part))}]`).join("")
