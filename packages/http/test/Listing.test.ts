/**
 * Ways through a listing: cursor, page number, filters, search (specification 4.6).
 */
import { assert, describe, layer } from "@effect/vitest"
import { RunId } from "@millrace/core/domain/Id"
import { dayMillis } from "@millrace/core/domain/Timestamp"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Answer, Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { create, failing, finish, hello, start } from "./Samples.ts"

const list = Effect.fnUntraced(function* (
  { key }: Tenant,
  query: Record<string, string | number>,
  noun = "runs",
) {
  const { send } = yield* Harness
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return yield* send("GET", `/api/v1/${noun}?${text}`, { key })
})

const idsOf = ({ body }: Answer): ReadonlyArray<string> =>
  body.items.map((item: { id: string }) => item.id)

/** Stores a copy of a run as if it had been created at another time. */
const copyAt = Effect.fnUntraced(function* (tenant: Tenant, id: RunId, createdAt: number) {
  const store = yield* RunStore
  const found = yield* Effect.orDie(store.find(tenant.accountId, id))
  const { definition, run } = Option.getOrThrow(found)
  const copy = { ...run, id: RunId.make(`${id}-at-${createdAt}`), createdAt, revision: 1 }
  const rows = { nodeRuns: [], rewritten: [], events: [], deliveries: [] }
  yield* Effect.orDie(store.commit({ expected: { _tag: "New", definition }, run: copy, ...rows }))
})

/** So many runs, each a millisecond after the other; newest first, as a listing has them. */
const startMany = Effect.fnUntraced(function* (owner: Tenant, workflowId: string, count: number) {
  const ids: Array<string> = []
  for (let index = 0; index < count; index++) {
    ids.unshift(yield* start(owner, workflowId))
    yield* TestClock.adjust(1)
  }
  return ids
})

const begin = Effect.fnUntraced(function* (count: number) {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  const workflowId = yield* create(owner, hello)
  return { owner, workflowId, ids: yield* startMany(owner, workflowId, count) }
})

/** All pages of a listing by its cursors. */
const follow = Effect.fnUntraced(function* (
  owner: Tenant,
  query: Record<string, string | number>,
  noun = "runs",
) {
  const pages: Array<ReadonlyArray<string>> = []
  let cursor: string | null = null
  do {
    const answer: Answer = yield* list(owner, cursor === null ? query : { ...query, cursor }, noun)
    assert.strictEqual(answer.status, 200, answer.text)
    pages.push(idsOf(answer))
    cursor = answer.body.nextCursor
  } while (cursor !== null)
  return pages
})

