/**
 * Finishing touches to the OpenAPI document: what cannot be said where an operation is declared.
 *
 * One schema for all errors, numbers in the query as the integers they are, the headers that every
 * answer has; and no promise that an answer never gains a field.
 */
import type { OpenApi } from "effect/http-api"
import { defaultPageSize, maxPage, maxPageSize } from "./PageQuery.ts"

type Spec = OpenApi.OpenAPISpec
type Operation = OpenApi.OpenAPISpecOperation
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

const errorReference = "#/components/schemas/Error"

/** Parameters whose text is an integer. */
const integers: Readonly<Record<string, object>> = {
  limit: { type: "integer", minimum: 1, maximum: maxPageSize, default: defaultPageSize },
  page: { type: "integer", minimum: 1, maximum: maxPage },
  pageSize: { type: "integer", minimum: 1, maximum: maxPageSize },
}

const rateHeaders = {
  "X-RateLimit-Remaining": {
    description: "Requests left in the tighter window of the key.",
    schema: { type: "integer", minimum: 0 },
  },
  "X-RateLimit-Reset": {
    description: "When that window ends, in milliseconds since the epoch.",
    schema: { type: "integer" },
  },
}

const retryHeader = {
  "Retry-After": {
    description: "Seconds to wait, at least 1.",
    schema: { type: "integer", minimum: 1 },
  },
}

const headersOf = (status: string) => {
  if (status === "401") return {}
  return status === "429" ? { ...rateHeaders, ...retryHeader } : rateHeaders
}

const completeOperation = (operation: Operation): Operation => ({
  ...operation,
  parameters: operation.parameters.map((parameter) => ({
    ...parameter,
    schema: integers[parameter.name] ?? parameter.schema,
  })),
  responses: Object.fromEntries(
    Object.entries(operation.responses).map(([status, response]) => [
      status,
      { ...response, headers: { ...response.headers, ...headersOf(status) } },
    ]),
  ),
})

const mapValues = <A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

const isErrorSchema = (name: string): boolean => name.endsWith("Encoded")

/** Points every error at the one schema, and lets objects gain fields. */
const simplify = (spec: Spec): Spec =>
  JSON.parse(JSON.stringify(spec), (key, value: unknown) => {
    if (key === "additionalProperties" && value === false) return undefined
    if (key === "$ref" && typeof value === "string" && isErrorSchema(value)) return errorReference
    return value
  }) as Spec

/** Completes the document that was derived from the definition. */
export const completeDocument = (document: Record<string, unknown>): Record<string, unknown> => {
  const spec = simplify(document as unknown as Spec)
  const schemas = Object.entries(spec.components.schemas).filter(([name]) => !isErrorSchema(name))
  const Error = {
    type: "object",
    properties: { error: { type: "string", description: "One sentence." } },
    required: ["error"],
  }
  return {
    ...spec,
    paths: mapValues(spec.paths as Paths, (path) => mapValues(path, completeOperation)),
    components: { ...spec.components, schemas: { ...Object.fromEntries(schemas), Error } },
  }
}
