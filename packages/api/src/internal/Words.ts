/**
 * The words of the OpenAPI document: titles and descriptions of operations, groups and fields, and
 * the names of schemas.
 */
import { Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import * as OpenApi from "effect/http-api/OpenApi"

/** An operation with a title and a description. */
export const described = <E extends HttpApiEndpoint.Constraint>(
  summary: string,
  description: string | undefined,
  endpoint: E,
): E => {
  const words = description === undefined ? { summary } : { summary, description }
  const any = endpoint as unknown as HttpApiEndpoint.Top
  return any.annotateMerge(OpenApi.annotations(words)) as unknown as E
}

/** The title and description of a group. */
export const titled = (title: string, description: string) =>
  OpenApi.annotations({ title, description })

/** A field that may be absent, with a description. */
export const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema.annotate({ description }))

/** An object, with its name in the document. */
export const object = <F extends Schema.Struct.Fields>(identifier: string, fields: F) =>
  Schema.Struct(fields).annotate({ identifier })

/** The body of a request, with its name in the document. Other fields than these are refused. */
export const body = <F extends Schema.Struct.Fields>(identifier: string, fields: F) =>
  Schema.Struct(fields).annotate({ identifier, closed: true })

/** A list of everything, with its name in the document. */
export const itemsOf = <S extends Schema.Top>(identifier: string, item: S) =>
  object(identifier, { items: Schema.Array(item) })
