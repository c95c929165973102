/**
 * A node with secrets that runs alone: it gets their values, and data that comes from earlier runs
 * or from the start can name none.
 */
import { assert, describe, it } from "@effect/vitest"
import { Json } from "@millrace/core/domain/Json"
import type { SecretSource } from "@millrace/core/engine/CurrentSecrets"
import { CurrentSecrets } from "@millrace/core/engine/CurrentSecrets"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { StartRequest } from "@millrace/core/engine/Runs"
import { Runs } from "@millrace/core/engine/Runs"
import type { Node } from "@millrace/core/domain/Workflow"
import { Effect, Redacted, Schema } from "effect"
import { account, boot, byNode, edge, node, nodeWith, shared, start, types } from "./TestEngine.ts"

const token = "sk_live_51HxYz"
const values: Readonly<Record<string, string>> = { token, other: "another-5ecret" }

const source: SecretSource = {
  names: () => Effect.succeed(Object.keys(values)),
  open: (_account, names) =>
    Effect.succeed(
      names.flatMap((name) =>
        values[name] === undefined
          ? []
          : [{ name, hosts: ["good.example"], value: Redacted.make(values[name]) }],
      ),
    ),
}

/** What handlers were given. */
const typesOf = (seen: Array<unknown>) => [
  ...types,
  define({
    key: "ask",
    inputs: {
      // Only values in this form are accepted.
      key: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^sk_/))),
      headers: Schema.optionalKey(Json),
      text: Schema.optionalKey(Json),
      input: Schema.optionalKey(Json),
    },
    secrets: ["headers", "key"],
    outputs: { output: Json },
    run: (inputs) =>
      Effect.sync(() => {
        const { input: _, ...others } = inputs
        seen.push(others)
        if (inputs.text === "fail") throw new Error("no luck")
        return { output: JSON.stringify(inputs) }
      }),
  }),
]

type More = Partial<Pick<StartRequest, "values" | "nodeOverrides" | "graphInputOverrides">>

/** Runs `a -> b`, then `b` alone. */
const alone = Effect.fnUntraced(
  function* (b: Node, passed: Json, more: More = {}, port = "b") {
    const seen: Array<unknown> = []
    const { context, stop } = yield* boot(typesOf(seen))
    const made = yield* Effect.gen(function* () {
      const runs = yield* Runs
      const drawn = [[node("a", "pass", { input: passed }), b], [edge("a", port)]] as const
      const first = yield* start(...drawn, { graphInputOverrides: { a: { input: passed } } })
      yield* runs.wait(account, first.id)
      seen.length = 0
      const asked = { workflowId: first.workflowId, singleNodeId: "b", ...more }
      const { id } = yield* runs.start(account, asked)
      return yield* runs.wait(account, id)
    }).pipe(Effect.provideContext(context), Effect.result)
    yield* stop
    return { made, seen }
  },
  Effect.provideService(CurrentSecrets, source),
)

const recordOf = ({ made }: Effect.Success<ReturnType<typeof alone>>) => {
  if (made._tag === "Failure") throw made.failure
  return made.success
}

const refusalOf = ({ made }: Effect.Success<ReturnType<typeof alone>>) =>
  made._tag === "Failure" ? (made.failure as Error).message : "accepted"

const bait = "{{ secrets.other }}"

describe("a node with secrets that runs alone", () => {
  it.effect("gets their values, and its record has the expressions", () =>
    Effect.gen(function* () {
      const inputs = {
        key: "{{ secrets.token }}",
        headers: { authorization: "Bearer {{ secrets.token }}", x: "{{ a.output }}", none: 1 },
        text: "{{ a.output }}",
      }
      const run = yield* alone(node("b", "ask", inputs), "plain")
      const headers = { authorization: `Bearer ${token}`, x: "plain", none: 1 }
      assert.deepStrictEqual(run.seen, [{ key: token, headers, text: "plain" }])
      const { input, output, status } = byNode(recordOf(run))["b"]!
      assert.strictEqual(status, "COMPLETED")
      assert.deepStrictEqual(input, {
        key: "{{ secrets.token }}",
        headers: { ...headers, authorization: "Bearer {{ secrets.token }}" },
        text: "plain",
        input: "plain",
      })
      assert.notInclude(JSON.stringify([recordOf(run), output]), token)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("takes what other nodes, values and overrides bring as data, whatever is in it", () =>
    Effect.gen(function* () {
      const headers = {
        mixed: "{{ a.output }}{{ secrets.token }}{{ values.open }}{ secrets.other }}",
        whole: "{{ values.bait }}",
        deep: ["{{ nodes.a }}", "{{ input }}"],
      }
      const run = yield* alone(node("b", "ask", { headers, text: "{{ a.output }}" }), bait, {
        values: { open: "{", bait },
      })
      const mixed = `${bait}${token}{{ secrets.other }}`
      assert.deepStrictEqual(run.seen, [
        { headers: { mixed, whole: bait, deep: [{ output: bait }, bait] }, text: bait },
      ])
      const override = { graphInputOverrides: { b: { headers: bait, text: bait } } }
      const replaced = yield* alone(
        node("b", "ask", { headers: "{{ secrets.token }}" }),
        1,
        override,
      )
      assert.deepStrictEqual(replaced.seen, [{ headers: bait, text: bait }])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("takes a literal before what an edge brought last", () =>
    Effect.gen(function* () {
      const drawn = node("b", "ask", { headers: "{{ secrets.token }}" })
      const run = yield* alone(drawn, bait, {}, "b.headers")
      assert.deepStrictEqual(run.seen, [{ headers: token }])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("puts out what it drew instead of failing, as data", () =>
    Effect.gen(function* () {
      const data = { onError: "default", default: { output: ["{{ a.output }}", "Ada"] } }
      const inputs = { headers: "{{ secrets.token }}", text: "fail" }
      const run = yield* alone(nodeWith("b", "ask", inputs, data), bait)
      assert.deepStrictEqual(byNode(recordOf(run))["b"]!.output, { output: [bait, "Ada"] })
      const unused = { default: { output: "{{ a.output }}" } }
      const failed = yield* alone(nodeWith("b", "ask", inputs, unused), 1)
      assert.strictEqual(byNode(recordOf(failed))["b"]!.status, "FAILED")
      const constant = { onError: "default", default: { output: "Ada" } }
      const kept = yield* alone(nodeWith("b", "ask", inputs, constant), 1)
      assert.deepStrictEqual(byNode(recordOf(kept))["b"]!.output, { output: "Ada" })
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is refused for a secret that is not there, and one that only an override names", () =>
    Effect.gen(function* () {
      const missing = yield* alone(node("b", "ask", { headers: "{{ values.h }}" }), 1, {
        nodeOverrides: [node("b", "ask", { headers: "{{ secrets.token }}" })],
      })
      assert.strictEqual(
        refusalOf(missing),
        'Node "b": the override names the secret "token", and the stored node does not',
      )
      const stored = node("b", "ask", { headers: "{{ secrets.token }}" })
      const same = yield* alone(stored, 1, {
        nodeOverrides: [node("b", "ask", { headers: "X {{ secrets.token }}" })],
      })
      assert.deepStrictEqual(same.seen, [{ headers: `X ${token}` }])
      const elsewhere = yield* alone(stored, 1, {
        nodeOverrides: [node("b", "ask", { text: "{{ secrets.token }}" })],
      })
      assert.match(refusalOf(elsewhere), /column 4: secrets cannot be used here/)
    }).pipe(Effect.provide(shared())),
  )
})
