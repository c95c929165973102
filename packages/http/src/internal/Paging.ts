/**
 * Both ways through a listing (specification 4.6): by cursor, which is the default, or by page
 * number once `page` or `pageSize` is given.
 *
 * Guarantees: what is out of range or contradicts itself is refused, never clamped; a page past the
 * end is empty, however far past; a page that is not, and deeper than `itemsSkipped`, is refused;
 * `nextCursor` is given in both ways and `null` at the end.
 */
import type { PageQuery } from "@millrace/api/PageQuery"
import { defaultPageSize } from "@millrace/api/PageQuery"
import type { AccountId } from "@millrace/core/domain/Id"
import { itemsSkipped } from "@millrace/core/domain/Limits"
import type { Page, PageRequest } from "@millrace/core/domain/Page"
import { Effect } from "effect"
import type { Bookmark, ListingName } from "./Cursor.ts"
import { Cursors, Filter } from "./Cursor.ts"
import { InvalidRequest } from "../Errors.ts"

/** A query of any listing. */
export interface ListingQuery extends PageQuery, Filter {}

/** What of a listing is to be read. A page that is too deep must turn out to be past the end. */
interface Wanted {
  readonly filter: Filter
  readonly request: PageRequest
  readonly isTooDeep?: boolean
}

const tooDeep = `page: only the first ${itemsSkipped} items have pages; read on with cursor`

const filterNames = Object.keys(Filter.fields) as ReadonlyArray<keyof Filter>

const filterOf = (query: ListingQuery): Filter =>
  Object.fromEntries(
    filterNames.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  )

const byPage = (query: ListingQuery): Wanted => {
  const { page = 1, pageSize = defaultPageSize } = query
  const skip = (page - 1) * pageSize
  const isTooDeep = skip > itemsSkipped
  const request = isTooDeep ? { skip: itemsSkipped, limit: 1 } : { skip, limit: pageSize }
  return { filter: filterOf(query), request, isTooDeep }
}

/** A cursor stands for its filter; naming the same filter again is fine, another one is not. */
const byCursor = (
  query: ListingQuery,
  { after, filter }: Bookmark,
): Effect.Effect<Wanted, InvalidRequest> => {
  const named = Object.entries(filterOf(query))
  return named.every(([key, value]) => filter[key as keyof Filter] === value)
    ? Effect.succeed({ filter, request: { after, limit: query.limit ?? defaultPageSize } })
    : Effect.fail(new InvalidRequest({ message: "cursor: was made for another filter" }))
}

const makeWantedOf = (cursors: Cursors["Service"]) =>
  Effect.fnUntraced(function* (
    account: AccountId,
    listing: ListingName,
    query: ListingQuery,
  ): Effect.fn.Return<Wanted, InvalidRequest> {
    const numbered = query.page !== undefined || query.pageSize !== undefined
    if (query.cursor === undefined) {
      if (numbered) return byPage(query)
      return { filter: filterOf(query), request: { limit: query.limit ?? defaultPageSize } }
    }
    if (numbered) {
      const message = "cursor: cannot be combined with page or pageSize"
      return yield* new InvalidRequest({ message })
    }
    return yield* byCursor(query, yield* cursors.read(account, listing, query.cursor))
  })

/** Makes what answers a query of a listing, from what `read` gives for a filter and a page. */
export const makePaginate = Effect.map(Cursors, (cursors) => {
  const wantedOf = makeWantedOf(cursors)
  return Effect.fnUntraced(function* <A, E, R>(
    account: AccountId,
    listing: ListingName,
    query: ListingQuery,
    read: (filter: Filter, request: PageRequest) => Effect.Effect<Page<A>, E, R>,
  ) {
    const { filter, isTooDeep, request } = yield* wantedOf(account, listing, query)
    const { items, next } = yield* read(filter, request)
    if (isTooDeep === true && items.length > 0) {
      return yield* new InvalidRequest({ message: tooDeep })
    }
    if (next === undefined) return { items, nextCursor: null }
    const bookmark = { filter, after: next }
    return { items, nextCursor: yield* cursors.write(account, listing, bookmark) }
  })
})
