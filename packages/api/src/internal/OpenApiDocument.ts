/**
 * Completes the OpenAPI documents with what an endpoint's declaration cannot say.
 *
 * That is: one schema for all errors, the types of parameters, the headers of answers, an example
 * of every body, and event streams. Objects may gain fields, so no schema excludes further ones.
 */
import { idempotencyKeyLength, itemsPerPage } from "@millrace/core/domain/Limits"
import type { OpenApi } from "effect/http-api"
import { errorExamples, examples, streamExamples } from "./Examples.ts"
import { defaultPageSize, maxPage } from "../PageQuery.ts"

type Spec = OpenApi.OpenAPISpec
type Operation = OpenApi.OpenAPISpecOperation
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>
type Responses = Operation["responses"]
type Response = Responses[number]

const schemaReference = (name: string) => `#/components/schemas/${name}`

/** The types of parameters whose declaration does not show them, and the spelling of headers. */
const parameters: Readonly<Record<string, { readonly name?: string; readonly schema?: object }>> = {
  limit: {
    schema: { type: "integer", minimum: 1, maximum: itemsPerPage, default: defaultPageSize },
  },
  page: { schema: { type: "integer", minimum: 1, maximum: maxPage } },
  pageSize: { schema: { type: "integer", minimum: 1, maximum: itemsPerPage } },
  "if-match": { name: "If-Match" },
  "idempotency-key": {
    name: "Idempotency-Key",
    schema: { type: "string", pattern: `^[\\x20-\\x7e]{1,${idempotencyKeyLength}}$` },
  },
  "last-event-id": {
    name: "Last-Event-ID",
    schema: { type: "string", pattern: "^(0|[1-9][0-9]{0,8})$" },
  },
}

const text = { type: "string" }

/** The headers of all answers. */
const headers = {
  "X-Request-Id": { description: "The name of the request, for the operator's log.", schema: text },
  "X-Error-Code": { description: "What went wrong, for machines.", schema: text },
  "X-RateLimit-Remaining": {
    description: "Requests left in the tighter window of the key.",
    schema: { type: "integer", minimum: 0 },
  },
  "X-RateLimit-Reset": {
    description: "When that window ends, in milliseconds since the epoch.",
    schema: { type: "integer" },
  },
  "Retry-After": {
    description: "Seconds to wait, at least 1.",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "`Bearer`.", schema: text },
  "Accept-Encoding": {
    description: "`identity`, where the body was compressed.",
    schema: text,
  },
  Location: { description: "The address of what was made.", schema: text },
  ETag: {
    description: "The revision of the workflow, to give as `If-Match` with a change.",
    schema: { type: "string", pattern: '^"[1-9][0-9]*"$' },
  },
  "Idempotent-Replayed": {
    description: "`true` where the run was started by an earlier request.",
    schema: { type: "string", enum: ["true"] },
  },
  "Cache-Control": { description: "`no-store`.", schema: text },
}
type Header = keyof typeof headers

const rateLimits: ReadonlyArray<string> = ["X-RateLimit-Remaining", "X-RateLimit-Reset"]

/** For whom a document is: those who show an API key, the admin token, or a session. */
export type Audience = "key" | "operator" | "session"

const noErrors: Readonly<Record<string, string>> = {}

/** The interface for operators has other words for some errors. */
const adminErrors: Readonly<Record<string, string>> = {
  "401": "The admin token is missing or wrong.",
  "404": "There is no such account, key or delivery.",
  "429": "Too many wrong tokens came from this address; see the header Retry-After.",
}

/** So has the console. */
const consoleErrors: Readonly<Record<string, string>> = {
  "401": "There is no session, or it is over.",
  "404": "Not known to this session.",
  "429": "The session makes too many requests; see the header Retry-After.",
}

const errorsFor = { key: noErrors, operator: adminErrors, session: consoleErrors }

/** The additional headers of some errors, by status. */
const ofError: Readonly<Record<string, ReadonlyArray<Header>>> = {
  "401": ["WWW-Authenticate"],
  "415": ["Accept-Encoding"],
  "429": ["Retry-After"],
}

/** The additional headers of some successes, by operation. */
const ofSuccess: Readonly<Record<string, ReadonlyArray<Header>>> = {
  "workflows.create": ["Location", "ETag"],
  "workflows.get": ["ETag"],
  "workflows.update": ["ETag"],
  "workflows.duplicate": ["Location", "ETag"],
  "workflows.addNode": ["Location"],
  "triggers.create": ["Location"],
  "runs.start": ["Location", "Idempotent-Replayed"],
}

const isStream = (response: Response): boolean => "text/event-stream" in (response.content ?? {})

const headersOf = (operationId: string, status: string, response: Response, audience: Audience) => {
  const names = [
    "X-Request-Id",
    ...(status === "401" || audience !== "key" ? [] : rateLimits),
    ...(status >= "400" ? ["X-Error-Code", ...(ofError[status] ?? [])] : []),
    ...(status < "300" ? (ofSuccess[operationId] ?? []) : []),
    ...(isStream(response) ? ["Cache-Control"] : []),
  ]
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const),
  )
}

