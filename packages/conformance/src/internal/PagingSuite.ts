/**
 * What every listing must do with a page request, whatever it lists.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { AccountId } from "@millrace/core/domain/Id"
import type { Page, PagePosition, PageRequest } from "@millrace/core/domain/Page"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

/** A listing under test: how to add an item to it, and how to read it. */
export interface Listing<E, R> {
  readonly insert: (
    samples: Samples.Samples,
    createdAt: Timestamp,
  ) => Effect.Effect<PagePosition, E, R>
  readonly list: (
    account: AccountId,
    request: PageRequest,
  ) => Effect.Effect<Page<PagePosition>, E, R>
}

const idsOf = (items: ReadonlyArray<PagePosition>): ReadonlyArray<string> =>
  items.map(({ id }) => id)

const insertMany = Effect.fnUntraced(function* <E, R>(
  listing: Listing<E, R>,
  samples: Samples.Samples,
  times: ReadonlyArray<Timestamp>,
) {
  const items: Array<PagePosition> = []
  for (const time of times) items.push(yield* listing.insert(samples, time))
  return items
})

/** Reads all pages, and runs an effect before each one. */
const walk = Effect.fnUntraced(function* <E, R>(
  listing: Listing<E, R>,
  samples: Samples.Samples,
  limit: number,
  between: Effect.Effect<unknown, E, R> = Effect.void,
) {
  const pages: Array<ReadonlyArray<string>> = []
  let after: PagePosition | undefined
  do {
    const page: Page<PagePosition> = yield* listing.list(samples.account, { after, limit })
    pages.push(idsOf(page.items))
    after = page.next
    yield* between
  } while (after !== undefined && pages.length < 100)
  return pages
})

const cursors = <E, R>(it: Vitest.MethodsNonLive<R>, listing: Listing<E, R>): void => {
  it.effect("walks all items newest first, equal times by identifier", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const times = [5, 1, 3, 3, 3, 2, 9].map((n) => Samples.epoch + n)
      const [a, b, c, d, e, f, g] = idsOf(yield* insertMany(listing, samples, times))
      const pages = yield* walk(listing, samples, 2)
      assert.deepStrictEqual(pages, [[g!, a!], [e!, d!], [c!, f!], [b!]])
    }),
  )

  it.effect("tells the end of the listing, also after a full page", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      yield* insertMany(listing, samples, [1, 2, 3, 4])
      assert.deepStrictEqual(
        (yield* walk(listing, samples, 2)).map((page) => page.length),
        [2, 2],
      )
      const empty = yield* listing.list(samples.stranger, { limit: 2 })
      assert.deepStrictEqual(empty, { items: [], next: undefined })
    }),
  )

  it.effect("neither repeats nor skips an item while newer ones arrive", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const items = yield* insertMany(listing, samples, [10, 20, 30, 40, 50])
      const arrive = listing.insert(samples, 1_000)
      const pages = yield* walk(listing, samples, 2, arrive)
      assert.deepStrictEqual(pages.flat(), idsOf(items).toReversed())
    }),
  )

  it.effect("goes on behind an item that is not there", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const items = yield* insertMany(listing, samples, [10, 20, 30])
      const after = { createdAt: 25, id: "nobody" }
      const page = yield* listing.list(samples.account, { after, limit: 5 })
      assert.deepStrictEqual(idsOf(page.items), [items[1]!.id, items[0]!.id])
    }),
  )
}

const counting = <E, R>(it: Vitest.MethodsNonLive<R>, listing: Listing<E, R>): void => {
  it.effect("skips items for clients that count pages", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const items = yield* insertMany(listing, samples, [10, 20, 30, 40, 50])
      const newest = idsOf(items).toReversed()
      const second = yield* listing.list(samples.account, { skip: 2, limit: 2 })
      assert.deepStrictEqual(idsOf(second.items), newest.slice(2, 4))
      const { createdAt, id } = items[1]!
      assert.deepStrictEqual(second.next, { createdAt, id })
      const last = yield* listing.list(samples.account, { skip: 4, limit: 2 })
      assert.deepStrictEqual(idsOf(last.items), newest.slice(4))
      assert.isUndefined(last.next)
    }),
  )

  it.effect("is empty behind its end, however far", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      yield* insertMany(listing, samples, [10])
      for (const skip of [1, 1e9, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE]) {
        const page = yield* listing.list(samples.account, { skip, limit: 50 })
        assert.deepStrictEqual(page, { items: [], next: undefined })
      }
    }),
  )
}

/** Registers the tests of a listing's pages. */
export const pagingSuite = <E, R>(
  it: Vitest.MethodsNonLive<R>,
  name: string,
  listing: Listing<E, R>,
): void => {
  describe(`${name} pages`, () => {
    cursors(it, listing)
    counting(it, listing)
  })
}
