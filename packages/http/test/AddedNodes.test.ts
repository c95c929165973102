/**
 * Adding a node to a workflow (specification 2.7 and 4.4).
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { create, hello } from "./Samples.ts"

const fieldsOf = (value: object) => Object.keys(value).toSorted()

const get = Effect.fnUntraced(function* ({ key }: Tenant, id: string) {
  const { send } = yield* Harness
  return yield* send("GET", `/api/v1/workflows/${id}`, { key })
})

const addTo = Effect.fnUntraced(function* ({ key }: Tenant, id: string, json: unknown) {
  const { send } = yield* Harness
  return yield* send("POST", `/api/v1/workflows/${id}/nodes`, { key, json })
})

layer(Harness.layer)("nodes of a workflow", (it) => {
  describe("POST /v1/workflows/{id}/nodes", () => {
    it.effect("answers 201 with exactly the fields of an added node", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        const { body, headers, status } = yield* addTo(owner, id, {
          nodeType: "measure",
          column: 2,
          row: 1,
          inputs: { text: "a b" },
          mode: "words",
        })
        assert.strictEqual(status, 201)
        assert.strictEqual(headers.get("location"), `/api/v1/workflows/${id}`)
        const { nodeId, ...rest } = body
        assert.deepStrictEqual(rest, {
          type: "measure",
          position: { x: 760, y: 240 },
          inputPorts: ["text"],
          outputPorts: ["count"],
          mode: "words",
          inputsSet: ["text"],
        })
        const { nodes } = (yield* get(owner, id)).body
        assert.strictEqual(nodes.at(-1).id, nodeId)
        assert.deepStrictEqual(nodes.at(-1).data, { inputs: { text: "a b" }, mode: "words" })
      }),
    )

    it.effect("leaves mode and inputsSet out where they do not apply", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        const { body } = yield* addTo(owner, id, { nodeType: "echo", position: { x: 7, y: 8 } })
        assert.deepStrictEqual(fieldsOf(body), [
          "inputPorts",
          "nodeId",
          "outputPorts",
          "position",
          "type",
        ])
        assert.deepStrictEqual(body.position, { x: 7, y: 8 })
      }),
    )

    it.effect("refuses an unknown type, input or mode with 400 and adds nothing", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        const bodies = [
          { nodeType: "nope" },
          { nodeType: "echo", inputs: { nope: 1 } },
          { nodeType: "echo", inputs: { text: 5 } },
          { nodeType: "measure", mode: "nope" },
        ]
        for (const json of bodies) {
          const { body, status } = yield* addTo(owner, id, json)
          assert.strictEqual(status, 400)
          assert.deepStrictEqual(fieldsOf(body), ["error"])
        }
        assert.strictEqual((yield* get(owner, id)).body.nodes.length, 1)
      }),
    )

    it.effect("refuses a body of the wrong form with 400", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        const { body, status } = yield* addTo(owner, id, {
          nodeType: "",
          column: 0,
          row: 1.5,
          position: { x: 1 },
          inputs: [],
        })
        assert.strictEqual(status, 400)
        assert.deepStrictEqual(body, {
          error:
            "nodeType: expected a length of at least 1; position.y: is missing; " +
            "column: expected a value greater than or equal to 1; " +
            "row: expected an integer; inputs: expected an object",
        })
      }),
    )

    it.effect("answers 404 for an unknown workflow", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const { status } = yield* addTo(yield* tenant(), "wf_none", { nodeType: "echo" })
        assert.strictEqual(status, 404)
      }),
    )
  })
})
