/**
 * Expressions in an engine that is put together for an embedder: with JavaScript.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import type { Json } from "@millrace/core/domain/Json"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import * as Host from "@millrace/host/Host"
import * as Stores from "@millrace/memory/Stores"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import { Effect } from "effect"

const account = AccountId.make("acc_1")

const engine = Host.layer({
  stores: Stores.layer,
  nodes: Builtin.layer,
  egress: Outbound.layer(),
  masterKey: MasterVault.newMasterKey,
  webhooks: {},
})

const node = (id: string, type: string, inputs: { readonly [port: string]: Json }) => ({
  id,
  type,
  position: { x: 0, y: 0 },
  data: { inputs },
})

/** A workflow that puts orders out and then `value`. */
const created = (value: Json) =>
  Effect.gen(function* () {
    const orders = [
      { quantity: 2, price: 1.5 },
      { quantity: 1, price: 4 },
    ]
    return yield* (yield* Workflows).create(account, {
      name: "Orders",
      description: null,
      thumbnailUrl: null,
      nodes: [
        node("orders", "constant", { value: orders }),
        node("sum", "constant", { value }),
        node("end", "response", {}),
      ],
      edges: [
        { id: "e1", source: "orders", target: "sum" },
        { id: "e2", source: "sum", target: "end" },
      ],
    })
  })

const outputOf = (value: Json) =>
  Effect.gen(function* () {
    const { id: workflowId } = yield* created(value)
    const { start, wait } = yield* Runs
    const { id } = yield* start(account, { workflowId, values: { x: 2 } })
    const { nodeRuns, run } = yield* wait(account, id)
    return run.output ?? nodeRuns.find(({ nodeId }) => nodeId === "sum")?.error
  })

describe("JavaScript in an expression", () => {
  it.live("computes what no path says, from nodes, values and the input", () =>
    Effect.gen(function* () {
      const value = {
        total: "{{ orders.output.reduce((sum, each) => sum + each.quantity * each.price, 0) }}",
        text: "{{ input.length * values.x }} of {{ nodes['orders'].output.map((o) => o.price) }}",
        when: "{{ new Date(run.startedAt).getTime() > 0 }}",
      }
      assert.deepStrictEqual(yield* outputOf(value), { total: 7, text: "4 of [1.5,4]", when: true })
    }).pipe(Effect.provide(engine)),
  )

  it.live("fails its node with its message and the expression", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* outputOf("{{ orders.output.nothing.x + 1 }}"),
        'input "value": {{ orders.output.nothing.x + 1 }}: ' +
          "TypeError: cannot read property 'x' of undefined",
      )
      assert.strictEqual(
        yield* outputOf("{{ (() => { for (;;); })() }}"),
        'input "value": {{ (() => { for (;;); })() }}: it takes longer than 50 ms',
      )
    }).pipe(Effect.provide(engine)),
  )

  it.live("is refused at the start where it is none, with its column", () =>
    Effect.gen(function* () {
      const { id: workflowId } = yield* created("a {{ 1 + }} {{ run.id; 2 }}")
      const { start } = yield* Runs
      const { message } = yield* Effect.flip(start(account, { workflowId }))
      assert.strictEqual(
        message,
        'Node "sum": input "value", column 9: the expression ends too early; ' +
          'Node "sum": input "value", column 22: unexpected ";"',
      )
    }).pipe(Effect.provide(engine)),
  )
})

describe("a rule", () => {
  it.live("compares with what an expression gives, in a condition, a switch and a list", () =>
    Effect.gen(function* () {
      const { create } = yield* Workflows
      const rule = { path: "price", op: "greaterThan", value: "{{ values.least * 2 }}" }
      const { id: workflowId } = yield* create(account, {
        name: "Rules",
        description: null,
        thumbnailUrl: null,
        nodes: [
          node("order", "constant", { value: { price: 5, lines: [{ price: 3 }, { price: 9 }] } }),
          node("if", "condition", { rule }),
          node("way", "switch", { cases: [{ name: "dear", rule }] }),
          node("list", "list", {
            items: "{{ order.output.lines }}",
            steps: [{ op: "filter", rule }],
          }),
        ],
        edges: [
          { id: "e1", source: "order", target: "if" },
          { id: "e2", source: "order", target: "way" },
          { id: "e3", source: "order", target: "list" },
        ],
      })
      const { start, wait } = yield* Runs
      const outputs = (least: number) =>
        Effect.gen(function* () {
          const { id } = yield* start(account, { workflowId, values: { least } })
          const { nodeRuns } = yield* wait(account, id)
          return nodeRuns.slice(1).map(({ error, output }) => error ?? Object.keys(output ?? {}))
        })
      const list = ["output", "count"]
      assert.deepStrictEqual(yield* outputs(2), [["true"], ["dear"], list])
      assert.deepStrictEqual(yield* outputs(3), [["false"], ["default"], list])
      const wrong = yield* Effect.flip(
        start(account, {
          workflowId,
          nodeOverrides: [node("if", "condition", { rule: { ...rule, op: "{{ 1 }}x", path: 7 } })],
        }),
      )
      assert.match(wrong.message, /input "rule": \[path\]: expected a path/)
    }).pipe(Effect.provide(engine)),
  )
})
