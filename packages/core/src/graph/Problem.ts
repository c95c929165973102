/**
 * What can be wrong with a graph, and the few words that every sentence about it is made of.
 *
 * Guarantees: names that come from outside are quoted and cut, so a sentence stays short and on
 * one line whatever a client sent. Leaves out: finding the problems.
 */
import { hasIdShape } from "./GraphId.ts"

/** One thing wrong with a graph: a full sentence that names node, edge and port. */
export interface Problem {
  readonly message: string
  readonly nodeId?: string
  readonly edgeId?: string
  readonly port?: string
}

/** Characters of a name that a sentence shows before it cuts; every valid id fits. */
const shownCharacters = 128

/** Names that a list in a sentence shows before it only counts. */
const shownNames = 20

/** The name in double quotes, escaped like a JSON string and cut after 128 characters. */
export const quoted = (name: string): string =>
  JSON.stringify(name.length <= shownCharacters ? name : `${name.slice(0, shownCharacters - 1)}…`)

/** `a, b, c`, at most 20 of them, then how many more there are; `none` for none. */
export const listed = (names: Iterable<string>): string => {
  const all = Array.from(names)
  if (all.length === 0) return "none"
  const shown = all.slice(0, shownNames).map(plain).join(", ")
  return all.length <= shownNames ? shown : `${shown} and ${all.length - shownNames} more`
}

/** The name as it is where it looks like an identifier, {@link quoted} otherwise. */
export const plain = (name: string): string => (hasIdShape(name) ? name : quoted(name))
