// Questions to a language model: a server that speaks the form of chat completions.
import type { RequestListener, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { Effect } from "effect"
import { expect } from "vitest"
import { llm } from "../src/internal/Llm.ts"
import { isStrict, problemOfValue, problemsOfSchema } from "../src/internal/JsonSchema.ts"
import * as Outbound from "../src/Outbound.ts"
import { clauses, failing, json, run } from "./TestNode.ts"

const guard = Outbound.layer([{ cidr: "127.0.0.1/32" }])

const serve = (listener: RequestListener) => {
  const server = createServer(listener)
  const listen = Effect.callback<string>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      resume(Effect.succeed(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`))
    })
  })
  const close = Effect.sync(() => {
    server.closeAllConnections()
    server.close()
  })
  return Effect.acquireRelease(listen, () => close)
}

const completion = (content: Json, finish_reason = "stop") => ({
  id: "1",
  choices: [{ index: 0, finish_reason, message: { role: "assistant", content } }],
  usage: { prompt_tokens: 31, completion_tokens: 7, total_tokens: 38 },
})

const answerWith = (response: ServerResponse, body: unknown, status = 200) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const question = { model: "small", prompt: "Which city?" }

/** What a node gives, or says, of a server that answers with this. */
const answered = (body: unknown, inputs: JsonObject = {}, status = 200) =>
  Effect.gen(function* () {
    const endpoint = yield* serve((_, response) => answerWith(response, body, status))
    return yield* run(llm, { endpoint, ...question, ...inputs })
  }).pipe(Effect.provide(guard))

const saidOf = (body: unknown, inputs: JsonObject = {}, status = 200) =>
  Effect.map(Effect.flip(answered(body, inputs, status)), ({ message, retryable }) => [
    message,
    retryable !== false,
  ])

const city = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
}

describe("llm", () => {
  it.live("asks in the form of chat completions, and puts out text, usage and end", () =>
    Effect.gen(function* () {
      const heard: Array<Json> = []
      const endpoint = yield* serve((request, response) => {
        void text(request).then((body) => {
          const { authorization } = request.headers
          heard.push([request.method!, request.url!, authorization ?? null, JSON.parse(body)])
          answerWith(response, completion("Bern"))
        })
      })
      const messages = [{ role: "system", content: "Be brief." }]
      const more = { apiKey: "k-123", messages, temperature: 0, maxTokens: 9, schema: undefined! }
      delete (more as { schema?: unknown }).schema
      expect(yield* run(llm, { endpoint, ...question, ...more })).toEqual({
        text: "Bern",
        finish: "stop",
        usage: { input: 31, output: 7 },
      })
      yield* run(llm, { endpoint: `${endpoint}/chat/completions?v=1`, ...question })
      expect(heard).toEqual([
        [
          "POST",
          "/v1/chat/completions",
          "Bearer k-123",
          {
            model: "small",
            messages: [...messages, { role: "user", content: "Which city?" }],
            stream: false,
            max_tokens: 9,
            temperature: 0,
          },
        ],
        [
          "POST",
          "/v1/chat/completions?v=1",
          null,
          {
            model: "small",
            messages: [{ role: "user", content: "Which city?" }],
            stream: false,
            max_tokens: 1_024,
          },
        ],
      ])
    }).pipe(Effect.provide(guard)),
  )

  it.live("puts out a value that fits the schema, and fails for any other answer", () =>
    Effect.gen(function* () {
      const given = { schema: city }
      expect(yield* answered(completion('{"city":"Bern"}'), given)).toMatchObject({
        value: { city: "Bern" },
      })
      expect(yield* saidOf(completion("Bern"), given)).toEqual(["The answer is not JSON", true])
      expect(yield* saidOf(completion('{"city":1}'), given)).toEqual([
        "The answer does not fit: answer.city is not of type string",
        true,
      ])
      expect(yield* saidOf(completion('{"city":"Be', "length"), given)).toEqual([
        "The answer is cut off: raise maxTokens",
        false,
      ])
    }),
  )

  it.live("says what the endpoint says, and when another attempt can help", () =>
    Effect.gen(function* () {
      const error = { error: { message: "Incorrect\r\nAPI key", type: "x" } }
      expect(yield* saidOf(error, {}, 401)).toEqual([
        "HTTP 401 from 127.0.0.1: Incorrect API key",
        false,
      ])
      expect(yield* saidOf({ error: "slow down" }, {}, 429)).toEqual([
        "HTTP 429 from 127.0.0.1: slow down",
        true,
      ])
      expect(yield* saidOf("no", {}, 500)).toEqual(["HTTP 500 from 127.0.0.1", true])
      const form = "The answer does not have the form of chat completions"
      for (const body of [{}, [], null, { choices: [] }, { choices: [{ message: null }] }]) {
        expect(yield* saidOf(body)).toEqual([form, false])
      }
      const refusal = { choices: [{ message: { content: null, refusal: "I will not" } }] }
      expect(yield* saidOf(refusal)).toEqual(["The model refused: I will not", false])
      expect(yield* saidOf(completion("x".repeat(1_100_000)))).toEqual([
        "The answer is larger than 1048576 bytes",
        false,
      ])
    }),
  )

  it.live("follows no redirect, waits no longer than told, and calls no private network", () =>
    Effect.gen(function* () {
      const moved = yield* serve((_, response) => {
        response.writeHead(302, { location: "http://169.254.169.254/" }).end()
      })
      expect(yield* failing(llm, { endpoint: moved, ...question })).toBe("HTTP 302 from 127.0.0.1")
      const silent = yield* serve(() => {})
      expect(yield* failing(llm, { endpoint: silent, ...question, timeoutSeconds: 1 })).toBe(
        "No complete answer came within 1 s",
      )
      expect(yield* failing(llm, { endpoint: "http://10.0.0.1/v1", ...question })).toBe(
        "The URL does not lead to a public address",
      )
      const split = { endpoint: silent, ...question, apiKey: "a\r\nhost: b" }
      expect(yield* failing(llm, split)).toBe(
        'The value of the header "authorization" is not valid',
      )
    }).pipe(Effect.provide(guard)),
  )

  it.live("needs something to ask", () =>
    Effect.gen(function* () {
      const endpoint = "http://127.0.0.1/v1"
      expect(yield* failing(llm, { endpoint, model: "m" })).toBe("expected a prompt or messages")
      expect(yield* failing(llm, { endpoint, model: "m", prompt: "x".repeat(1_048_577) })).toBe(
        "the prompt is longer than 1048576 characters",
      )
    }).pipe(Effect.provide(guard)),
  )

  it("says at the start what is wrong with its literals", () => {
    const check = (port: string, value: Json) => clauses(llm, port, value)
    expect(check("schema", city)).toEqual([])
    expect(check("schema", { type: "string", pattern: "(a+)+$" })).toHaveLength(1)
    expect(check("endpoint", "ftp://a")).toEqual(["expected an http or https URL"])
    expect(check("temperature", 3)).toHaveLength(1)
    expect(check("maxTokens", 0)).toHaveLength(1)
    expect(check("messages", [{ role: "tool", content: "" }])).toHaveLength(1)
  })
})

describe("JsonSchema.problemOfValue", () => {
  const of = (value: Json, schema: JsonObject) => {
    expect(problemsOfSchema(schema)).toEqual([])
    return problemOfValue(value, schema, "answer")
  }

  it("checks every keyword that a schema may have", () => {
    const tree = { $defs: { node: { type: "array", items: { $ref: "#/$defs/node" } } } }
    const cases: ReadonlyArray<readonly [Json, Json, JsonObject]> = [
      [1, 1.5, { type: "integer" }],
      [null, 0, { type: ["null", "string"] }],
      ["a", "b", { enum: ["a", { b: [1] }] }],
      [{ b: [1] }, { b: [2] }, { enum: ["a", { b: [1] }] }],
      [1, 2, { const: 1 }],
      [{ a: 1 }, {}, { required: ["a"] }],
      [{}, json('{"__proto__": 1}'), { additionalProperties: false }],
      [{ b: "x" }, { b: 1 }, { additionalProperties: { type: "string" } }],
      [{ a: 1 }, { a: "1" }, { properties: { a: { type: "number" } } }],
      [[1], ["1"], { items: { type: "number" } }],
      [[1, 2], [1], { minItems: 2 }],
      [[1], [1, 2], { maxItems: 1 }],
      ["😀", "😀😀", { maxLength: 1 }],
      ["ab", "a", { minLength: 2 }],
      [2, 1, { minimum: 2 }],
      [2, 3, { maximum: 2 }],
      ["a", true, { anyOf: [{ type: "string" }, { type: "number" }] }],
      [[[], [[]]], [[], [1]], { ...tree, $ref: "#/$defs/node" }],
      ["x", "y", { properties: {}, const: "x", title: "t", format: "email" }],
    ]
    for (const [good, bad, schema] of cases) {
      expect(of(good, schema), JSON.stringify(schema)).toBeUndefined()
      expect(of(bad, schema), JSON.stringify(schema)).toBeDefined()
    }
    expect(
      of([{ a: [1, "x"] }], {
        items: { properties: { a: { items: { type: "number" } } } },
      }),
    ).toBe("answer[0].a[1] is not of type number")
  })

  it("ends in time for schemas that refer to themselves", () => {
    const twice = { properties: { a: { $ref: "#/$defs/n" } }, required: ["a"] }
    const schema = { $defs: { n: { anyOf: [twice, twice] } }, $ref: "#/$defs/n" }
    let value: Json = {}
    for (let level = 0; level < 60; level++) value = { a: value }
    expect(of(value, schema)).toBe("it takes too long to check")
    expect(of(1, { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } })).toBe(
      "it is nested too deeply",
    )
  })

  it("refuses schemas that it would not check", () => {
    const deep = json(`${'{"items":'.repeat(70)}{}${"}".repeat(70)}`)
    for (const schema of [
      1,
      [],
      { type: "text" },
      { pattern: "a" },
      { oneOf: [] },
      { $ref: "#/$defs/none" },
      { $ref: "https://example.com/schema" },
      { properties: [] },
      { items: [1] },
      { enum: 1 },
      { required: [1] },
      { minimum: "1" },
      deep,
    ] as ReadonlyArray<Json>) {
      expect(problemsOfSchema(schema), JSON.stringify(schema)).not.toEqual([])
    }
  })

  it("knows which schemas models follow strictly", () => {
    expect(isStrict(city)).toBe(true)
    expect(isStrict({ type: "array", items: { type: "object", properties: {} } })).toBe(false)
    expect(isStrict({ ...city, required: [] })).toBe(false)
  })
})