/** The `data` of the events of each stream, in words and by the names of schemas. */
const streams: Readonly<Record<string, readonly [words: string, ...names: Array<string>]>> = {
  "runs.events": [
    "`data` of `snapshot` is a RunSnapshot, of `node` a NodeRun, of others a RunEvent.",
    "RunSnapshot",
    "RunEvent",
    "NodeRun",
  ],
  "runs.live": ["`data` of `page` is an answer of the listing, of `run` a RunItem.", "RunItem"],
  "workflows.live": [
    "`data` of `presence` is a Presence, of `revision` a StoredRevision.",
    "Presence",
    "StoredRevision",
  ],
}

const streamOf = (operationId: string) => {
  const [words = "", ...names] = streams[operationId] ?? []
  const all = names.map((name) => ({ $ref: schemaReference(name) }))
  const schema = {
    type: "string",
    description: `Server-sent events. ${words}`,
    contentMediaType: "application/json",
    contentSchema: all.length === 1 ? all[0] : { anyOf: all },
  }
  return { schema, example: streamExamples[operationId] }
}

const contentOf = (operationId: string, status: string, response: Response) => {
  if (response.content === undefined) return {}
  if (isStream(response)) {
    return { content: { "text/event-stream": streamOf(operationId) } }
  }
  const [error] = errorExamples[status] ?? []
  const example = status >= "400" ? { error } : examples[operationId]?.response
  const media = response.content["application/json"]
  // The bytes of a file are JSON of any form.
  const isFile = (media?.schema as { readonly format?: string } | undefined)?.format === "binary"
  const json = { ...media, ...(isFile ? { schema: {} } : {}), example }
  return { content: { "application/json": json } }
}

const completeResponse = (
  operationId: string,
  status: string,
  response: Response,
  audience: Audience,
) => ({
  description:
    errorsFor[audience][status] ?? response.description.replace(/^<No Content>$/, "Nothing."),
  headers: headersOf(operationId, status, response, audience),
  ...contentOf(operationId, status, response),
})

const completeBody = (operationId: string, { requestBody }: Operation) => {
  const json = requestBody?.content["application/json"]
  if (json === undefined) return {}
  const example = examples[operationId]?.request
  return { requestBody: { required: true, content: { "application/json": { ...json, example } } } }
}

const completeOperation = (operation: Operation, audience: Audience): Operation =>
  ({
    ...operation,
    parameters: operation.parameters.map((parameter) => {
      const { name, schema } = parameters[parameter.name] ?? {}
      const { description, ...own } = parameter.schema as { readonly description?: string }
      return {
        ...parameter,
        name: name ?? parameter.name,
        ...(description === undefined ? {} : { description }),
        schema: schema ?? own,
      }
    }),
    ...completeBody(operation.operationId, operation),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [
        status,
        completeResponse(operation.operationId, status, response, audience),
      ]),
    ),
  }) as unknown as Operation

const mapValues = <A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

const isErrorSchema = (name: string): boolean => name.endsWith("Encoded")

const isAnything = (schema: unknown): boolean =>
  typeof schema === "object" && schema !== null && Object.keys(schema).length === 0

/**
 * Uses one schema for all errors, lets objects have further fields, and removes what says nothing:
 * the bounds of JavaScript's integers, and alternatives if one of them accepts any value.
 */
const simplify = (spec: Spec): Spec =>
  JSON.parse(JSON.stringify(spec), (key, value: unknown) => {
    if (key === "additionalProperties" && value === false) return undefined
    if (key === "minimum" && value === Number.MIN_SAFE_INTEGER) return undefined
    if (key === "maximum" && value === Number.MAX_SAFE_INTEGER) return undefined
    if (key === "$ref" && typeof value === "string" && isErrorSchema(value)) {
      return schemaReference("Error")
    }
    if (key === "anyOf" && Array.isArray(value) && value.some(isAnything)) return undefined
    return value
  }) as Spec

/** Completes the document that was derived from the definition of an interface. */
export const completeDocument = (
  document: Record<string, unknown>,
  audience: Audience,
): Record<string, unknown> => {
  const spec = simplify(document as unknown as Spec)
  const schemas = Object.entries(spec.components.schemas).filter(([name]) => !isErrorSchema(name))
  const Error = {
    type: "object",
    properties: { error: { type: "string", description: "One sentence." } },
    required: ["error"],
  }
  return {
    ...spec,
    paths: mapValues(spec.paths as Paths, (path) =>
      mapValues(path, (operation) => completeOperation(operation, audience)),
    ),
    components: {
      ...spec.components,
      schemas: { ...Object.fromEntries(schemas), Error },
      headers: Object.fromEntries(
        Object.entries(headers).filter(
          ([name]) => audience === "key" || !rateLimits.includes(name),
        ),
      ),
    },
  }
}
