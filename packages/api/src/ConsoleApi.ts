/**
 * The HTTP interface for people who have signed in, `/api/console/v1`, as data: the groups that API
 * keys open, and what their account has besides. Operators have theirs, under `/operator`.
 *
 * Leaves out: what the operations do, and which role each needs.
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { RequestForm } from "./Authorization.ts"
import { AdminAccountsApi } from "./internal/AdminAccountsApi.ts"
import { AdminAuditApi, AdminCreditsApi } from "./internal/AdminCreditsApi.ts"
import { AdminNodeTypesApi } from "./internal/AdminNodeTypesApi.ts"
import { AdminQuarantineApi } from "./internal/AdminQuarantineApi.ts"
import { AdminWebhooksApi } from "./internal/AdminWebhooksApi.ts"
import { ApprovalsApi } from "./internal/ApprovalsApi.ts"
import { ConsoleAuthorization } from "./internal/ConsoleAuthorization.ts"
import { ConsoleKeysApi, ConsoleSecretsApi } from "./internal/ConsoleKeysApi.ts"
import { ConsoleTestEventsApi } from "./internal/ConsoleTestEventsApi.ts"
import { ConsoleSessionApi, ConsoleSessionsApi } from "./internal/ConsoleSessionApi.ts"
import { DeliveriesApi } from "./internal/DeliveriesApi.ts"
import { completeDocument } from "./internal/OpenApiDocument.ts"
import { NodeTypesApi } from "./internal/NodeTypesApi.ts"
import { RunsApi } from "./internal/RunsApi.ts"
import { TriggersApi } from "./internal/TriggersApi.ts"
import { WorkflowsApi } from "./internal/WorkflowsApi.ts"
import { UsageApi } from "./UsageApi.ts"

/** The interface of the console. Checks run in this order: host and origin, session, role, form. */
export class ConsoleApi extends HttpApi.make("millrace-console")
  .add(WorkflowsApi, TriggersApi, RunsApi, ApprovalsApi, DeliveriesApi, NodeTypesApi, UsageApi)
  .add(ConsoleKeysApi, ConsoleSecretsApi, ConsoleSessionsApi, ConsoleTestEventsApi)
  .add(AdminAccountsApi.prefix("/operator"), AdminCreditsApi.prefix("/operator"))
  .add(AdminAuditApi.prefix("/operator"), AdminWebhooksApi.prefix("/operator"))
  .add(AdminQuarantineApi.prefix("/operator"))
  .add(AdminNodeTypesApi.prefix("/operator"))
  .middleware(ConsoleAuthorization)
  .add(ConsoleSessionApi)
  .middleware(RequestForm)
  .prefix("/api/console/v1")
  // What is sent was checked when it was stored: only its shape is encoded.
  .annotate(HttpApi.SuccessParseOptions, { disableChecks: true })
  .annotate(HttpApi.ParamsParseOptions, { errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Millrace console",
      version: "1",
      description: "What people who have signed in may do, each in the role of their session.",
      license: { name: "MIT", identifier: "MIT" },
      transform: (document) => completeDocument(document, "session"),
    }),
  ) {}
