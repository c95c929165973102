// Messages over crashes: each is taken once, and none is missed, whatever goes wrong.
import { Json } from "@millrace/core/domain/Json"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { faults, withFault } from "./TestCrashes.ts"
import { account, byNode, edge, node, save, shared, types } from "./TestEngine.ts"

/** Waits for a message, for an hour at most, and puts out what it says. */
const wait = define({
  key: "wait",
  inputs: { input: Schema.optionalKey(Json), name: Schema.String },
  outputs: { output: Json },
  run: Effect.fnUntraced(function* ({ name }) {
    const { message, resumed, suspend } = yield* CurrentNode
    const until = (yield* Clock.currentTimeMillis) + 3_600_000
    if (resumed === undefined) return yield* suspend({ for: name, until }, null)
    return { output: message?.payload ?? "time" }
  }),
})

/** Sends messages early, at the same moment as a commit, and late; gives what became of them. */
const lives = Effect.gen(function* () {
  const runs = yield* Runs
  const store = yield* RunStore
  const nodes = [
    node("first", "wait", { name: "go" }),
    node("beside", "wait", { name: "go" }),
    node("then", "wait", { name: "more" }),
  ]
  const saved = yield* save(nodes, [edge("first", "then")])
  const { id } = yield* runs.start(account, { workflowId: saved.id })
  const send = (name: string, payload: number) =>
    runs.send(account, id, { id: `${payload}`, name, payload })
  yield* send("go", 1)
  yield* TestClock.adjust("5 seconds")
  yield* send("more", 2)
  yield* TestClock.adjust("1 minute")
  yield* send("go", 3)
  yield* send("go", 3)
  yield* TestClock.adjust("2 minutes")
  const record = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
  const left = yield* store.inboxes([{ runId: id, after: 0, held: [] }])
  const rows = byNode(record)
  const outputs = ["beside", "first"].map((each) => Number(rows[each]?.output?.["output"]))
  return {
    status: record.run.status,
    outputs: outputs.toSorted((a, b) => a - b),
    last: rows["then"]?.output?.["output"],
    messages: record.run.messages,
    left: left.length,
  }
})

describe("A crash", () => {
  for (const [name, fault] of Object.entries(faults)) {
    it.effect(`${name} loses no message and gives none twice, whichever commit it is`, () =>
      Effect.gen(function* () {
        for (let index = 2; index <= 6; index++) {
          const tried = withFault(fault, index, [...types, wait], lives)
          const ended = yield* Effect.provide(tried, shared())
          assert.deepStrictEqual(
            ended,
            { status: "COMPLETED", outputs: [1, 3], last: 2, messages: 3, left: 0 },
            `commit ${index}`,
          )
        }
      }),
    )
  }
})
