/**
 * How every store must keep large values: byte for byte, apart from each other, and for good.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { RunId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { ValueKey } from "@millrace/core/ports/ValueStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Effect, Option, Stream } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<ValueStore | RunStore>

/** Keys of values of one stored run. */
const scene = Effect.gen(function* () {
  const samples = yield* Samples.make
  const run = samples.run()
  yield* (yield* RunStore).commit(Samples.newRun(run))
  const keyOf = (id: string): ValueKey => ({ account: samples.account, runId: run.id, id })
  return { samples, run, keyOf, store: yield* ValueStore }
})

/** Bytes that no compression makes smaller. */
const noise = (length: number, seed = 1): Uint8Array => {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = seed
  for (let at = 0; at < words.length; at++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[at] = state
  }
  return new Uint8Array(words.buffer, 0, length)
}

/** The bytes of a value; `undefined` for one that is not there. */
const readAll = Effect.fnUntraced(function* (key: ValueKey) {
  const found = yield* (yield* ValueStore).read(key)
  if (Option.isNone(found)) return undefined
  return Buffer.concat(yield* Stream.runCollect(found.value))
})

const keeps = (it: Tests): void => {
  it.effect.each([0, 1, 65_536, 261_120, 261_121, 1_048_576, 16_777_216])(
    "gives %s bytes back as they came",
    (length) =>
      Effect.gen(function* () {
        const { keyOf, store } = yield* scene
        const bytes = noise(length)
        yield* store.put(keyOf("val_1"), bytes)
        assert.isTrue(Buffer.from(bytes).equals((yield* readAll(keyOf("val_1")))!))
      }),
  )

  it.effect("keeps what was stored first under a key", () =>
    Effect.gen(function* () {
      const { keyOf, store } = yield* scene
      yield* store.put(keyOf("val_1"), noise(300_000, 1))
      yield* store.put(keyOf("val_1"), noise(200_000, 2))
      assert.deepStrictEqual([...(yield* readAll(keyOf("val_1")))!], [...noise(300_000, 1)])
    }),
  )

  it.effect("does not see later changes of the bytes that it was given", () =>
    Effect.gen(function* () {
      const { keyOf, store } = yield* scene
      const bytes = noise(100)
      yield* store.put(keyOf("val_1"), bytes)
      bytes.fill(0)
      assert.deepStrictEqual([...(yield* readAll(keyOf("val_1")))!], [...noise(100)])
    }),
  )
}

const separates = (it: Tests): void => {
  it.effect("finds nothing under another account, run or id", () =>
    Effect.gen(function* () {
      const { keyOf, samples, store } = yield* scene
      const key = keyOf("val_1")
      yield* store.put(key, noise(10))
      const others: ReadonlyArray<ValueKey> = [
        { ...key, account: samples.stranger },
        { ...key, runId: RunId.make(`${key.runId}x`) },
        { ...key, id: "val_2" },
        { ...key, id: "" },
        { ...key, id: "../val_1" },
        { ...key, id: "a\u0000b\ud800'%" },
        { ...key, runId: RunId.make(".."), id: ".." },
      ]
      for (const other of others) assert.isUndefined(yield* readAll(other))
      yield* store.remove(others)
      assert.isDefined(yield* readAll(key))
    }),
  )

  it.effect("removes values, and those that are unknown change nothing", () =>
    Effect.gen(function* () {
      const { keyOf, store } = yield* scene
      yield* store.put(keyOf("val_1"), noise(600_000))
      yield* store.put(keyOf("val_2"), noise(10))
      yield* store.remove([keyOf("val_1"), keyOf("val_3")])
      yield* store.remove([])
      assert.isUndefined(yield* readAll(keyOf("val_1")))
      assert.isDefined(yield* readAll(keyOf("val_2")))
    }),
  )
}

const lists = (it: Tests): void => {
  it.effect("lists every value once, page by page, with the time at which it was written", () =>
    Effect.gen(function* () {
      const { keyOf, run, store } = yield* scene
      const ids = ["val_a", "val_b", "val_c", "val_d", "val_e"]
      for (const id of ids) yield* store.put(keyOf(id), noise(300_000))
      const found: Array<string> = []
      let after: ValueKey | undefined
      while (true) {
        const page = yield* store.list(after, 2)
        assert.isAtMost(page.length, 2)
        for (const value of page) {
          if (value.runId !== run.id) continue
          found.push(value.id)
          assert.isAbove(value.writtenAt, Samples.epoch)
        }
        const last = page.at(-1)
        if (last === undefined) break
        // What is removed meanwhile does not matter to the next page.
        if (last.id === "val_b") yield* store.remove([last])
        after = last
      }
      assert.deepStrictEqual(found.toSorted(), ids)
    }),
  )
}

/** The tests of a store of large values. */
export const valueStoreSuite = (it: Tests): void => {
  describe("ValueStore", () => {
    keeps(it)
    separates(it)
    lists(it)
  })
}
