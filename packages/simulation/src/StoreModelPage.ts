/**
 * The order of stored things and the pages of a listing, in the plainest way that is right: part
 * of the model of the stores.
 */
import type { Page, PagePosition, PageRequest } from "@millrace/core/domain/Page"

/** Oldest first by creation, then by identifier. */
export const oldestFirst = <A extends PagePosition>(items: Iterable<A>): ReadonlyArray<A> =>
  [...items].toSorted((a, b) => {
    if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt
    return a.id < b.id ? -1 : 1
  })

const isOlder = (item: PagePosition, than: PagePosition): boolean =>
  item.createdAt < than.createdAt || (item.createdAt === than.createdAt && item.id < than.id)

/** A page out of all items of a listing. */
export const pageOf = <A extends PagePosition>(
  all: Iterable<A>,
  { after, limit, skip }: PageRequest,
): Page<A> => {
  const newestFirst = oldestFirst(all).toReversed()
  const behind = newestFirst.filter((item) => after === undefined || isOlder(item, after))
  const rest = behind.slice(skip ?? 0)
  const items = rest.slice(0, limit)
  const last = items.at(-1)
  const isEnd = rest.length === items.length || last === undefined
  return { items, next: isEnd ? undefined : { createdAt: last.createdAt, id: last.id } }
}

/** True when a text contains another one, in any case. */
export const contains = (text: string, part: string): boolean =>
  text.toLowerCase().includes(part.toLowerCase())
