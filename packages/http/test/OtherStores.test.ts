/**
 * What the interface does not leave to a store: order, absurd offsets, fields that do not apply.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Layer, Option } from "effect"
import { Harness, services } from "./Harness.ts"
import { create, finish, hello } from "./Samples.ts"

type Store = RunStore["Service"]

/** The interface over a store of runs that answers differently. */
const over = (change: (store: Store) => Partial<Store>) =>
  Harness.layerNoDeps.pipe(
    Layer.provideMerge(
      Layer.effect(
        RunStore,
        Effect.map(RunStore, (store) => RunStore.of({ ...store, ...change(store) })),
      ),
    ),
    Layer.provideMerge(services),
  )

const single = (run: Run): Run => ({ ...run, mode: "single", singleNodeId: "say" })

describe("the operations on runs over any store", () => {
  it.effect("order a batch themselves", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const workflowId = yield* create(owner, hello)
      const ids: Array<string> = []
      for (let count = 0; count < 4; count++) ids.push(yield* finish(owner, workflowId))
      const json = { ids: [ids[2], ids[0], ids[3], ids[1]] }
      const { body } = yield* send("POST", "/api/v1/runs/batch", { key: owner.key, json })
      assert.deepStrictEqual(
        body.runs.map(({ id }: RunRecord["run"]) => id),
        json.ids,
      )
    }).pipe(
      Effect.provide(
        over((store) => ({
          findMany: (account, ids) =>
            Effect.map(store.findMany(account, ids), (records) =>
              records.toSorted((left, right) => (left.run.id < right.run.id ? 1 : -1)),
            ),
        })),
      ),
    ),
  )

  it.effect("give pages of the first 10,000 items, and never ask for deeper ones", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const id = yield* finish(owner, yield* create(owner, hello))
      const pageOf = (page: string) =>
        send("GET", `/api/v1/runs?page=${page}&pageSize=50`, { key: owner.key })
      assert.strictEqual((yield* pageOf("201")).body.items[0].id, id)
      for (const page of ["202", "9007199254740991"]) {
        const { body, status } = yield* pageOf(page)
        const error = "page: only the first 10000 items have pages; read on with cursor"
        assert.deepStrictEqual([status, body], [400, { error }])
      }
    }).pipe(
      Effect.provide(
        // A listing that has an item wherever one looks.
        over((store) => ({
          list: ({ skip = 0, ...query }) =>
            skip > 10_000 ? Effect.die(new Error("asked")) : store.list(query),
        })),
      ),
    ),
  )

  it.effect("say which node a run of one node was for", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const id = yield* finish(owner, yield* create(owner, hello))
      const read = yield* send("GET", `/api/v1/runs/${id}`, { key: owner.key })
      const listed = yield* send("GET", "/api/v1/runs", { key: owner.key })
      for (const { mode, singleNodeId } of [read.body, listed.body.items[0]]) {
        assert.deepStrictEqual({ mode, singleNodeId }, { mode: "single", singleNodeId: "say" })
      }
    }).pipe(
      Effect.provide(
        over((store) => ({
          find: (account, id) =>
            Effect.map(
              store.find(account, id),
              Option.map((record) => ({ ...record, run: single(record.run) })),
            ),
          list: (query) =>
            Effect.map(store.list(query), (page) => ({ ...page, items: page.items.map(single) })),
        })),
      ),
    ),
  )
})
