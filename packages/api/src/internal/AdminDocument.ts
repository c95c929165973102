/**
 * Finishing touches to the OpenAPI document for operators: that of the interface of keys, less what
 * is only true of keys.
 */
import type { OpenApi } from "effect/http-api"
import { completeDocument } from "./Document.ts"

type Responses = OpenApi.OpenAPISpecOperation["responses"]

interface Document {
  readonly components: { readonly headers: Readonly<Record<string, unknown>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: Responses }>>>>
}

const ofKeys = new Set(["X-RateLimit-Remaining", "X-RateLimit-Reset"])

const descriptions: Readonly<Record<string, string>> = {
  "401": "The admin token is missing or wrong.",
  "404": "There is no such account, key or delivery.",
  "429": "Too many wrong tokens came from this address; see the header Retry-After.",
}

const withoutOfKeys = <A>(headers: Readonly<Record<string, A>>): Record<string, A> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ofKeys.has(name)))

const completeResponses = (responses: Responses) =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      {
        ...response,
        description: descriptions[status] ?? response.description,
        headers: withoutOfKeys(response.headers ?? {}),
      },
    ]),
  )

/** Completes the document that was derived from the definition. */
export const completeAdminDocument = (
  document: Record<string, unknown>,
): Record<string, unknown> => {
  const complete = completeDocument(document)
  const { components, paths } = complete as unknown as Document
  const completePath = (methods: Document["paths"][string]) =>
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => [
        method,
        { ...operation, responses: completeResponses(operation.responses) },
      ]),
    )
  return {
    ...complete,
    components: { ...components, headers: withoutOfKeys(components.headers) },
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, methods]) => [path, completePath(methods)]),
    ),
  }
}
