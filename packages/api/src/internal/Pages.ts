/**
 * Listings, newest items first. Awaiting a listing gives a page; iterating over it gives all items.
 */
import type { OperationName } from "../Transport.ts"
import type { Ask, CallOptions } from "./Ask.ts"
import { checkFields } from "./Ask.ts"

/** A page. `nextCursor` is `null` on the last page. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

/** Await it for one page. Iterate over it for the items of this and all further pages. */
export interface Listing<A> extends Promise<Page<A>>, AsyncIterable<A> {}

/** Which page of a listing to read: by cursor or by number, not both. */
export interface PageQuery {
  /** The `nextCursor` of the previous page. It keeps that page's filter. */
  readonly cursor?: string
  /** Items of a page, 1 to 50; 20 by default. */
  readonly limit?: number
  /** From 1. */
  readonly page?: number
  /** Items of a numbered page, 1 to 50. */
  readonly pageSize?: number
}

const pageFields = ["cursor", "limit", "page", "pageSize"]

/** Makes a function that reads a listing. It requests the first page at once. */
export const makeListing =
  <A, Q extends PageQuery>(
    ask: Ask,
    operation: OperationName,
    filter: ReadonlyArray<keyof Q>,
    /** Fields that say what of each item to read: a cursor does not keep them. */
    shown: ReadonlyArray<keyof Q> = [],
  ) =>
  (query: Q, options: CallOptions | undefined, id?: string, nodeId?: string): Listing<A> => {
    const known = [...pageFields, ...([...filter, ...shown] as ReadonlyArray<string>)]
    const read = async (wanted: PageQuery) => {
      checkFields("query", wanted, known)
      const of = {
        ...(id === undefined ? {} : { id }),
        ...(nodeId === undefined ? {} : { nodeId }),
      }
      return (await ask(operation, { ...of, query: { ...wanted }, options })).body as Page<A>
    }
    const first = read(query)
    const iterate = async function* () {
      let page = await first
      while (true) {
        yield* page.items
        if (page.nextCursor === null) return
        const limit = query.limit ?? query.pageSize
        const same = Object.fromEntries(shown.map((name) => [name, query[name]]))
        const bounded = limit === undefined ? {} : { limit }
        page = await read({ ...same, ...bounded, cursor: page.nextCursor })
      }
    }
    return Object.assign(first, { [Symbol.asyncIterator]: iterate })
  }
