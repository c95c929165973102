/**
 * The catalogue of node types.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Harness } from "./Harness.ts"

layer(Harness.layer)("node types", (it) => {
  describe("GET /v1/node-types", () => {
    it.effect("answers 200 with every type, its ports, modes, schemas and estimate", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const { body, status } = yield* send("GET", "/api/v1/node-types", { key })
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(Object.keys(body), ["items"])
        assert.deepStrictEqual(
          body.items.map((type: { key: string }) => type.key),
          ["echo", "measure", "hang", "hold", "broken", "approval"],
        )
        assert.deepStrictEqual(body.items[0], {
          key: "echo",
          version: 1,
          deprecated: null,
          name: "Echo",
          description: "Hands its input on.",
          category: "data",
          icon: null,
          docs: null,
          modes: [],
          inputPorts: [
            { name: "input", required: false, multiple: false, schema: {} },
            { name: "text", required: false, multiple: false, schema: { type: "string" } },
          ],
          outputPorts: [
            { name: "output", schema: {} },
            {
              name: "error",
              schema: {
                type: "object",
                properties: {
                  message: { type: "string" },
                  nodeId: { type: "string" },
                  attempt: { type: "integer" },
                },
                required: ["message", "nodeId", "attempt"],
                description:
                  "Why the node failed, where an edge starts here or its onError is route.",
              },
            },
          ],
          origin: "application",
          creditEstimate: 0.25,
          creditsByMode: {},
          effects: "writes",
          example: null,
        })
        const { docs, icon, inputPorts, modes } = body.items[1]
        assert.deepStrictEqual([icon, docs], ["ruler", "https://example.com/measure"])
        assert.deepStrictEqual(modes, ["length", "words"])
        assert.isTrue(inputPorts[0].required)
      }),
    )
  })
})