layer(Harness.layer)("listing by cursor", (it) => {
  describe("GET /v1/runs with a cursor", () => {
    it.effect("gives 20 items where no limit is given, newest first", () =>
      Effect.gen(function* () {
        const { ids, owner } = yield* begin(22)
        const first = yield* list(owner, {})
        assert.deepStrictEqual(idsOf(first), ids.slice(0, 20))
        const rest = yield* list(owner, { cursor: first.body.nextCursor })
        assert.deepStrictEqual(idsOf(rest), ids.slice(20))
        assert.isNull(rest.body.nextCursor)
      }),
    )

    it.effect("bounds the time of creation, also behind a cursor", () =>
      Effect.gen(function* () {
        const { ids, owner, workflowId } = yield* begin(2)
        yield* TestClock.adjust("1 hour")
        const later = yield* startMany(owner, workflowId, 3)
        const { createdAt } = (yield* list(owner, {})).body.items[0]
        const early = createdAt.replace(/\.\d+Z$/, "Z")
        assert.deepStrictEqual(yield* follow(owner, { from: early, limit: 2 }), [
          later.slice(0, 2),
          later.slice(2),
        ])
        assert.deepStrictEqual(idsOf(yield* list(owner, { to: early })), ids)
        const first = yield* list(owner, { from: early, limit: 2 })
        const cursor = first.body.nextCursor
        const other = yield* list(owner, { cursor, from: "2020-01-01T00:00Z" })
        assert.deepStrictEqual(other.body, { error: "cursor: was made for another filter" })
      }),
    )

    it.effect("filters by who asked for the run, also behind a cursor", () =>
      Effect.gen(function* () {
        const { ids, owner, workflowId } = yield* begin(2)
        const ui: Array<string> = []
        for (let n = 0; n < 3; n++) {
          yield* TestClock.adjust(1)
          ui.unshift(yield* start(owner, workflowId, { source: "ui" }))
        }
        assert.deepStrictEqual(yield* follow(owner, { source: "ui", limit: 2 }), [
          ui.slice(0, 2),
          ui.slice(2),
        ])
        assert.deepStrictEqual(idsOf(yield* list(owner, { source: "api" })), ids)
        assert.deepStrictEqual(idsOf(yield* list(owner, { source: "mcp" })), [])
        const first = yield* list(owner, { source: "ui", limit: 2 })
        const other = yield* list(owner, { cursor: first.body.nextCursor, source: "api" })
        assert.deepStrictEqual(other.body, { error: "cursor: was made for another filter" })
        const unknown = yield* list(owner, { source: "cli" })
        assert.deepStrictEqual(
          [unknown.status, unknown.body],
          [
            400,
            { error: 'source: expected "ui", "mcp", "api", "schedule", "webhook" or "run_end"' },
          ],
        )
      }),
    )

    it.effect("refuses times of another form, and in the wrong order", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(1)
        for (const from of ["now", "2026-01-01", "2026-13-01T00:00:00Z", "1767225600000", ""]) {
          const { body, status } = yield* list(owner, { from })
          const error = "from: expected a time in UTC, as 2026-01-31T09:30:00Z"
          assert.deepStrictEqual([status, body], [400, { error }], from)
        }
        const from = "2026-02-01T00:00:00Z"
        const { body, status } = yield* list(owner, { from, to: from })
        assert.deepStrictEqual([status, body], [400, { error: "to: expected a time after from" }])
      }),
    )

    it.effect("visits every item exactly once, also while new ones arrive", () =>
      Effect.gen(function* () {
        const { ids, owner, workflowId } = yield* begin(5)
        const first = yield* list(owner, { limit: 2 })
        yield* startMany(owner, workflowId, 3)
        const rest = yield* follow(owner, { limit: 2, cursor: first.body.nextCursor })
        assert.deepStrictEqual([...idsOf(first), ...rest.flat()], ids)
      }),
    )

    it.effect("says null at the end, also when the last page is full", () =>
      Effect.gen(function* () {
        const { ids, owner } = yield* begin(4)
        assert.deepStrictEqual(yield* follow(owner, { limit: 2 }), [ids.slice(0, 2), ids.slice(2)])
      }),
    )

    it.effect("goes on with the filter it was made for", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(3)
        const other = yield* create(owner, { ...hello, name: "Other" })
        const wanted = yield* startMany(owner, other, 3)
        const first = yield* list(owner, { workflowId: other, limit: 1 })
        const cursor: string = first.body.nextCursor
        const silent = yield* list(owner, { cursor, limit: 50 })
        assert.deepStrictEqual(idsOf(silent), wanted.slice(1))
        const named = yield* list(owner, { cursor, workflowId: other, limit: 50 })
        assert.deepStrictEqual(idsOf(named), wanted.slice(1))
      }),
    )

    it.effect("refuses a cursor with another filter with 400", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(3)
        const { nextCursor: plain } = (yield* list(owner, { limit: 1 })).body
        const { nextCursor: narrow } = (yield* list(owner, { limit: 1, workflowId })).body
        const queries = [
          { cursor: plain, workflowId },
          { cursor: plain, status: "FAILED" },
          { cursor: plain, search: "x" },
          { cursor: narrow, workflowId: "wf_other" },
        ]
        for (const query of queries) {
          const { body, status } = yield* list(owner, query)
          assert.strictEqual(status, 400)
          assert.deepStrictEqual(body, { error: "cursor: was made for another filter" })
        }
      }),
    )

    it.effect("refuses a cursor together with page or pageSize with 400", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(2)
        const { nextCursor: cursor } = (yield* list(owner, { limit: 1 })).body
        for (const more of [{ page: 1 }, { pageSize: 5 }, { page: 2, pageSize: 5 }]) {
          const { body, status } = yield* list(owner, { cursor, ...more })
          assert.strictEqual(status, 400)
          assert.deepStrictEqual(body, {
            error: "cursor: cannot be combined with page or pageSize",
          })
        }
      }),
    )

    it.effect("refuses a cursor that was changed in any place, cut or invented, with 400", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(2)
        const cursor: string = (yield* list(owner, { limit: 1 })).body.nextCursor
        const changed = Array.from(cursor, (letter, place) => {
          const other = letter === "A" ? "B" : "A"
          return cursor.slice(0, place) + other + cursor.slice(place + 1)
        })
        const invented = ["x", "AAAA", cursor.slice(1), cursor.slice(0, -1), `${cursor}A`, "*"]
        for (const text of [...changed, ...invented]) {
          const { body, status } = yield* list(owner, { cursor: text })
          assert.strictEqual(status, 400, text)
          assert.deepStrictEqual(body, { error: "cursor: is not one of this listing" })
        }
      }),
    )

    it.effect("refuses a cursor of another account or another listing with 400", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const { owner } = yield* begin(2)
        yield* create(owner, hello)
        const runs = (yield* list(owner, { limit: 1 })).body.nextCursor
        const workflows = (yield* list(owner, { limit: 1 }, "workflows")).body.nextCursor
        assert.strictEqual((yield* list(yield* tenant(), { cursor: runs })).status, 400)
        assert.strictEqual((yield* list(owner, { cursor: workflows })).status, 400)
        assert.strictEqual((yield* list(owner, { cursor: runs }, "workflows")).status, 400)
      }),
    )
  })

  describe("GET /v1/workflows with a cursor", () => {
    it.effect("visits every workflow exactly once, newest first", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const ids: Array<string> = []
        for (const name of ["one", "two", "three", "four", "five"]) {
          ids.unshift(yield* create(owner, { name }))
          yield* TestClock.adjust(1)
        }
        const pages = yield* follow(owner, { limit: 2 }, "workflows")
        assert.deepStrictEqual(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
        const found = yield* follow(owner, { limit: 1, search: "O" }, "workflows")
        assert.deepStrictEqual(found.flat(), [ids[1], ids[3], ids[4]])
      }),
    )
  })
})

