/**
 * The titles and descriptions of operations and groups in the OpenAPI document.
 */
import type { HttpApiEndpoint } from "effect/http-api"
import { OpenApi } from "effect/http-api"

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
