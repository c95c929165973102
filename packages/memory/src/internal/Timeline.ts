/**
 * Items sorted by creation, then by identifier: the order of every listing and every claim.
 *
 * Guarantees: adding the newest item is cheap. Any other change needs a binary search and moves the
 * later items. Leaves out: accounts; each has its own timeline.
 */
import type { Page, PagePosition, PageRequest } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"

/** Negative if `a` was created before `b`. */
export const compare = (a: PagePosition, b: PagePosition): number =>
  a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/** A sorted list of items, each at its own position. */
export interface Timeline<A extends PagePosition> {
  readonly items: ReadonlyArray<A>
  readonly add: (item: A) => void
  readonly remove: (position: PagePosition) => void
  /** A page of what `view` returns, newest first. Leaves out items for which it returns nothing. */
  readonly page: <B extends PagePosition>(
    request: PageRequest,
    view: (item: A) => B | undefined,
  ) => Page<B>
}

/** The timeline of a key; a new one is put into the map if there is none. */
export const of = <K, A extends PagePosition>(timelines: Map<K, Timeline<A>>, key: K) => {
  const timeline = timelines.get(key) ?? make<A>()
  timelines.set(key, timeline)
  return timeline
}

/** An empty timeline. */
export const make = <A extends PagePosition>(): Timeline<A> => {
  const items: Array<A> = []

  /** How many items come before this position. */
  const indexOf = (position: PagePosition): number => {
    let low = 0
    let high = items.length
    if (high > 0 && compare(items[high - 1]!, position) < 0) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(items[middle]!, position) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  const remove = (position: PagePosition): void => {
    const index = indexOf(position)
    const found = items[index]
    if (found === undefined || compare(found, position) !== 0) return
    if (index === 0) items.shift()
    else items.splice(index, 1)
  }

  const page = <B extends PagePosition>(
    request: PageRequest,
    view: (item: A) => B | undefined,
  ): Page<B> => {
    const shown: Array<B> = []
    let skip = request.skip ?? 0
    let index = request.after === undefined ? items.length : indexOf(request.after)
    while (--index >= 0 && shown.length <= request.limit) {
      const item = view(items[index]!)
      if (item === undefined) continue
      if (skip > 0) skip -= 1
      else shown.push(item)
    }
    return fromOverfetch(shown, request.limit)
  }

  return { items, add: (item) => void items.splice(indexOf(item), 0, item), remove, page }
}
