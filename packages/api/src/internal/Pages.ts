/**
 * Pages of a listing, newest first: awaited they give one page, iterated they give every item.
 */
import type { OperationName } from "../Transport.ts"
import type { Ask, CallOptions } from "./Ask.ts"
import { checkFields } from "./Ask.ts"

/** One page; `nextCursor` is `null` at the end. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

/** A page when awaited, every item of this and all further pages when iterated. */
export interface Listing<A> extends Promise<Page<A>>, AsyncIterable<A> {}

/** Which page of a listing is wanted: by cursor, or by number, never both. */
export interface PageQuery {
  /** `nextCursor` of the page before; it goes on with that page's filter. */
  readonly cursor?: string
  /** Items of a page, 1 to 50; 20 where nothing is said. */
  readonly limit?: number
  /** From 1. */
  readonly page?: number
  /** Items of a numbered page, 1 to 50. */
  readonly pageSize?: number
}

const pageFields = ["cursor", "limit", "page", "pageSize"]

/** Makes what reads a listing by its query. The first page is asked for at once. */
export const makeListing =
  <A, Q extends PageQuery>(ask: Ask, operation: OperationName, filter: ReadonlyArray<keyof Q>) =>
  (query: Q, options: CallOptions | undefined, id?: string): Listing<A> => {
    const read = async (wanted: PageQuery) => {
      checkFields("query", wanted, [...pageFields, ...(filter as ReadonlyArray<string>)])
      const of = id === undefined ? {} : { id }
      return (await ask(operation, { ...of, query: { ...wanted }, options })).body as Page<A>
    }
    const first = read(query)
    const iterate = async function* () {
      let page = await first
      while (true) {
        yield* page.items
        if (page.nextCursor === null) return
        const limit = query.limit ?? query.pageSize
        page = await read({ cursor: page.nextCursor, ...(limit === undefined ? {} : { limit }) })
      }
    }
    return Object.assign(first, { [Symbol.asyncIterator]: iterate })
  }
