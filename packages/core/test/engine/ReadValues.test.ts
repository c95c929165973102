// Large values as callers read them: which ones they get, and how many at once.
import { AccountId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { namedBy } from "@millrace/core/domain/LargeValue"
import type { RunRecord } from "@millrace/core/domain/Run"
import { payloadBytesOf, withoutPayloads } from "@millrace/core/domain/RunPayload"
import { layerWithoutWebhooks } from "@millrace/core/engine/Engine"
import { Ids } from "@millrace/core/engine/Ids"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import * as Memory from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { account, node, start } from "./TestEngine.ts"

/** Longer than a row may have, with characters of several bytes. */
const text = "ü€𝄞".repeat(10_000)

const large = define({
  key: "large",
  inputs: {},
  outputs: { output: Json },
  run: () => Effect.succeed({ output: text }),
})

const small = define({
  key: "small",
  inputs: {},
  outputs: { output: Json },
  run: () => Effect.succeed({ output: 1 }),
})

/** An engine, and beside it what reads large values as another process does. */
const at = Effect.provide(
  Layer.merge(layerWithoutWebhooks, LargeValues.layer.pipe(Layer.provide(Ids.layer))).pipe(
    Layer.provideMerge(Memory.layer),
    Layer.provide(NodeTypes.layer(large, small)),
  ),
)

/** An ended run of one node, as it is stored. */
const ended = Effect.fnUntraced(function* (type: "large" | "small") {
  const runs = yield* Runs
  const { id } = yield* start([node("a", type)])
  yield* runs.wait(account, id)
  const { find } = yield* RunStore
  return yield* Effect.flatMap(find(account, id), Effect.fromOption)
})

const isWhole = ({ nodeRuns }: RunRecord): boolean =>
  JSON.stringify(nodeRuns[0]?.output) === JSON.stringify({ output: text })

const largeBytesOf = (record: RunRecord): number =>
  namedBy(record).reduce((sum, { bytes }) => sum + bytes, 0)

describe("LargeValues.open", () => {
  it.effect("gives a value that a row of the run names, and what is known of it", () =>
    Effect.gen(function* () {
      const record = yield* ended("large")
      const [named] = namedBy(record)
      const { open } = yield* LargeValues
      const { bytes, value } = yield* open(account, record.run.id, named!.id)
      assert.deepStrictEqual(value, named)
      const pieces = yield* Stream.runCollect(bytes)
      assert.strictEqual(Buffer.concat(pieces).toString(), JSON.stringify(text))
    }).pipe(at),
  )

  it.effect("gives no value of a stranger, of another run, or that no row names", () =>
    Effect.gen(function* () {
      const [record, other] = [yield* ended("large"), yield* ended("small")]
      const { id } = namedBy(record)[0]!
      const { open } = yield* LargeValues
      const { put } = yield* ValueStore
      const runId = record.run.id
      yield* put({ account, runId, id: "val_of_nobody" }, new TextEncoder().encode("1"))
      const stranger = AccountId.make("acc_stranger")
      const refused = yield* Effect.flip(open(stranger, runId, id))
      assert.deepInclude(refused, { _tag: "RunNotFound", runId })
      for (const [of, valueId] of [
        [runId, "val_of_nobody"],
        [runId, "val_none"],
        [other.run.id, id],
      ] as const) {
        const absent = yield* Effect.flip(open(account, of, valueId))
        assert.deepInclude(absent, { _tag: "ValueNotFound", runId: of, valueId })
      }
    }).pipe(at),
  )
})

describe("LargeValues.withValues", () => {
  it.effect("puts values where they belong as long as everything together has room", () =>
    Effect.gen(function* () {
      const records = [yield* ended("large"), yield* ended("small"), yield* ended("large")]
      const { withValues } = yield* LargeValues
      const bytes = records.map((record) => payloadBytesOf(record) + largeBytesOf(record))
      const whole = (most: number) =>
        Effect.map(withValues(records, most), (found) => found.map(isWhole))
      const all = bytes.reduce((sum, each) => sum + each, 0)
      assert.deepStrictEqual(yield* whole(all), [true, false, true])
      assert.deepStrictEqual(yield* whole(all - 1), [true, false, false])
      assert.deepStrictEqual(yield* whole(bytes[0]!), [true, false, false])
      assert.deepStrictEqual(yield* whole(bytes[0]! - 1), [false, false, false])
      assert.deepStrictEqual(yield* whole(-1), [false, false, false])
      const [first, second] = yield* withValues(records, all)
      assert.deepStrictEqual(first!.nodeRuns[0]!.largeValues, records[0]!.nodeRuns[0]!.largeValues)
      assert.strictEqual(second, records[1])
    }).pipe(at),
  )

  it.effect("leaves records without payloads, and without large values, as they are", () =>
    Effect.gen(function* () {
      const { withValues } = yield* LargeValues
      const [omitted, small] = [withoutPayloads(yield* ended("large")), yield* ended("small")]
      const plain = [omitted, small]
      assert.strictEqual(yield* withValues(plain, 1_000_000), plain)
      const mixed = yield* withValues([omitted, yield* ended("large")], 1_000_000)
      assert.strictEqual(mixed[0], omitted)
      assert.isTrue(isWhole(mixed[1]!))
    }).pipe(at),
  )

  it.effect("leaves out a value that is gone", () =>
    Effect.gen(function* () {
      const record = yield* ended("large")
      const { remove } = yield* ValueStore
      const runId = record.run.id
      yield* remove(namedBy(record).map(({ id }) => ({ account, runId, id })))
      const { withValues } = yield* LargeValues
      const [found] = yield* withValues([record], 1_000_000)
      assert.deepStrictEqual(found!.nodeRuns[0]!.output, { output: null })
    }).pipe(at),
  )
})