layer(Harness.layer)("listing by page", (it) => {
  describe("GET /v1/runs with page or pageSize", () => {
    it.effect("counts pages from 1 and gives a cursor to go on with", () =>
      Effect.gen(function* () {
        const { ids, owner } = yield* begin(5)
        const second = yield* list(owner, { page: 2, pageSize: 2 })
        assert.deepStrictEqual(idsOf(second), ids.slice(2, 4))
        const rest = yield* list(owner, { cursor: second.body.nextCursor })
        assert.deepStrictEqual(idsOf(rest), ids.slice(4))
        const last = yield* list(owner, { page: 3, pageSize: 2 })
        assert.deepStrictEqual(idsOf(last), ids.slice(4))
        assert.isNull(last.body.nextCursor)
      }),
    )

    it.effect("takes page 1 and 20 items where only the other is given", () =>
      Effect.gen(function* () {
        const { ids, owner } = yield* begin(22)
        assert.deepStrictEqual(idsOf(yield* list(owner, { pageSize: 3 })), ids.slice(0, 3))
        assert.deepStrictEqual(idsOf(yield* list(owner, { page: 2 })), ids.slice(20))
      }),
    )

    it.effect("is empty past the end, however far", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(1)
        for (const page of ["2", "200001", "500001", "9007199254740991"]) {
          for (const pageSize of [1, 50]) {
            const { body, status } = yield* list(owner, { page, pageSize })
            assert.strictEqual(status, 200)
            assert.deepStrictEqual(body, { items: [], nextCursor: null })
          }
        }
      }),
    )
  })

  describe("GET /v1/runs with parameters out of range", () => {
    const refused: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
      ["limit", ["0", "51", "-1", "1.5", "", "0x10", "1e1", "NaN", "Infinity", " 5", "+5", "05"]],
      ["pageSize", ["0", "51", "ten", ""]],
      ["page", ["0", "-1", "9007199254740992", "99999999999999999999", "1e3", ""]],
      ["search", ["", "x".repeat(201), "a\0b"]],
      ["status", ["", "DONE", "completed", "QUEUED,FAILED"]],
      ["workflowId", ["", "a\0"]],
      ["cursor", [""]],
    ]
    for (const [name, values] of refused) {
      it.effect(`refuses ${name} outside its form with 400, never clamps`, () =>
        Effect.gen(function* () {
          const { tenant } = yield* Harness
          const owner = yield* tenant()
          for (const value of values) {
            const { body, status } = yield* list(owner, { [name]: value })
            assert.strictEqual(status, 400, `${name}=${value}`)
            assert.deepStrictEqual(Object.keys(body), ["error"])
            assert.isTrue(body.error.startsWith(`${name}: `), body.error)
          }
        }),
      )
    }

    it.effect("refuses a parameter that is given twice with 400", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const { body, status } = yield* send("GET", "/api/v1/runs?limit=1&limit=2", { key })
        assert.strictEqual(status, 400)
        assert.deepStrictEqual(body, { error: "limit: expected one value" })
      }),
    )

    it.effect("ignores unknown parameters", () =>
      Effect.gen(function* () {
        const { ids, owner } = yield* begin(1)
        assert.deepStrictEqual(idsOf(yield* list(owner, { nonsense: "1", LIMIT: "x" })), ids)
      }),
    )

    it.effect.prop(
      "accepts a limit exactly when it is an integer from 1 to 50 in decimal digits",
      { limit: Schema.Union([Schema.Int, Schema.Finite, Schema.String]) },
      ({ limit }) =>
        Effect.gen(function* () {
          const { tenant } = yield* Harness
          const valid = /^[1-9][0-9]?$/.test(String(limit)) && Number(limit) <= 50
          const { status } = yield* list(yield* tenant(), { limit })
          assert.strictEqual(status, valid ? 200 : 400)
        }),
      { arbitrary: { runs: 100 } },
    )
  })
})

