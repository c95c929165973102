// Texts that look like expressions: refused at a start, and let be wherever a run has begun.
import { assert, describe, it } from "@effect/vitest"
import { RunnerId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import type { Declaration } from "@millrace/core/engine/NodeDefinition"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, Gates, node, nodeWith, shared, start, types } from "./TestEngine.ts"

const fields = { value: Schema.optionalKey(Json), other: Schema.optionalKey(Json) }

/** Waits until the test opens it, and puts its value out. */
const slowly = (
  templates: Declaration<typeof fields, { output: typeof Json }, string, Gates>["templates"],
) =>
  define({
    key: "slowly",
    inputs: fields,
    outputs: { output: Json },
    ...(templates === undefined ? {} : { templates }),
    run: Effect.fnUntraced(function* ({ value = null }) {
      yield* Effect.flatMap(Gates, (gates) => gates.pass("slow"))
      return { output: value }
    }),
  })

const strict = [...types, slowly(undefined)]
const lenient = [...types, slowly({ value: () => [], other: () => ["holds nothing good"] })]

const refusal = (...workflow: Parameters<typeof start>) =>
  Effect.gen(function* () {
    const { context, stop } = yield* boot(strict)
    const refused = yield* Effect.flip(start(...workflow)).pipe(Effect.provideContext(context))
    yield* stop
    return (refused as Error).message
  }).pipe(Effect.provide(shared()))

const clause =
  "holds {{, and nothing is filled in here; make the text with a transform node and bring it by " +
  "an edge"

describe("a literal that looks like an expression", () => {
  it.effect("is named by node, port and place, beside everything else", () =>
    Effect.gen(function* () {
      const value = { a: ["fine", "{{ input.id + 1 }}"], "{{ key }}": "{ {" }
      assert.strictEqual(
        yield* refusal([node("slow", "slowly", { value, other: "{{" }), node("b", "nonsense")]),
        'Node "b": unknown type "nonsense"; ' +
          `Node "slow": input "value": [a][1]: ${clause}; Node "slow": input "other": ${clause}`,
      )
    }),
  )

  it.effect("is named in what a node puts out instead of failing, too", () =>
    Effect.gen(function* () {
      const data = { onError: "default", default: { output: "{{ input }}" } }
      assert.strictEqual(
        yield* refusal([nodeWith("slow", "slowly", {}, data)]),
        `Node "slow": default of output "output": ${clause}`,
      )
    }),
  )

  it.effect("is named in a node that a start replaces or runs alone", () =>
    Effect.gen(function* () {
      const drawn = node("slow", "slowly", { value: "{{ x }}" })
      const expected = `Node "slow": input "value": ${clause}`
      const request = { nodeOverrides: [drawn] }
      assert.strictEqual(yield* refusal([node("slow", "slowly")], [], request), expected)
      assert.strictEqual(yield* refusal([drawn], [], { singleNodeId: "slow" }), expected)
    }),
  )

  it.effect("is no matter of a type that fills it in itself, unless the type says so", () =>
    Effect.gen(function* () {
      const { context, stop } = yield* boot(lenient)
      const drawn = (port: string) => [node("slow", "slowly", { [port]: "{{ x }}" })]
      const begun = yield* start(drawn("value")).pipe(Effect.provideContext(context))
      assert.strictEqual(begun.status, "RUNNING")
      const refused = yield* Effect.flip(start(drawn("other"))).pipe(Effect.provideContext(context))
      const message = 'Node "slow": input "other": holds nothing good'
      assert.strictEqual((refused as Error).message, message)
      yield* Effect.flatMap(Gates, (gates) => gates.open("slow"))
      yield* stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("a text with braces that is no literal as drawn", () => {
  it.effect("is data: in values and overrides it is never judged", () =>
    Effect.gen(function* () {
      const { context, stop } = yield* boot(strict)
      const gates = yield* Gates
      yield* gates.open("slow")
      const record = yield* Effect.gen(function* () {
        const runs = yield* Runs
        const { id } = yield* start([node("slow", "slowly", { value: "{{ drawn }}" })], [], {
          values: { a: "{{ b }}" },
          graphInputOverrides: { slow: { value: "{{ given }}" } },
        })
        return yield* runs.wait(account, id)
      }).pipe(Effect.provideContext(context))
      assert.deepStrictEqual(byNode(record)["slow"]?.output, { output: "{{ given }}" })
      assert.deepStrictEqual(record.run.values, { a: "{{ b }}" })
      yield* stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is let be in a run that was started before it was refused", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const before = yield* boot(lenient)
      const drawn = [node("slow", "slowly", { value: "{{ input.id + 1 }}" })]
      const { id } = yield* start(drawn).pipe(Effect.provideContext(before.context))
      yield* store.takeOver(account, id, RunnerId.make("exe_dead"))
      yield* before.stop
      const after = yield* boot(strict)
      const gates = yield* Gates
      yield* gates.open("slow")
      yield* TestClock.adjust("2 minutes")
      const record = yield* Effect.gen(function* () {
        const runs = yield* Runs
        return yield* runs.wait(account, id)
      }).pipe(Effect.provideContext(after.context))
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.deepStrictEqual(byNode(record)["slow"]?.output, { output: "{{ input.id + 1 }}" })
      yield* after.stop
    }).pipe(Effect.provide(shared())),
  )
})
