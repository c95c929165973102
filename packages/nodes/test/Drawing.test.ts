// Mistakes in drawings of the built-in node types, as validation and starts tell them.
import type { JsonObject } from "@millrace/core/domain/Json"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import { readDrawing } from "@millrace/core/graph/Graph"
import { describe, expect, it } from "vitest"
import { builtin } from "../src/Builtin.ts"

const known = new Map(builtin.map(({ type }) => [type.key, type]))

const node = (id: string, type: string, inputs: JsonObject, mode?: string): Node => ({
  id,
  type,
  position: { x: 0, y: 0 },
  data: { inputs, ...(mode === undefined ? {} : { mode }) },
})

const problems = (nodes: ReadonlyArray<Node>, edges: ReadonlyArray<Edge> = []) => {
  const read = readDrawing({ nodes, edges }, { types: known, overrides: {}, evaluates: true })
  return read.problems.map(({ message }) => message)
}

const told = (type: string, inputs: JsonObject, mode?: string) =>
  problems([node("n", type, inputs, mode)])

/** An edge that brings something to a port of `n`. */
const brings = (targetHandle: string) =>
  [
    node("from", "constant", { value: 1 }),
    { id: "e", source: "from", target: "n", targetHandle },
  ] as const

const url = "https://example.com/"

describe("delay as it is drawn", () => {
  it("has either for or until, unless that is not known yet", () => {
    const until = "2026-01-31T09:30:00Z"
    const refused = ['Node "n": input "for": a delay needs either for or until, and not both']
    expect(told("delay", { for: 1 })).toEqual([])
    expect(told("delay", { until })).toEqual([])
    expect(told("delay", {})).toEqual(refused)
    expect(told("delay", { for: 1, until })).toEqual(refused)
    expect(told("delay", { for: 1, until: "{{ values.until }}" })).toEqual([])
    const [from, edge] = brings("for")
    expect(problems([from, node("n", "delay", {})], [edge])).toEqual([])
  })
})

describe("http_request as it is drawn", () => {
  it("has pages of GET only, and their next knows response, body and page", () => {
    const next = "{{ body.next }}"
    expect(told("http_request", { url, next })).toEqual([])
    expect(told("http_request", { url, next, method: "POST" })).toEqual([
      'Node "n": input "next": only GET has pages',
    ])
    expect(told("http_request", { url, next: "{{ boddy.next }}" })).toEqual([
      'Node "n": input "next", column 4: unknown name "boddy"; did you mean "body"?',
    ])
    expect(told("http_request", { url, next: "{{ secrets.token }}" })).toEqual([
      expect.stringMatching(/input "next", column 4: secrets cannot be used in JavaScript/),
    ])
  })

  it("has a body only where its method sends one, unless that is not known yet", () => {
    expect(told("http_request", { url, body: {} })).toEqual([
      'Node "n": input "body": a GET request has no body',
    ])
    expect(told("http_request", { url, body: {}, method: "PUT" })).toEqual([])
    expect(told("http_request", { url, body: {}, method: "{{ values.method }}" })).toEqual([])
    expect(told("http_request", { url, body: "{{ values.body }}" })).toEqual([])
    const [from, edge] = brings("method")
    expect(problems([from, node("n", "http_request", { url, body: {} })], [edge])).toEqual([])
  })
})

describe("email, llm and postgres_query as they are drawn", () => {
  const email = { host: "smtp.example.com", from: "a@example.com", to: "b@example.com" }

  it("name what is missing, unless an edge may bring it", () => {
    expect(told("email", { ...email, subject: "Hi", user: "ann" })).toEqual([
      'Node "n": input "text": expected a text or html',
      'Node "n": input "password": expected a user and a password',
    ])
    expect(told("llm", { endpoint: url, model: "m" })).toEqual([
      'Node "n": input "prompt": expected a prompt or messages',
    ])
    const [from, edge] = brings("prompt")
    const fed = problems([from, node("n", "llm", { endpoint: url, model: "m" })], [edge])
    expect(fed).toEqual([])
  })

  it("name a statement that writes in the mode that reads", () => {
    const statement = "DELETE FROM orders"
    const inputs = { host: "db.example.com", database: "d", user: "u", statement }
    expect(told("postgres_query", inputs, "write")).toEqual([])
    expect(told("postgres_query", inputs)).toEqual([
      'Node "n": input "statement": a statement with DELETE needs the mode write',
    ])
    expect(told("postgres_query", { ...inputs, statement: "SET x = 1" })).toHaveLength(1)
  })
})

describe("code as it is drawn", () => {
  it("has no secrets, with the line that names one", () => {
    expect(told("code", { code: "const t = 1\nreturn secrets.token" })).toEqual([
      expect.stringMatching(/input "code", line 2, column 8: secrets cannot be used in JavaScript/),
    ])
  })
})

describe("an expression as it is drawn", () => {
  it("reads outputs that a node has, also those of its own fields and cases", () => {
    const fetch = node("fetch", "http_request", { url })
    const edge = {
      id: "e",
      source: "fetch",
      sourceHandle: "body",
      target: "n",
      targetHandle: "value",
    }
    const reads = (text: string, from = fetch, by = edge) =>
      problems([from, node("n", "constant", { value: text })], [{ ...by, targetHandle: "input" }])
    expect(reads("{{ fetch.bdy.items }}")).toEqual([
      'Node "n": input "value", column 10: "fetch" has no output "bdy"; did you mean "body"?',
    ])
    expect(reads("{{ fetch.status }}")).toEqual([
      'Node "n": input "value", column 10: "fetch" has no output "status"; it has ' +
        "response, body, next, error",
    ])
    const request = node("fetch", "request", { fields: [{ name: "city" }] })
    const fromRequest = { ...edge, sourceHandle: "values" }
    expect(reads("{{ fetch.city }} {{ fetch.values.x }}", request, fromRequest)).toEqual([])
    expect(reads("{{ fetch.town }}", request, fromRequest)).toHaveLength(1)
    expect(reads("{{ values.ciy }} {{ run.started }}", request, fromRequest)).toEqual([
      'Node "n": input "value", column 11: the request has no field "ciy"; did you mean "city"?',
      'Node "n": input "value", column 25: run has no "started"; did you mean "startedAt"?',
    ])
    expect(reads("{{ values.anything }}")).toEqual([])
  })
})
