/**
 * Pages of a listing, newest first. A position names the last item already seen, so later items
 * never shift a page.
 *
 * Leaves out: the opaque text of a cursor; the HTTP interface makes that.
 */
import type { Timestamp } from "./Timestamp.ts"

/** The place after which a page begins: newest first by creation, then by identifier. */
export interface PagePosition {
  readonly createdAt: Timestamp
  readonly id: string
}

/** A part of a listing. `skip` is for clients that ask for pages by number. */
export interface PageRequest {
  readonly after?: PagePosition | undefined
  readonly skip?: number | undefined
  readonly limit: number
}

/** One page; `next` is `undefined` at the end of the listing. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly next: PagePosition | undefined
}

/** Cuts a page out of `limit + 1` items that a store has read. */
export const fromOverfetch = <A extends PagePosition>(
  items: ReadonlyArray<A>,
  limit: number,
): Page<A> => {
  if (items.length <= limit) return { items, next: undefined }
  const page = items.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page,
    next: last === undefined ? undefined : { createdAt: last.createdAt, id: last.id },
  }
}
