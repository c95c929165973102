// Many secrets of one account at once: they wait for each other, and nobody else waits for them.
import { assert, layer } from "@effect/vitest"
import { make as makeSamples } from "@millrace/conformance/Samples"
import type { AccountId } from "@millrace/core/domain/Id"
import { secretsPerAccount } from "@millrace/core/domain/Limits"
import { SecretStore } from "@millrace/core/ports/SecretStore"
import { Deferred, Effect, Fiber, Layer, Result } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "./TestPostgres.ts"

const stores = Layer.provideMerge(TestPostgres.layerStores, TestPostgres.layer)

const secretOf = (accountId: AccountId, name: string, place: number) => ({
  accountId,
  name,
  hosts: [`${place}.example.com`],
  sealed: `v1.key.${place}`,
  createdAt: place,
  updatedAt: place,
  lastUsedAt: null,
})

layer(stores, { excludeTestServices: true, timeout: "60 seconds" })("secrets at once", (it) => {
  it.effect("leave connections to everybody else while another process sets one", () =>
    Effect.gen(function* () {
      const { account, stranger } = yield* makeSamples
      const sql = yield* SqlClient
      const store = yield* SecretStore
      const isHeld = yield* Deferred.make<void>()
      const mayEnd = yield* Deferred.make<void>()
      const other = sql`SELECT pg_advisory_xact_lock(
        hashtext('millrace_secrets'), hashtext(${account}))`
      const holder = yield* Effect.forkChild(
        sql.withTransaction(
          other.pipe(
            Effect.andThen(Deferred.succeed(isHeld, undefined)),
            Effect.andThen(Deferred.await(mayEnd)),
          ),
        ),
      )
      yield* Deferred.await(isHeld)
      const puts = yield* Effect.forEach(
        Array.from({ length: secretsPerAccount }, (_, place) => place),
        (place) => Effect.forkChild(store.put(secretOf(account, `s_${place}`, place))),
      )
      // The first of them is in flight.
      yield* TestPostgres.untilBlocked
      const strangers = Effect.forEach(["one", "two"], (name) =>
        Effect.andThen(store.put(secretOf(stranger, name, 1)), store.list(stranger)),
      )
      assert.lengthOf((yield* Effect.timeout(strangers, "5 seconds"))[1]!, 2)
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(holder)
      yield* Fiber.joinAll(puts)
      assert.lengthOf(yield* store.list(account), secretsPerAccount)
    }),
  )

  it.effect("are all stored, each with its own answer, in a few statements", () =>
    Effect.gen(function* () {
      const { account } = yield* makeSamples
      const store = yield* SecretStore
      const names = Array.from({ length: 300 }, (_, place) => `s_${place % 250}`)
      const results = yield* Effect.all(
        names.map((name, place) => Effect.result(store.put(secretOf(account, name, place)))),
        { concurrency: "unbounded" },
      )
      const stored = yield* store.list(account)
      assert.lengthOf(stored, secretsPerAccount)
      const known = new Set(stored.map(({ name }) => name))
      for (const [place, result] of results.entries()) {
        assert.strictEqual(Result.isSuccess(result), known.has(names[place]!))
        if (Result.isFailure(result)) assert.strictEqual(result.failure._tag, "TooManySecrets")
        else assert.deepStrictEqual(result.success.hosts, [`${place}.example.com`])
      }
      const last = stored.find(({ name }) => name === "s_49")!
      assert.deepInclude(last, { createdAt: 49, updatedAt: 299, hosts: ["299.example.com"] })
    }),
  )
})
