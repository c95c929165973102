/**
 * The node type `code` in an engine that is put together for an embedder.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import type { JsonObject } from "@millrace/core/domain/Json"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import * as Host from "@millrace/host/Host"
import * as Stores from "@millrace/memory/Stores"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import { Effect } from "effect"

const account = AccountId.make("acc_1")

const engine = (codeMillis = 10_000) =>
  Host.layer({
    stores: Stores.layer,
    nodes: Builtin.layer,
    egress: Outbound.layer(),
    masterKey: MasterVault.newMasterKey,
    webhooks: {},
    limits: { codeMillis },
  })

/** A workflow that hands orders to a node. */
const created = (inputs: JsonObject, data: JsonObject = {}) =>
  Effect.gen(function* () {
    const position = { x: 0, y: 0 }
    const orders = [
      { quantity: 2, price: 1.5 },
      { quantity: 1, price: 4 },
    ]
    const constant = { inputs: { value: orders } }
    const { id } = yield* (yield* Workflows).create(account, {
      name: "Orders",
      description: null,
      thumbnailUrl: null,
      nodes: [
        { id: "orders", type: "constant", position, data: constant },
        { id: "code", type: "code", position, data: { ...data, inputs } },
      ],
      edges: [{ id: "e1", source: "orders", target: "code" }],
    })
    return id
  })

/** The node run of the code once its run has ended. */
const executed = Effect.fnUntraced(function* (inputs: JsonObject, data?: JsonObject) {
  const workflowId = yield* created(inputs, data)
  const { start, wait } = yield* Runs
  const { id } = yield* start(account, { workflowId, values: { x: 2 } })
  const { nodeRuns } = yield* wait(account, id)
  return nodeRuns.find(({ nodeId }) => nodeId === "code")!
})

const refused = Effect.fnUntraced(function* (inputs: JsonObject) {
  const workflowId = yield* created(inputs)
  return yield* Effect.flip((yield* Runs).start(account, { workflowId }))
})

describe("A code node", () => {
  it.live("computes its output from its inputs, and writes to its log", () =>
    Effect.gen(function* () {
      const { logs, output } = yield* executed({
        code: [
          "const total = inputs.lines.reduce((sum, each) => sum + each.quantity * each.price, 0)",
          'console.log("total", total, { of: input.length })',
          "console.warn([undefined, 1n], Symbol('s'), () => 1, undefined)",
          "return { total, twice: total * inputs.x }",
        ].join("\n"),
        inputs: { lines: "{{ orders.output }}", x: "{{ values.x }}" },
      })
      assert.deepStrictEqual(output, { output: { total: 7, twice: 14 } })
      assert.deepStrictEqual(
        logs?.map(({ level, message }) => [level, message]),
        [
          ["info", 'total 7 {"of":2}'],
          ["warn", ",1 Symbol(s) a function undefined"],
        ],
      )
    }).pipe(Effect.provide(engine())),
  )

  it.live("keeps braces in its text as they are", () =>
    Effect.gen(function* () {
      const { output } = yield* executed({ code: 'return "{{ values.x }}" + `${{ a: 1 }.a}`' })
      assert.deepStrictEqual(output, { output: "{{ values.x }}1" })
    }).pipe(Effect.provide(engine())),
  )

  it.live("fails with the message and the line of what it throws", () =>
    Effect.gen(function* () {
      const messages: ReadonlyArray<readonly [code: string, message: string]> = [
        ["const a = 1\nreturn a.b.c", "TypeError: cannot read property 'c' of undefined (line 2)"],
        ["\n\nthrow new Error('no')", "Error: no (line 3)"],
        ["throw 'a text'", 'it threw "a text"'],
        ["return values.x", "ReferenceError: 'values' is not defined (line 1)"],
        ["return Date.now()", "TypeError: not a function (line 1)"],
        ["return () => 1", "TypeError: a function is not JSON"],
        ["1 + 1", "it returns nothing; write return null where nothing is meant"],
      ]
      for (const [code, message] of messages) {
        const { error } = yield* executed({ code })
        assert.strictEqual(error, `code: ${message}`)
      }
    }).pipe(Effect.provide(engine())),
  )

  it.live("is refused at the start where it is malformed, with line and column", () =>
    Effect.gen(function* () {
      const { message } = yield* refused({ code: "const a = 1\nreturn a +" })
      assert.strictEqual(
        message,
        'Node "code": input "code", line 2, column 11: the code ends too early',
      )
      const secret = yield* refused({ code: "const a = 1\nreturn secrets.token" })
      assert.include(secret.message, "line 2, column 8: secrets cannot be used in JavaScript")
      for (const code of ["return 1 }, () => {", "}) ; (function () {", "} static b() {"]) {
        const error = yield* refused({ code })
        assert.include(error.message, 'Node "code": input "code", line 1, column ', code)
      }
      const { validate } = yield* Runs
      const workflowId = yield* created({ code: "let a\nlet a" })
      const { problems } = yield* validate(account, { workflowId })
      const [{ column, line, port } = {}] = problems
      assert.deepStrictEqual({ column, line, port }, { line: 2, column: 6, port: "code" })
    }).pipe(Effect.provide(engine())),
  )

  it.live("is ended by its time, with what it had written before", () =>
    Effect.gen(function* () {
      const loop = yield* executed({ code: 'console.log("begun")\nfor (;;);' })
      assert.strictEqual(loop.error, "code: it takes longer than 300 ms")
      assert.strictEqual(loop.logs?.[0]?.message, "begun")
      const native = yield* executed({ code: "return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)" })
      assert.strictEqual(native.error, "code: it takes longer than 300 ms")
    }).pipe(Effect.provide(engine(300))),
  )

  it.live("is ended by the timeout of its node and by a cancel, and makes room for others", () =>
    Effect.gen(function* () {
      const native = { code: "return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)" }
      const { error } = yield* executed(native, { timeout: 200 })
      assert.strictEqual(error, "timed out after 200ms")
      const { cancel, start, wait } = yield* Runs
      const workflowId = yield* created(native)
      const { id } = yield* start(account, { workflowId })
      yield* cancel(account, id)
      const { run } = yield* wait(account, id)
      assert.strictEqual(run.status, "CANCELED")
      const { output } = yield* executed({ code: "return input.length" })
      assert.deepStrictEqual(output, { output: 2 })
    }).pipe(Effect.provide(engine())),
  )

  it.live("does not hold up expressions, nor the code of another account", () =>
    Effect.gen(function* () {
      const { cancel, start, wait } = yield* Runs
      const busy = yield* created({ code: "for (;;);" })
      const starts = [0, 1, 2].map(() => start(account, { workflowId: busy }))
      const loops = yield* Effect.all(starts)
      const { create } = yield* Workflows
      const other = AccountId.make("acc_2")
      const { id: workflowId } = yield* create(other, {
        name: "Other",
        description: null,
        thumbnailUrl: null,
        nodes: [
          {
            id: "code",
            type: "code",
            position: { x: 0, y: 0 },
            data: { inputs: { code: "return inputs", inputs: "{{ 6 * 7 }}" } },
          },
        ],
        edges: [],
      })
      const { id } = yield* start(other, { workflowId })
      const { nodeRuns } = yield* wait(other, id)
      assert.deepStrictEqual(nodeRuns[0]?.output, { output: 42 })
      for (const loop of loops) yield* cancel(account, loop.id)
    }).pipe(Effect.provide(engine())),
  )
})
