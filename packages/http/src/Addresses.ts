/**
 * Addresses: how they are matched, those beside the interface itself, and those in answers.
 */
import { Context } from "effect"
import type { FindMyWay } from "effect/http"

/** Addresses are matched exactly. An identifier of any length reaches its operation. */
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

/** The OpenAPI document of the console. */
export const consoleOpenapiPath = "/api/console/openapi.json"

/** The reference page. */
export const docsPath = "/api/docs"

/** Answers while the process lives. */
export const healthPath = "/healthz"

/** Answers 200 while the process can work. */
export const readyPath = "/readyz"

/** The path before all addresses if the interface is mounted: `/automation`; else empty. */
export const BasePath = Context.Reference<string>("@millrace/http/BasePath", {
  defaultValue: () => "",
})

/** What is wrong with a base path. */
export const problemOfBasePath = (basePath: string): string | undefined =>
  /^(?:\/[\w.~-]*[\w~-][\w.~-]*)*\/?$/.test(basePath)
    ? undefined
    : 'expected a path such as "/automation"'

/** True for a host that is always this machine. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(host)

/** The address of a workflow, without the base path. */
export const workflowAddress = (id: string): string => `/api/v1/workflows/${encodeURIComponent(id)}`

/** The address of a trigger, without the base path. */
export const triggerAddress = ({ id, workflowId }: Record<"id" | "workflowId", string>): string =>
  `${workflowAddress(workflowId)}/triggers/${encodeURIComponent(id)}`

/** Where people decide approvals with a link, without the base path. */
export const approvalsPath = "/approvals/"

/** The path of the address of an inbound webhook, without the base path. */
export const hookAddress = (token: string): string => `/hooks/${token}`

/** The address of a run, without the base path. */
export const runAddress = (id: string): string => `/api/v1/runs/${encodeURIComponent(id)}`
