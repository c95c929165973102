/**
 * What a node puts out and the next one is given is stored once.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Samples from "@millrace/conformance/Samples"
import { AccountId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as StoredInputs from "../src/internal/StoredInputs.ts"
import * as TestPostgres from "./TestPostgres.ts"

const account = AccountId.make("acc_inputs")
const large = "x".repeat(60_000)

const step = define({
  key: "step",
  inputs: { input: Schema.optionalKey(Json) },
  outputs: { output: Json },
  run: () => Effect.succeed({ output: large }),
})

const layerEngine = Engine.layerWithoutWebhooks.pipe(
  Layer.provide(NodeTypes.layer(step)),
  Layer.provideMerge(Stores.layer),
  Layer.provideMerge(Layer.unwrap(Effect.map(TestPostgres.url, (url) => Postgres.layer({ url })))),
)

const node = (id: string, data = {}) => ({ id, type: "step", position: { x: 0, y: 0 }, data })
const edge = (source: string, target: string) => ({ id: source + target, source, target })

describe("Inputs of nodes", () => {
  it.live("take no room where an output before them says the same", () =>
    Effect.gen(function* () {
      const [workflows, runs, sql] = [yield* Workflows, yield* Runs, yield* SqlClient]
      const { id: workflowId } = yield* workflows.create(account, {
        name: "Large",
        description: null,
        thumbnailUrl: null,
        nodes: [node("a", { inputs: { input: large } }), node("b"), node("c")],
        edges: [edge("a", "b"), edge("b", "c")],
      })
      const { id } = yield* runs.start(account, { workflowId })
      const { run } = yield* runs.wait(account, id)
      assert.strictEqual(run.status, "COMPLETED")
      const sizes = yield* sql<{ readonly input: number; readonly output: number }>`
        SELECT octet_length(input_or_ports::text) AS input, octet_length(output::text) AS output
        FROM node_runs ORDER BY ordinal`
      assert.deepStrictEqual(
        sizes.map(({ input, output }) => [input < 100, output > 60_000]),
        [1, 2, 3].map(() => [true, true]),
      )
      const found = yield* RunStore.use((store) => store.find(account, id))
      assert.deepStrictEqual(
        Option.getOrThrow(found).nodeRuns.map(({ input }) => input),
        [1, 2, 3].map(() => ({ input: large })),
      )
    }).pipe(Effect.provide(layerEngine)),
  )

  it("are stored with the bytes of their text, for one node and for many", () => {
    const value = { name: 'ä€😀\\"', list: [1, null, { deep: large }] }
    const inputs = [
      { input: value },
      { input: value, "größe €": value, text: large },
      { list: [value, value], number: 12, nothing: null, "": large },
    ]
    const rows = inputs.map((input, index) => ({ ...Samples.nodeRun(`n${index}`), input }))
    const implied = new Map(rows.map(({ nodeId }) => [nodeId, []]))
    const expected = inputs.map((input) => [Buffer.byteLength(JSON.stringify(input))])
    const stored = (sent: ReadonlyArray<StoredInputs.SentNodeRun>) =>
      sent.map((each) => each.stored)
    assert.deepStrictEqual(stored(StoredInputs.sentOf(rows, implied)), expected)
    const alone = rows.flatMap((row) => StoredInputs.sentOf([row], implied))
    assert.deepStrictEqual(stored(alone), expected)
  })

  it("are stored as they are if they are not implied, or short", () => {
    const [short, whole] = [{ a: 1 }, { a: large }]
    const rows = [short, whole].map((input) => ({ ...Samples.nodeRun("n"), input }))
    const sent = StoredInputs.sentOf(rows, new Map([["m", []]]))
    assert.deepStrictEqual(
      sent.map(({ stored }) => stored),
      [short, whole],
    )
    const implied = StoredInputs.sentOf(rows, new Map([["n", []]]))
    assert.deepStrictEqual(
      implied.map(({ stored }) => stored),
      [short, [Buffer.byteLength(JSON.stringify(whole))]],
    )
  })
})
