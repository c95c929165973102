/**
 * What operators are told of node types in use.
 */
import { assert, describe, layer } from "@effect/vitest"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { Effect, Layer, Redacted } from "effect"
import { Harness } from "./Harness.ts"

const token = "an operator token that nobody guesses"

const Mounted = Harness.layer.pipe(Layer.provide(Layer.succeed(AdminToken, Redacted.make(token))))

interface Item extends Readonly<Record<string, unknown>> {
  readonly type: string
}

layer(Mounted)("with a token", (it) => {
  describe("GET /api/admin/v1/node-types", () => {
    it.effect("lists what the server has and what is in use, with who uses it", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { accountId, key } = yield* tenant()
        const position = { x: 0, y: 0 }
        const nodes = [
          { id: "a", type: "echo", position },
          { id: "b", type: "echo", position, data: { version: 9 } },
          { id: "c", type: "gone", position },
        ]
        const json = { name: "Mixed", nodes, edges: [] }
        const created = yield* send("POST", "/api/v1/workflows", { key, json })
        const { body, status } = yield* send("GET", "/api/admin/v1/node-types", { key: token })
        assert.strictEqual(status, 200)
        const items = body.items as ReadonlyArray<Item>
        const user = { accountId, workflowId: created.body.id, workflowName: "Mixed" }
        const used = { drafts: 1, published: 0, openRuns: 0, workflows: [user] }
        const absent = { isKnown: false, origin: null, deprecated: null, ...used }
        const of = (type: string) => items.filter((each) => each.type === type)
        assert.deepStrictEqual(of("echo"), [
          { type: "echo", version: 1, ...absent, isKnown: true },
          { type: "echo", version: 9, ...absent },
        ])
        assert.deepStrictEqual(of("gone"), [{ type: "gone", version: null, ...absent }])
        const unused = { drafts: 0, published: 0, openRuns: 0, workflows: [] }
        const known = { isKnown: true, origin: null, deprecated: null }
        assert.deepStrictEqual(of("hang"), [{ type: "hang", version: 1, ...known, ...unused }])
        const sorted = items.map(({ type }) => type).toSorted()
        assert.deepStrictEqual(
          items.map(({ type }) => type),
          sorted,
        )
      }),
    )
  })
})
