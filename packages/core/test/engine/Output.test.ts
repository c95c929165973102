// What an output becomes that a handler returns, where large values are stored beside it.
import { RunId } from "@millrace/core/domain/Id"
import { largeJson } from "@millrace/core/domain/LargeValue"
import { defaultLimits } from "@millrace/core/domain/Limits"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { copyOutput, without } from "../../src/engine/internal/Output.ts"
import { RunValues } from "../../src/engine/internal/RunValues.ts"
import { ValueMemory } from "../../src/engine/internal/ValueMemory.ts"
import { newRun } from "./PlayedRun.ts"

const ports = {
  inputs: new Map(),
  outputs: new Map(["output", "more"].map((name) => [name, { name, schema: {} }] as const)),
}

const stored = { id: "val_1", bytes: 70_002, type: "string", preview: '"xx' } as const
const text = "x".repeat(70_000)

/** The large values of a run: `text` is one, of the run with this id. */
const valuesOf = (runId: RunId) => {
  const memory = new ValueMemory(1_000_000)
  memory.keep({ runId, value: stored, json: text })
  const source = { memory, write: () => Effect.succeed(stored), load: () => Effect.undefined }
  return new RunValues(source, { run: newRun, limits: defaultLimits, hasLarge: true })
}

describe("Output.copyOutput", () => {
  it("names a stored value that a handler passes on, and counts none of its characters", () => {
    const copy = copyOutput(ports, { output: text, more: "12" }, valuesOf(newRun.id))
    const output = { output: largeJson(stored), more: "12" }
    assert.deepStrictEqual(copy, Result.succeed({ output, size: "more".length + 4 }))
  })

  it("copies what is stored for another run only", () => {
    const copy = copyOutput(ports, { output: text }, valuesOf(RunId.make("run_other")))
    assert.deepStrictEqual(Result.getOrThrow(copy).output, { output: text })
  })
})

describe("Output.without", () => {
  it("leaves out the ports that are named, and keeps the others", () => {
    const output = { a: 1, b: null, c: [2] }
    const named = new Map([
      ["a", 0],
      ["c", 0],
    ])
    assert.deepStrictEqual(without(output, named), { b: null })
    assert.deepStrictEqual(without(output, new Map()), output)
  })
})
