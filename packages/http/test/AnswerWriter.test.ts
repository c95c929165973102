// Answers are written as their schemas say, by a walk of our own that must give what the schema
// itself gives.
import { AdminApi } from "@millrace/api/AdminApi"
import { Api } from "@millrace/api/Api"
import { RunDetails, RunRead } from "@millrace/api/RunWire"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { type HttpApiEndpoint, OpenApi } from "effect/http-api"
import * as AnswerWriter from "../src/internal/AnswerWriter.ts"

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
}

interface DocumentedOperation {
  readonly operationId: string
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly example?: unknown }>> }>
  >
}

type Groups = Readonly<
  Record<string, { readonly endpoints: Readonly<Record<string, HttpApiEndpoint.Top>> }>
>

/** The answers that a document shows, by operation. */
const shownIn = (document: unknown) =>
  new Map(
    Object.values((document as Document).paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ operationId, responses }) =>
        Object.entries(responses).flatMap(([status, { content }]) => {
          const example = content?.["application/json"]?.example
          return status < "300" && example !== undefined ? [[operationId, example] as const] : []
        }),
      ),
  )

/** The operations of an interface with the schemas and examples of their answers. */
const answersOf = ({ groups }: { readonly groups: object }, document: unknown) => {
  const shown = shownIn(document)
  return Object.entries(groups as Groups).flatMap(([group, { endpoints }]) =>
    Object.entries(endpoints).flatMap(([name, { success }]) => {
      const operation = `${group}.${name}`
      const example = shown.get(operation)
      const [schema] = success
      // What has a type of content of its own is a stream of bytes.
      const isJson = schema !== undefined && !("contentType" in schema)
      return isJson && example !== undefined ? [{ operation, schema, example }] : []
    }),
  )
}

const answers = [
  ...answersOf(Api, OpenApi.fromApi(Api)),
  ...answersOf(AdminApi, OpenApi.fromApi(AdminApi)),
]

/** Adds a field to every object that is no opaque value. */
const withMore = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? { ...value, more: "than the schema names" }
    : value

describe("writing answers", () => {
  it("is shown by examples of most operations", () => {
    expect(answers.length).toBeGreaterThan(40)
  })

  it.each(answers)("$operation is written as the document shows it", ({ example, schema }) => {
    const codec = Schema.toCodecJson(schema as Schema.Codec<unknown>)
    const value = Schema.decodeUnknownSync(codec)(example)
    const write = AnswerWriter.make(schema)
    expect(JSON.parse(JSON.stringify(write(value)))).toStrictEqual(example)
    expect(write(withMore(value))).toStrictEqual(write(value))
  })

  const read = Schema.decodeUnknownSync(Schema.toCodecJson(RunRead))(
    answers.find(({ operation }) => operation === "runs.get")?.example,
  )
  const run = { ...read, context: { ...read.context!, output: { deep: [{ a: 1 }] } } }

  it("leaves out fields that only the engine knows, in lists, too", () => {
    const rows = run.nodeRuns.map((row) => ({ ...row, sequence: 7 }))
    const written = AnswerWriter.make(RunDetails)({ runs: [{ ...run, fence: 3, nodeRuns: rows }] })
    expect(JSON.stringify(written)).not.toMatch(/sequence|fence/)
  })

  it("has opaque values as they are, or as their copies", () => {
    type Written = { readonly context: { readonly output: unknown } }
    const same = AnswerWriter.make(RunRead)(run) as Written
    const copied = AnswerWriter.make(RunRead, structuredClone)(run) as Written
    expect(same.context.output).toBe(run.context.output)
    expect(copied.context.output).not.toBe(run.context.output)
    expect(copied.context.output).toStrictEqual(run.context.output)
  })

  it("leaves to the schema what it does not know", () => {
    const Mixed = Schema.Struct({
      pair: Schema.Tuple([Schema.String, Schema.NumberFromString]),
      either: Schema.Union([Schema.Struct({ a: Schema.NumberFromString }), Schema.String]),
      names: Schema.Record(Schema.String, Schema.NumberFromString),
    })
    const value = { pair: ["x", 1], either: { a: 2 }, names: { b: 3 } } as const
    const expected = { pair: ["x", "1"], either: { a: "2" }, names: { b: "3" } }
    expect(AnswerWriter.make(Mixed)(value)).toStrictEqual(expected)
  })
})
