/**
 * The operations of the interface as the served OpenAPI document has them: what tests are generated
 * from, so that a new operation cannot escape them.
 */
import { Effect } from "effect"
import { Harness } from "./Harness.ts"

/** A JSON Schema, as far as tests read it. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: JsonSchema
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly enum?: ReadonlyArray<unknown>
}

interface Media {
  readonly schema: JsonSchema
  readonly example?: unknown
}

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly schema: JsonSchema
}

/** One operation. */
export interface Operation {
  readonly operationId: string
  readonly method: string
  /** With `{id}` where an identifier goes. */
  readonly path: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly headers?: Readonly<Record<string, unknown>>
        readonly content?: Readonly<Record<string, Media>>
      }
    >
  >
}

/** The document, as far as tests read it. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, "path">>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** Every operation of a document. */
export const operationsOf = ({ paths }: Document): ReadonlyArray<Operation> =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  )

/** The schema that a reference stands for. */
export const resolve = (document: Document, schema: JsonSchema): JsonSchema => {
  const name = schema.$ref?.split("/").at(-1)
  return name === undefined ? schema : document.components.schemas[name]!
}

/** The schema of an operation's JSON body. */
export const bodySchemaOf = (document: Document, { requestBody }: Operation) => {
  const media = requestBody?.content["application/json"]
  return media === undefined ? undefined : resolve(document, media.schema)
}

/** The example of an operation's JSON body. */
export const bodyExampleOf = ({ requestBody }: Operation) =>
  requestBody?.content["application/json"]?.example as object | undefined

/** The document that the interface serves. */
export const served = Effect.gen(function* () {
  const { body } = yield* (yield* Harness).send("GET", "/api/openapi.json")
  return body as Document
})
