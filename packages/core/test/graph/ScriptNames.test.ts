// Names in the JavaScript of raw inputs.
import type { LiteralScript, NodeType } from "@millrace/core/domain/NodeType"
import type { Json } from "@millrace/core/domain/Json"
import { readDrawing } from "@millrace/core/graph/Graph"
import { assert, describe, it } from "@effect/vitest"
import { byKey, node, type } from "./Fixture.ts"

const scripted = (key: string, isBody: boolean, names: ReadonlyArray<string>): NodeType => {
  const bare = type(key, ["text"], ["output"])
  const scriptOf = (text: Json): LiteralScript | undefined =>
    typeof text === "string" ? { text, names, isBody, at: isBody ? 0 : 3 } : undefined
  const { inputs, outputs } = bare.portsOf(undefined as never)
  const port = { ...inputs.get("text")!, isRaw: true, scriptOf }
  return { ...bare, portsOf: () => ({ inputs: new Map([["text", port]]), outputs }) }
}

const types = [scripted("code", true, []), scripted("next", false, ["body", "page"])]

const problems = (key: string, text: string, data = {}) =>
  readDrawing(
    { nodes: [node("c", key, { text }, data)], edges: [] },
    { types: byKey(types), overrides: {}, evaluates: true },
  ).problems

describe("a secret in JavaScript", () => {
  it("is refused with its line and column", () => {
    const body = 'const a = 1\nconst url = "x?" + secrets.token\nreturn a'
    const [problem, ...more] = problems("code", body)
    assert.deepStrictEqual(more, [])
    assert.deepInclude(problem, { nodeId: "c", port: "text", line: 2, column: 20 })
    assert.match(
      problem!.message,
      /^Node "c": input "text", line 2, column 20: secrets cannot be used in JavaScript; /,
    )
    assert.lengthOf(problems("code", "return secrets['token']"), 1)
    assert.lengthOf(problems("code", "return `${secrets.token}`"), 1)
    assert.lengthOf(problems("next", "body.next + secrets.token"), 1)
  })

  it("is none in a text, a comment, a property, a variable of its own, or a disabled node", () => {
    const fine = [
      'return "secrets.token"',
      "// secrets.token\nreturn 1",
      "return inputs.secrets.token",
      "return { secrets: 1 }",
      "const { secrets } = inputs\nreturn secrets.token",
      "return inputs.map((secrets) => secrets.token)",
      "function f(secrets) { return secrets.token }\nreturn f(inputs)",
    ]
    for (const text of fine) assert.deepStrictEqual(problems("code", text), [], text)
    assert.deepStrictEqual(problems("code", "return secrets.a", { disabled: true }), [])
  })
})

describe("an unknown name in an expression with names of its own", () => {
  it("is refused with the nearest one; in a body of code only the run can tell", () => {
    assert.deepStrictEqual(problems("next", "boddy.next ?? page"), [
      {
        message: 'Node "c": input "text", column 4: unknown name "boddy"; did you mean "body"?',
        nodeId: "c",
        port: "text",
        column: 4,
      },
    ])
    const [problem] = problems("next", "fetch.body.next")
    assert.match(problem!.message, /unknown name "fetch"; there are body, page$/)
    assert.deepStrictEqual(problems("next", "body.items.map((each) => each.id).length"), [])
    assert.deepStrictEqual(problems("next", "Math.max(page, 1)"), [])
    assert.deepStrictEqual(problems("code", "return fetch.body"), [])
  })
})
