/**
 * Suggests a known name for an unknown one, for messages such as "did you mean".
 *
 * Guarantees: time is bounded, whatever the names are. Leaves out: the meaning of names.
 */
import { listed, quoted } from "./Quote.ts"

/** Characters of a name beyond which nothing is compared. */
const longestGuessed = 64

/** Pairs of letters that are compared for one name; known names beyond are never suggested. */
const comparedLetters = 200_000

/**
 * How many letters must be inserted, removed or changed to turn one word into the other. Above
 * `most` any larger number.
 */
const distance = (left: string, right: string, most: number): number => {
  if (Math.abs(left.length - right.length) > most) return Number.POSITIVE_INFINITY
  const row = Uint32Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let index = 0; index < left.length; index++) {
    const letter = left.charCodeAt(index)
    // What stands above and to the left of the next place.
    let before = row[0]!
    row[0] = index + 1
    let least = index + 1
    for (let column = 0; column < right.length; column++) {
      const changed = before + (letter === right.charCodeAt(column) ? 0 : 1)
      before = row[column + 1]!
      const found = Math.min(changed, before + 1, row[column]! + 1)
      row[column + 1] = found
      if (found < least) least = found
    }
    if (least > most) return Number.POSITIVE_INFINITY
  }
  return row[right.length]!
}

/** The known name with the fewest changes, and of each no more than allowed. */
const closest = (
  name: string,
  known: ReadonlyArray<string>,
  mostOf: (each: string) => number,
): string | undefined => {
  const start = name.slice(0, longestGuessed).toLowerCase()
  let least = Number.POSITIVE_INFINITY
  let found: string | undefined
  let left = comparedLetters
  for (const each of known) {
    const other = each.slice(0, longestGuessed).toLowerCase()
    left -= (start.length + 1) * (other.length + 1)
    if (left < 0) break
    const most = Math.min(mostOf(each), least - 1)
    const far = distance(start, other, most)
    if (far > most) continue
    least = far
    found = each
  }
  return found
}

/** The known name that is most like this one; case is ignored. `undefined` without known names. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | undefined =>
  closest(name, known, () => longestGuessed)

/** {@link nearest}, where about a third of it has to be changed at most. */
export const suggestion = (name: string, known: ReadonlyArray<string>): string | undefined =>
  name.length > longestGuessed
    ? undefined
    : closest(name, known, ({ length }) => Math.max(1, Math.floor((length + 1) / 3)))

/** `; did you mean "name"?` with the {@link suggestion}, or nothing. */
export const nearestHint = (name: string, known: Iterable<string>): string => {
  const near = suggestion(name, [...known])
  return near === undefined ? "" : `; did you mean ${quoted(near)}?`
}

/** What to say of an unknown name: the nearest known one, or all of them where none is near. */
export const hintOf = (name: string, known: Iterable<string>): string => {
  const names = [...known]
  const near = suggestion(name, names)
  return near === undefined ? `it has ${listed(names)}` : `did you mean ${quoted(near)}?`
}

/** Unknown fields of one object that are named; the rest would not be read. */
const shownFields = 20

/**
 * A clause for each field that is not known, with the nearest known one, or with all of them where
 * none is near: `unknown field "onFailur"; did you mean "onFailure"?`
 */
export const unknownFields = (
  fields: Iterable<string>,
  known: ReadonlyArray<string>,
): ReadonlyArray<string> => {
  const clauses: Array<string> = []
  for (const field of fields) {
    if (known.includes(field)) continue
    const near = suggestion(field, known)
    const hint = near === undefined ? `known are ${listed(known)}` : `did you mean ${quoted(near)}?`
    clauses.push(`unknown field ${quoted(field)}; ${hint}`)
    if (clauses.length === shownFields) break
  }
  return clauses
}