layer(Harness.layer)("filtering", (it) => {
  describe("GET /v1/runs with filters", () => {
    it.effect("narrows by workflow, status and both", () =>
      Effect.gen(function* () {
        const { ids, owner, workflowId } = yield* begin(2)
        const bad = yield* create(owner, failing)
        const failed = yield* finish(owner, bad)
        assert.deepStrictEqual(idsOf(yield* list(owner, { workflowId })), ids)
        assert.deepStrictEqual(idsOf(yield* list(owner, { status: "FAILED" })), [failed])
        assert.deepStrictEqual(idsOf(yield* list(owner, { status: "FAILED", workflowId })), [])
      }),
    )

    it.effect("searches the name and the error in any case, and the beginning of the id", () =>
      Effect.gen(function* () {
        const { ids, owner } = yield* begin(1)
        const failed = yield* finish(owner, yield* create(owner, failing))
        const search = (text: string) => Effect.map(list(owner, { search: text }), idsOf)
        assert.deepStrictEqual(yield* search("hELL"), ids)
        assert.deepStrictEqual(yield* search("ON PURPOSE"), [failed])
        assert.deepStrictEqual(yield* search(failed), [failed])
        assert.deepStrictEqual(yield* search(failed.slice(4)), [])
        assert.deepStrictEqual(yield* search("%"), [])
      }),
    )

    it.effect("finds nothing for a workflow that does not exist", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(1)
        const { body } = yield* list(owner, { workflowId: "wf_none" })
        assert.deepStrictEqual(body, { items: [], nextCursor: null })
      }),
    )
  })
})

layer(Harness.layer)("the activity of workflows", (it) => {
  it.effect("comes with a page: the last run, and the runs and failures of seven days", () =>
    Effect.gen(function* () {
      const owner = yield* (yield* Harness).tenant()
      const quiet = yield* create(owner, hello)
      const busy = yield* create(owner, hello)
      const bad = yield* create(owner, failing)
      const old = yield* finish(owner, busy)
      // The clock stands at the beginning of a day.
      yield* copyAt(owner, old, -6 * dayMillis)
      yield* copyAt(owner, old, -6 * dayMillis - 1)
      yield* finish(owner, bad)
      yield* finish(owner, bad)
      const listed = yield* list(owner, { activity: "true" }, "workflows")
      const found = Object.fromEntries(
        listed.body.items.map(({ activity, id }: any) => [id, activity]),
      )
      assert.deepStrictEqual(found[quiet], { lastRun: null, runs7d: 0, failed7d: 0 })
      assert.deepStrictEqual([found[busy].runs7d, found[busy].failed7d], [2, 0])
      assert.deepStrictEqual([found[bad].runs7d, found[bad].failed7d], [2, 2])
      const { body } = yield* list(owner, { workflowId: bad, limit: 1 })
      assert.deepStrictEqual(found[bad].lastRun, body.items[0])
    }),
  )

  it.effect("is left out where it is not asked for, and is each account's own", () =>
    Effect.gen(function* () {
      const { tenant } = yield* Harness
      const [owner, stranger] = [yield* tenant(), yield* tenant()]
      yield* finish(owner, yield* create(owner, hello))
      const plain = yield* list(owner, {}, "workflows")
      assert.deepStrictEqual(Object.keys(plain.body.items[0]).toSorted(), [
        "description",
        "id",
        "name",
        "nodeCount",
        "revision",
        "thumbnailUrl",
        "updatedAt",
      ])
      const foreign = yield* list(stranger, { activity: "true" }, "workflows")
      assert.deepStrictEqual(foreign.body.items, [])
      const wrong = yield* list(owner, { activity: "yes" }, "workflows")
      assert.strictEqual(wrong.status, 400)
    }),
  )
})

layer(Harness.layer)("the outlines of workflows", (it) => {
  it.effect("show the places of nodes, the edges and the revision, and nothing else", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const nodes = [
        { id: "a", type: "echo", position: { x: 1, y: -2.5 }, data: { secret: "s" }, width: 3 },
        { id: "b", type: "unknown", position: { x: 4, y: 5 } },
      ]
      const edges = [{ id: "e", source: "a", target: "b", sourceHandle: "output", label: "l" }]
      const id = yield* create(owner, { name: "Drawn", nodes, edges })
      const json = { name: "Drawn again" }
      yield* send("PATCH", `/api/v1/workflows/${id}`, { key: owner.key, json })
      const { body } = yield* list(owner, { view: "outline" }, "workflows")
      assert.deepStrictEqual(body.items[0].outline, {
        nodes: [
          { id: "a", type: "echo", x: 1, y: -2.5 },
          { id: "b", type: "unknown", x: 4, y: 5 },
        ],
        edges: [{ source: "a", target: "b" }],
      })
      assert.strictEqual(body.items[0].revision, 2)
    }),
  )
})
