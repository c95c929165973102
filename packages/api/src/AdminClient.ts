/**
 * The typed client for operators: every operation as a function, every error as a tagged class.
 *
 * Guarantees: made from the same definition as the server. What is sent is checked there and not
 * here, so that what cannot be is refused in one place and in the same words for everybody.
 */
import type { Effect, Redacted } from "effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import { AdminApi } from "./AdminApi.ts"

/** Where the server is, and the token that it was started with. */
export interface AdminClientOptions {
  /** Address of the server, without `/api/admin/v1`. */
  readonly baseUrl: string | URL
  readonly token: string | Redacted.Redacted
}

const unchecked = { disableChecks: true }

const Sent = AdminApi.annotate(HttpApi.PayloadParseOptions, unchecked)
  .annotate(HttpApi.ParamsParseOptions, unchecked)
  .annotate(HttpApi.QueryParseOptions, unchecked)

/** Makes a client: `client.accounts.list({})`. Needs an `HttpClient`. */
export const make = (options: AdminClientOptions) =>
  HttpApiClient.make(Sent, {
    baseUrl: options.baseUrl,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(options.token)),
  })

/** Every operation of the interface, by group and name. */
export type AdminClient = Effect.Success<ReturnType<typeof make>>
