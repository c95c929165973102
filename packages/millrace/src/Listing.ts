/**
 * Pages of a listing, newest first: awaited they give one page, iterated they give every item.
 *
 * Guarantees: a cursor belongs to one listing of one account and keeps the filter it was made for;
 * the HTTP interface's cursors are the same.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { Page as StoredPage, PageRequest } from "@millrace/core/domain/Page"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { Filter, Listing as ListingName } from "@millrace/http/Cursor"
import { Cursors } from "@millrace/http/Cursor"
import { Effect } from "effect"

/** One page; `nextCursor` is `null` at the end. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

/** A page when awaited, every item of this and all further pages when iterated. */
export interface Listing<A> extends Promise<Page<A>>, AsyncIterable<A> {}

/** Which page of a listing is wanted. */
export interface PageQuery {
  /** `nextCursor` of the page before; it goes on with that page's filter. */
  readonly cursor?: string
  /** Items of a page, 1 to 50; 20 where nothing is said. */
  readonly limit?: number
}

const defaultLimit = 20

/** Reads one page of what a store lists. */
export const readPage = Effect.fnUntraced(function* <A, E extends StorageError, R>(
  account: AccountId,
  listing: ListingName,
  { cursor, limit = defaultLimit, ...given }: PageQuery & Filter,
  list: (filter: Filter, request: PageRequest) => Effect.Effect<StoredPage<A>, E, R>,
) {
  const cursors = yield* Cursors
  const from =
    cursor === undefined
      ? { filter: given, after: undefined }
      : yield* cursors.read(account, listing, cursor)
  const { items, next } = yield* list(from.filter, { after: from.after, limit })
  if (next === undefined) return { items, nextCursor: null }
  const { filter } = from
  return { items, nextCursor: yield* cursors.write(account, listing, { filter, after: next }) }
})

/** Makes a listing of what `read` gives for a cursor. The first page is read at once. */
export const make = <A>(
  read: (cursor: string | undefined) => Promise<Page<A>>,
  cursor: string | undefined,
): Listing<A> => {
  const first = read(cursor)
  const iterate = async function* () {
    let page = await first
    while (true) {
      yield* page.items
      if (page.nextCursor === null) return
      page = await read(page.nextCursor)
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: iterate })
}
