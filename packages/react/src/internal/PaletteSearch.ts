/**
 * Finding a node type by the words of its name, key, category and description.
 *
 * Guarantees: pure. Every word must be found; names win over descriptions. Without words all types
 * are there, the request node first. Leaves out: showing them.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"

type Searched = Pick<NodeTypeItem, "key" | "name" | "category" | "description">

/** How well a type has a word: 0 is best, nothing means that it has not. */
const rankOf = (type: Searched, word: string): number | undefined => {
  const [name, key] = [type.name.toLowerCase(), type.key.toLowerCase()]
  const found = [
    name.startsWith(word) || key.startsWith(word),
    name.includes(word) || key.includes(word),
    type.category.toLowerCase().includes(word),
    type.description.toLowerCase().includes(word),
  ].indexOf(true)
  return found < 0 ? undefined : found
}

const inOrder = (left: Searched, right: Searched): number =>
  left.category.localeCompare(right.category) || left.name.localeCompare(right.name)

/** The types that have every word of a text, best first. */
export const searchedTypes = <A extends Searched>(
  types: ReadonlyArray<A>,
  text: string,
): ReadonlyArray<A> => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0)
    return types.toSorted(
      (left, right) =>
        Number(right.key === "request") - Number(left.key === "request") || inOrder(left, right),
    )
  return types
    .flatMap((type) => {
      const ranks = words.map((word) => rankOf(type, word))
      const isFound = ranks.every((rank) => rank !== undefined)
      return isFound ? [{ type, rank: Math.max(...ranks) }] : []
    })
    .toSorted((left, right) => left.rank - right.rank || inOrder(left.type, right.type))
    .map(({ type }) => type)
}
