// The inputs of a node about to execute: what its expressions give, and what is left to compute.
import { assert, describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { LargeValue } from "@millrace/core/domain/LargeValue"
import { largeJson } from "@millrace/core/domain/LargeValue"
import { expressionJsonLength } from "@millrace/core/domain/Limits"
import { compile } from "@millrace/core/graph/Graph"
import type { Evaluated } from "@millrace/core/ports/Evaluator"
import { Result } from "effect"
import type { Given, MissingValues, Scope, Scripts } from "../../src/engine/internal/Inputs.ts"
import { givenOrMissing, givenTo, runScope } from "../../src/engine/internal/Inputs.ts"
import { boundOf } from "../../src/graph/internal/Bindings.ts"
import { byKey, edges, node, type } from "../graph/Fixture.ts"

const plainTake = type("take", ["text!", "list", "key", "input"], ["output", "other", "text"])

/** Its input `key` takes secrets. */
const take: typeof plainTake = {
  ...plainTake,
  portsOf: (settings) => {
    const { inputs, outputs } = plainTake.portsOf(settings)
    return {
      inputs: new Map([...inputs, ["key", { ...inputs.get("key")!, takesSecrets: true }]]),
      outputs,
    }
  },
}

const known = byKey([type("give", [], ["output", "other"]), take])

const ada = { name: "Ada", none: null }

/** What the nodes before `b` have put out; the one called `skipped` was skipped. */
type Outputs = { readonly [id: string]: JsonObject }

interface Drawn {
  readonly inputs?: JsonObject
  readonly data?: JsonObject
  readonly outputs?: Outputs
  readonly values?: JsonObject
}

/** A node `b` with these literals behind `a` and `skipped`, and what its expressions see. */
const at = ({ data = {}, inputs = {}, outputs = { a: { output: ada } }, values = {} }: Drawn) => {
  const nodes = [
    node("a", "give"),
    node("skipped", "give"),
    node("b", "take", { text: "x", ...inputs }, data),
  ]
  const drawn = { nodes, edges: edges("a -> b", "skipped.other -> b.list") }
  const graph = Result.getOrThrow(compile(drawn, known, {}))
  const outputAt = (index: number) => outputs[graph.nodes[index]!.id] ?? null
  const index = graph.indexOf.get("b")!
  const bound = Result.getOrThrow(boundOf(graph, { outputOf: outputAt }, index))
  const scope: Scope = {
    outputOf: (id) => outputAt(graph.indexOf.get(id)!) ?? undefined,
    input: bound.input,
    values,
    run: runScope("run_1", 0),
  }
  return [graph.nodes[index]!, bound, scope] as const
}

/** What plain expressions give. */
const given = (drawn: Drawn): Given => {
  const found = givenTo(...at(drawn))
  if ("calls" in found) assert.fail("something is left to compute")
  return found
}

/** What is left to compute. */
const scripts = (drawn: Drawn): Scripts => {
  const found = givenTo(...at(drawn))
  if (!("calls" in found)) assert.fail("nothing is left to compute")
  return found
}

const inputsOf = ({ inputs }: Given): JsonObject => Result.getOrThrow(inputs)

const refused = (error: string, isRetryable = false) => Result.fail({ error, isRetryable })

const value = (json: string | undefined): Evaluated => ({ _tag: "Value", json })

const orElse = (output: JsonObject): JsonObject => ({ onError: "default", default: output })

describe("givenTo, where every expression is plain", () => {
  it("gives the inputs at once, with nothing to compute, no secrets and no default output", () => {
    const found = given({
      inputs: { text: "Dear {{ a.output.name }}", list: ["{{ values.x }}", "{{ run.id }}", 1] },
      values: { x: true },
    })
    assert.deepStrictEqual(found, {
      inputs: Result.succeed({ text: "Dear Ada", list: [true, "run_1", 1], input: ada }),
      fallback: undefined,
    })
  })

  it("gives the inputs of a node without expressions as they are bound", () => {
    const found = given({ inputs: { list: [1] }, data: orElse({ output: 1 }) })
    assert.deepStrictEqual(found, {
      inputs: Result.succeed({ text: "x", list: [1], input: ada }),
      fallback: undefined,
    })
  })

  it("fails for good, by the first expression that has no value", () => {
    const wrong = "{{ a.output.none.x }}"
    const clause = '"a.output.none" is null, so it has no "x"'
    assert.deepStrictEqual(
      given({ inputs: { text: wrong, list: "{{ a.output.name.x.y }}" } }).inputs,
      refused(`input "text": ${wrong}: ${clause}`),
    )
    const text = "Dear {{ a.output.nothing }}"
    assert.deepStrictEqual(
      given({ inputs: { text } }).inputs,
      refused(
        'input "text": {{ a.output.nothing }} has no value; ' +
          'write {{ a.output.nothing ?? "" }} where nothing is meant',
      ),
    )
  })
})

describe("givenTo, where JavaScript is left to compute", () => {
  it("hands over the text, the names and what it uses, and nothing of a skipped node", () => {
    const { calls } = scripts({
      inputs: {
        text: "{{ a.output.name + values.x }}",
        list: ["{{ skipped?.output ?? 1 }}", "{{ nodes.a.output.name + input.name + run.id }}"],
      },
      values: { x: 1 },
    })
    const run = '"run":{"id":"run_1","startedAt":"1970-01-01T00:00:00.000Z"}'
    const of = '{"output":{"name":"Ada","none":null}}'
    assert.deepStrictEqual(calls, [
      {
        text: "a.output.name + values.x",
        names: ["a"],
        scope: `{"nodes":{"a":${of}},"values":{"x":1}}`,
      },
      { text: "skipped?.output ?? 1", names: ["skipped"], scope: '{"nodes":{}}' },
      {
        text: "nodes.a.output.name + input.name + run.id",
        names: [],
        scope: `{"nodes":{"a":${of}},"input":{"name":"Ada","none":null},${run}}`,
      },
    ])
  })

  it("puts each answer where its expression stands, and leaves out what has none", () => {
    const { finish } = scripts({
      inputs: { text: "{{ 1 + 1 }} {{ a.output.name }} {{ 2 + 2 }}", list: "{{ [][0] + 1 }}" },
    })
    const found = finish([value("2"), value('"four"'), value(undefined)])
    assert.deepStrictEqual(inputsOf(found), { text: "2 Ada four", input: ada })
  })

  it("fails with what the evaluator says, and may be tried again if the time was short", () => {
    for (const isRetryable of [true, false]) {
      const { finish } = scripts({ inputs: { text: "{{ 1 + 1 }}", list: "{{ 2 + 2 }}" } })
      const failed: Evaluated = { _tag: "Failed", message: "it takes too long", isRetryable }
      const error = 'input "text": {{ 1 + 1 }}: it takes too long'
      assert.deepStrictEqual(finish([failed, value("1")]).inputs, refused(error, isRetryable))
    }
  })

  it("fails where a required input gets undefined, or a value that no record can hold", () => {
    const answered = (json: string | undefined) =>
      scripts({ inputs: { text: "{{ 1 + 1 }}" } }).finish([value(json)])
    assert.deepStrictEqual(
      answered(undefined).inputs,
      refused('input "text": {{ 1 + 1 }}: a value is required, and it gives undefined'),
    )
    const deep = "[".repeat(1_001) + "]".repeat(1_001)
    assert.deepStrictEqual(
      answered(deep).inputs,
      refused(
        'input "text": {{ 1 + 1 }}: it is nested deeper than 1000 levels, or refers to itself',
      ),
    )
  })

  it("computes nothing that uses more than JavaScript takes, and fails for good", () => {
    const around = '{"nodes":{},"values":{"x":""}}'.length
    const drawn = (length: number) => ({
      inputs: { text: "{{ values.x + 1 }}" },
      values: { x: "x".repeat(length - around) },
    })
    const { calls } = scripts(drawn(expressionJsonLength))
    assert.strictEqual(calls[0]?.scope.length, expressionJsonLength)
    const { inputs } = given(drawn(expressionJsonLength + 1))
    assert.deepStrictEqual(
      inputs,
      refused(
        'input "text": {{ values.x + 1 }}: what it uses has 1048577 characters as JSON; ' +
          "JavaScript takes at most 1048576, and plain paths have no bound",
      ),
    )
  })
})

describe("givenTo of a node that has a default output", () => {
  it("gives the output with the values of its expressions, beside the inputs", () => {
    const output = { output: ["{{ a.output.name }}"], other: 1, text: "{{ a.output.nothing }}" }
    assert.deepStrictEqual(given({ data: orElse(output) }), {
      inputs: Result.succeed({ text: "x", input: ada }),
      fallback: Result.succeed({ output: ["Ada"], other: 1 }),
    })
  })

  it("computes its JavaScript together with that of the inputs", () => {
    const drawn = { inputs: { text: "{{ 1 + 1 }}" }, data: orElse({ output: "{{ 2 + 2 }}" }) }
    const { calls, finish } = scripts(drawn)
    assert.deepStrictEqual(
      calls.map(({ text }) => text),
      ["1 + 1", "2 + 2"],
    )
    assert.deepStrictEqual(finish([value("2"), value("4")]), {
      inputs: Result.succeed({ text: 2, input: ada }),
      fallback: Result.succeed({ output: 4 }),
    })
  })

  it("keeps the inputs where the output has no value, and the output where they have none", () => {
    const wrong = "{{ a.output.none.x }}"
    const clause = `${wrong}: "a.output.none" is null, so it has no "x"`
    const fails = given({ data: orElse({ output: wrong, other: "{{ a.output.none.y }}" }) })
    assert.deepStrictEqual(inputsOf(fails), { text: "x", input: ada })
    assert.deepStrictEqual(fails.fallback, Result.fail(`default of output "output": ${clause}`))
    const noText = given({ data: orElse({ text: "Dear {{ a.output.nothing }}" }) })
    assert.deepStrictEqual(inputsOf(noText), { text: "x", input: ada })
    assert.deepStrictEqual(
      noText.fallback,
      Result.fail(
        'default of output "text": {{ a.output.nothing }} has no value; ' +
          'write {{ a.output.nothing ?? "" }} where nothing is meant',
      ),
    )
    const other = given({ inputs: { text: wrong }, data: orElse({ output: "{{ values.x }}" }) })
    assert.deepStrictEqual(other.inputs, refused(`input "text": ${clause}`))
    assert.deepStrictEqual(other.fallback, Result.succeed({}))
  })

  it("never takes a value of the output for an input of the same name", () => {
    const found = given({ data: orElse({ text: "{{ a.output.name }}" }) })
    assert.deepStrictEqual(inputsOf(found), { text: "x", input: ada })
  })

  it("reads the output only where the node gives it instead of failing", () => {
    const found = given({ data: { default: { output: "{{ a.output.none.x }} {{ 1 + 1 }}" } } })
    assert.isUndefined(found.fallback)
    const plain = given({
      inputs: { text: "{{ a.output.name }}" },
      data: { default: { output: "{{ a.output.name }}" } },
    })
    assert.isUndefined(plain.fallback)
    const constant = given({ inputs: { text: "{{ a.output.name }}" }, data: orElse({ output: 1 }) })
    assert.isUndefined(constant.fallback)
  })
})

describe("givenTo of a node with secrets", () => {
  it("gives their expressions, reveals their values, and draws just the inputs with them", () => {
    const found = given({
      inputs: {
        text: "{{ a.output.name }}",
        key: { one: "{{secrets.one}} {{ a.output.name }}", two: ["{{ secrets.two }}"] },
      },
      data: orElse({ output: "{{ a.output.name }}" }),
    })
    const key = { one: "{{ secrets.one }} Ada", two: ["{{ secrets.two }}"] }
    assert.deepStrictEqual(inputsOf(found), { text: "Ada", key, input: ada })
    assert.deepStrictEqual(found.secrets?.names, ["one", "two"])
    const revealed = found.secrets?.reveal(new Map([["one", "s1"]]))
    assert.deepStrictEqual(
      revealed,
      Result.succeed({ text: "Ada", key: { ...key, one: "s1 Ada" }, input: ada }),
    )
    assert.deepStrictEqual(found.secrets?.drawn(), { key })
  })
})

const stored = (id: string): LargeValue => ({ id, bytes: 9e6, type: "array", preview: "[" })
const large = (id: string): Json => largeJson(stored(id))

/** Large values that expressions miss. */
const missing = (drawn: Drawn): MissingValues => {
  const found = givenOrMissing(...at(drawn))
  if (!("missing" in found)) assert.fail("no value is missing")
  return found
}

const missedBy = (text: string, outputs: Outputs, data: JsonObject = {}) => {
  const found = givenOrMissing(...at({ inputs: { text }, outputs, data }))
  return "missing" in found ? found.missing.map(({ id }) => id) : "nothing"
}

describe("givenOrMissing", () => {
  const outputs = { a: { output: large("one"), other: [large("two"), 3] } }

  it("misses what a plain path reads, and nothing beside it", () => {
    assert.deepStrictEqual(missedBy("{{ a.output[0] }}", outputs), ["one"])
    assert.deepStrictEqual(missedBy("{{ a.other[0] }}", outputs), ["two"])
    assert.deepStrictEqual(missedBy("{{ nodes.a }}", outputs), ["one", "two"])
    assert.deepStrictEqual(missedBy("{{ input }}", outputs), ["one"])
    assert.deepStrictEqual(missedBy("{{ a.output }} {{ a.other }}", outputs), ["one", "two"])
  })

  it("misses all that JavaScript is handed over, and the input only where it is named", () => {
    assert.deepStrictEqual(missedBy("{{ a.other.length + 1 }}", outputs), ["one", "two"])
    assert.deepStrictEqual(missedBy("{{ input.length + 1 }}", outputs), ["one"])
    assert.deepStrictEqual(missedBy("{{ values.x + 1 }}", outputs), "nothing")
  })

  it("misses what a default output reads", () => {
    const data = orElse({ output: "{{ a.other }}" })
    assert.deepStrictEqual(missedBy("x", outputs, data), ["two"])
  })

  it("misses nothing where no expression reads a large value", () => {
    for (const text of [
      '{{ "x" }}',
      "{{ values.x }}",
      "{{ run.id }}",
      "{{ skipped?.output }}",
      "x",
    ])
      assert.deepStrictEqual(missedBy(text, outputs), "nothing")
    const { other: _, ...only } = outputs.a
    assert.deepStrictEqual(missedBy("{{ a.other }}", { a: only }), "nothing")
    assert.deepStrictEqual(missedBy("{{ skipped }}", outputs), "nothing")
    assert.deepStrictEqual(missedBy("{{ skipped?.output ?? 1 }}", outputs), "nothing")
    for (const text of ["{{ input }}", "{{ input + 1 }}"]) {
      assert.deepStrictEqual(missedBy(text, { a: { other: large("two") } }), "nothing")
    }
  })

  it("gives the inputs with the values that were read", () => {
    const { finish } = missing({
      inputs: { text: "{{ a.output[1] }}", list: "{{ input[0] }}" },
      outputs,
    })
    const found = finish(new Map([["one", ["x", "y"]]]))
    if ("calls" in found) assert.fail("something is left to compute")
    assert.deepStrictEqual(inputsOf(found), { text: "y", list: "x", input: large("one") })
  })

  it("hands JavaScript the values that were read", () => {
    const { finish } = missing({ inputs: { text: "{{ a.output.length + 1 }}" }, outputs })
    const found = finish(
      new Map<string, Json>([
        ["one", ["x"]],
        ["two", "y"],
      ]),
    )
    if (!("calls" in found)) assert.fail("nothing is left to compute")
    assert.strictEqual(found.calls[0]?.scope, '{"nodes":{"a":{"output":["x"],"other":["y",3]}}}')
  })

  it("leaves out what is not there, beside values that were read", () => {
    const { finish } = missing({
      inputs: { text: "{{ a.other[0] }}", list: "{{ skipped?.output }}", key: "{{ input }}" },
      outputs: { a: { other: [large("two")] } },
    })
    const found = finish(new Map([["two", "z"]]))
    if ("calls" in found) assert.fail("something is left to compute")
    assert.deepStrictEqual(inputsOf(found), { text: "z" })
  })
})
