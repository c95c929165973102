/**
 * The HTTP interface for operators, `/api/admin/v1`, as data: apart from the one that keys open,
 * with a document of its own.
 *
 * Leaves out: what the operations do. What operators do besides is a group more.
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { AdminAuditApi, AdminCreditsApi } from "./internal/AdminCreditsApi.ts"
import { AdminAccountsApi } from "./internal/AdminAccountsApi.ts"
import { AdminAuthorization } from "./internal/AdminAuthorization.ts"
import { AdminKeysApi } from "./internal/AdminKeysApi.ts"
import { AdminNodeTypesApi } from "./internal/AdminNodeTypesApi.ts"
import { AdminQuarantineApi } from "./internal/AdminQuarantineApi.ts"
import { AdminSecretsApi } from "./internal/AdminSecretsApi.ts"
import { AdminSessionsApi } from "./internal/AdminSessionsApi.ts"
import { AdminWebhooksApi } from "./internal/AdminWebhooksApi.ts"
import { completeDocument } from "./internal/OpenApiDocument.ts"
import { RequestForm } from "./Authorization.ts"

/** The interface for operators. Checks run in this order: token, form. */
export class AdminApi extends HttpApi.make("millrace-admin")
  .add(AdminAccountsApi, AdminKeysApi, AdminCreditsApi, AdminAuditApi, AdminWebhooksApi)
  .add(AdminSecretsApi, AdminQuarantineApi, AdminSessionsApi, AdminNodeTypesApi)
  .middleware(RequestForm)
  .middleware(AdminAuthorization)
  .prefix("/api/admin/v1")
  // What is sent was checked when it was stored: only its shape is encoded.
  .annotate(HttpApi.SuccessParseOptions, { disableChecks: true })
  .annotate(HttpApi.ParamsParseOptions, { errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Millrace for operators",
      version: "1",
      description:
        "Accounts, their API keys, credits, secrets, sessions and webhooks, runs in quarantine, " +
        "and node types in use.",
      license: { name: "MIT", identifier: "MIT" },
      transform: (document) => completeDocument(document, "operator"),
    }),
  ) {}
