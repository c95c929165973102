/**
 * The HTTP interface `/api/v1` as data: handlers, the typed client and the OpenAPI document all
 * follow from it, so they cannot disagree.
 *
 * Leaves out: what the operations do.
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { Authorization, RequestForm } from "./Authorization.ts"
import { completeDocument } from "./internal/OpenApiDocument.ts"
import { ApprovalsApi } from "./internal/ApprovalsApi.ts"
import { DeliveriesApi } from "./internal/DeliveriesApi.ts"
import { NodeTypesApi } from "./internal/NodeTypesApi.ts"
import { RunsApi } from "./internal/RunsApi.ts"
import { TriggersApi } from "./internal/TriggersApi.ts"
import { UsageApi } from "./UsageApi.ts"
import { WorkflowsApi } from "./internal/WorkflowsApi.ts"

/** The interface (specification, part 4). Checks run in this order: key, rate limit, form. */
export class Api extends HttpApi.make("millrace")
  .add(WorkflowsApi, TriggersApi, RunsApi, ApprovalsApi, DeliveriesApi, NodeTypesApi, UsageApi)
  .middleware(RequestForm)
  .middleware(Authorization)
  .prefix("/api/v1")
  // What is sent was checked when it was stored: only its shape is encoded.
  .annotate(HttpApi.SuccessParseOptions, { disableChecks: true })
  .annotate(HttpApi.ParamsParseOptions, { errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Millrace",
      version: "1",
      description: "Draw workflows, run them, read what happened.",
      license: { name: "MIT", identifier: "MIT" },
      transform: (document) => completeDocument(document, "key"),
    }),
  ) {}
