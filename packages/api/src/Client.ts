/**
 * The typed client: every operation as a function, every error as a tagged class.
 *
 * Guarantees: made from the same definition as the server. Leaves out: repeating a request; a
 * {@link TooManyRequests} says when it is worth while.
 */
import type { Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "./Api.ts"

/** Where the server is and who calls. */
export interface ClientOptions {
  /** Address of the server, without `/api/v1`. */
  readonly baseUrl: string | URL
  readonly apiKey: string | Redacted.Redacted
}

/**
 * Makes a client: `client.runs.start({ headers: {}, payload: { workflowId } })`. Needs an
 * `HttpClient`, for example that of `FetchHttpClient.layer`.
 */
export const make = (options: ClientOptions) =>
  HttpApiClient.make(Api, {
    baseUrl: options.baseUrl,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(options.apiKey)),
  })

/** Every operation of the interface, by group and name. */
export type Client = Effect.Success<ReturnType<typeof make>>
