/**
 * Where things are: how addresses are matched, which there are beside the interface itself, and the
 * addresses that answers name.
 */
import { Context } from "effect"
import type { FindMyWay } from "effect/http"

/**
 * How addresses are matched: exactly. An identifier of any length reaches its operation, which
 * then does not know it.
 */
export const routerConfig: Partial<FindMyWay.RouterConfig> = {
  caseSensitive: true,
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false,
  maxParamLength: 16_384,
}

/** The OpenAPI document. */
export const openapiPath = "/api/openapi.json"

/** The OpenAPI document for operators. */
export const adminOpenapiPath = "/api/admin/openapi.json"

/** The reference page. */
export const docsPath = "/api/docs"

/** Whether the process lives. */
export const healthPath = "/healthz"

/** Whether the process can work. */
export const readyPath = "/readyz"

/** What stands before all addresses where the interface is mounted: empty, or `/automation`. */
export const BasePath = Context.Reference<string>("@millrace/http/BasePath", {
  defaultValue: () => "",
})

/** The address of a workflow, without what stands before all addresses. */
export const workflowAddress = (id: string): string => `/api/v1/workflows/${encodeURIComponent(id)}`

/** The address of a run, without what stands before all addresses. */
export const runAddress = (id: string): string => `/api/v1/runs/${encodeURIComponent(id)}`
