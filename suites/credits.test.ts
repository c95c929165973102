/**
 * Races for credits on a real Postgres, long enough to meet what is rare: what the package's own
 * tests do, many times over.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Races from "../packages/postgres/test/CreditRaces.ts"
import * as StartRaces from "../packages/postgres/test/StartRaces.ts"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"

const timeout = 600_000

const onFour = Effect.flatMap(TestPostgres.url, (url) => Races.servers(url, 4))

describe("Credits on four servers", () => {
  it.live(
    "are enough for exactly as many starts as they cover, time and again",
    () =>
      Effect.gen(function* () {
        const all = yield* onFour
        for (let round = 0; round < 10; round++) {
          const hundred = yield* Races.starts(all, { balance: 100, count: 1_000, price: 1 })
          assert.deepInclude(hundred, { accepted: 100, refused: 900, stored: 100, reserved: 100 })
          const six = yield* Races.starts(all, { balance: 500, count: 20, price: 75 })
          assert.deepInclude(six, { accepted: 6, refused: 14, stored: 6, reserved: 450 })
        }
      }),
    timeout,
  )

  it.live(
    "are neither made nor lost in five thousand runs that end, are canceled and compete",
    () =>
      Effect.gen(function* () {
        const all = yield* onFour
        const raced = yield* Races.settlements(all, { balance: 40_000, rounds: 5_000 })
        assert.deepInclude(raced, { ended: 5_000, endedTwice: 0, posted: raced.completed })
        assert.isAtLeast(raced.completed, 1_250)
        assert.isAtLeast(raced.canceled, 1_250)
      }),
    timeout,
  )

  it.live(
    "are taken once for each of two thousand commits that all of them repeat",
    () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Races.twins(yield* onFour, 2_000), 2_000)
      }),
    timeout,
  )

  it.live(
    "are set aside once for a start that is repeated a thousand times",
    () =>
      Effect.gen(function* () {
        const url = yield* TestPostgres.url
        for (let round = 0; round < 5; round++) {
          const found = yield* StartRaces.replays(url, { count: 1_000, engines: 4 })
          const kinds = "void post reserve grant meter"
          assert.deepStrictEqual(found, { runs: 1, first: 1, kinds, problems: [] })
        }
      }).pipe(Effect.scoped),
    timeout,
  )

  it.live(
    "move on many accounts at once without anybody waiting in a circle",
    () =>
      Effect.gen(function* () {
        const found = yield* Races.crossings(yield* onFour, { accounts: 25, rounds: 4_000 })
        assert.deepStrictEqual(found, [])
      }),
    timeout,
  )
})
