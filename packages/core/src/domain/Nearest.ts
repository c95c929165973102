/**
 * Suggests a known name for an unknown one, for messages such as "did you mean".
 *
 * Guarantees: time is bounded, whatever the names are. Leaves out: the meaning of names.
 */
import { listed, quoted } from "./Quote.ts"

/** Characters of a name beyond which nothing is guessed. */
const longestGuessed = 64

/** How many letters must be inserted, removed or changed to turn one word into the other. */
const distance = (left: string, right: string): number => {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let index = 0; index < left.length; index++) {
    const next = [index + 1]
    for (let column = 0; column < right.length; column++) {
      const changed = row[column]! + (left[index] === right[column] ? 0 : 1)
      next.push(Math.min(changed, row[column + 1]! + 1, next[column]! + 1))
    }
    row = next
  }
  return row[right.length]!
}

/** Known names with which one is compared; the others are never suggested. */
const comparedNames = 1_000

/** The known name that is most like this one; case is ignored. `undefined` without known names. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | undefined => {
  const start = name.slice(0, longestGuessed).toLowerCase()
  let least = Number.POSITIVE_INFINITY
  let found: string | undefined
  for (const each of known.slice(0, comparedNames)) {
    const far = distance(start, each.slice(0, 2 * longestGuessed).toLowerCase())
    if (far >= least) continue
    least = far
    found = each
  }
  return found
}

/** {@link nearest}, where at most a third of it has to be changed. */
export const suggestion = (name: string, known: ReadonlyArray<string>): string | undefined => {
  const found = name.length > longestGuessed ? undefined : nearest(name, known)
  if (found === undefined) return undefined
  const changes = distance(name.toLowerCase(), found.toLowerCase())
  return changes <= Math.max(1, Math.floor(found.length / 3)) ? found : undefined
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
