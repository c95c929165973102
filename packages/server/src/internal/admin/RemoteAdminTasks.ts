/**
 * The accounts and keys of a running server, over its interface for operators.
 *
 * Guarantees: the token goes to the named address and, by no redirect, to any other.
 */
import * as AdminClient from "@millrace/api/AdminClient"
import { CreateKey, UpdateKey } from "@millrace/api/AdminWire"
import { sentenceOf } from "@millrace/api/Sentence"
import { Effect, Redacted, Schema } from "effect"
import type { HttpClientError } from "effect/http"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import * as RemoteCreditAdmin from "./RemoteCreditAdmin.ts"
import * as RemoteQuarantineAdmin from "./RemoteQuarantineAdmin.ts"
import type { AdminTasks } from "./AdminTasks.ts"
import { CommandFailed } from "../../CommandFailed.ts"

type Client = AdminClient.AdminClient

type Failure =
  | RemoteCreditAdmin.Failure
  | RemoteQuarantineAdmin.Failure
  | Effect.Error<
      | ReturnType<Client["accounts"]["list"]>
      | ReturnType<Client["accounts"]["create"]>
      | ReturnType<Client["accounts"]["update"]>
      | ReturnType<Client["keys"]["list"]>
      | ReturnType<Client["keys"]["create"]>
      | ReturnType<Client["keys"]["update"]>
      | ReturnType<Client["keys"]["revoke"]>
      | ReturnType<Client["webhooks"]["list"]>
      | ReturnType<Client["webhooks"]["get"]>
      | ReturnType<Client["webhooks"]["rotate"]>
    >

const explainHttp = (url: string, { reason }: HttpClientError.HttpClientError): string => {
  if (reason._tag === "TransportError") return `The server at ${url} does not answer`
  const status = "response" in reason ? reason.response.status : undefined
  return status === 404
    ? `The server at ${url} has no interface for operators: start it with MILLRACE_ADMIN_TOKEN`
    : `The server at ${url} answered what no server of ours answers (${status ?? reason._tag})`
}

/** Why it did not work, in one sentence. */
const explain = (url: string, failure: Failure): string => {
  switch (failure._tag) {
    case "Unauthorized":
      return `The server at ${url} refuses the operator token`
    case "HttpClientError":
      return explainHttp(url, failure)
    case "SchemaError":
      return `The server at ${url} answered what no server of ours answers`
    default:
      return failure.message
  }
}

/** Asks the server, and says in one sentence why it did not work. */
export const runWith =
  (url: string) =>
  <A>(call: Effect.Effect<A, Failure>): Effect.Effect<A, CommandFailed> =>
    call.pipe(
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
      Effect.mapError(
        (failure) => new CommandFailed({ message: explain(url, failure), reason: "failed" }),
      ),
    )

/** What was said, without what was left out. */
export const given = <A extends object>(all: A) =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof A]: Exclude<A[K], undefined>
  }

/** What the server would refuse is refused before it is sent, in the same words. */
export const check = <A, I>(schema: Schema.Codec<A, I>, payload: A, what: string) =>
  Effect.mapError(
    Schema.encodeEffect(schema)(payload, { errors: "all" }),
    ({ issue }) => new CommandFailed({ message: sentenceOf(issue, what), reason: "failed" }),
  )

const Ready = Schema.Struct({ warnings: Schema.optionalKey(Schema.Array(Schema.String)) })

/** What the server says of its clock; nothing where it does not say, or cannot work. */
const clockProblemOf = (url: string): Effect.Effect<string | undefined> =>
  HttpClient.get(new URL("/readyz", url)).pipe(
    Effect.flatMap(HttpClientResponse.schemaBodyJson(Ready)),
    Effect.map(({ warnings = [] }) => warnings[0]),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
    Effect.catch(() => Effect.succeed(undefined)),
    Effect.provide(FetchHttpClient.layer),
  )

/** Opens the admin tasks of a server. Whether it answers is only known when it is asked. */
export const open = (url: string, token: Redacted.Redacted): Effect.Effect<AdminTasks> =>
  Effect.gen(function* () {
    const client = yield* AdminClient.make({ baseUrl: url, token })
    const run = runWith(url)
    return {
      listAccounts: Effect.map(run(client.accounts.list()), ({ items }) => items),
      createAccount: (name) => run(client.accounts.create({ payload: { name } })),
      updateAccount: (id, change) =>
        run(client.accounts.update({ params: { id }, payload: change })),
      listKeys: (id) => Effect.map(run(client.keys.list({ params: { id } })), ({ items }) => items),
      createKey: (id, key) =>
        check(CreateKey, given(key), "key").pipe(
          Effect.andThen(run(client.keys.create({ params: { id }, payload: given(key) }))),
          Effect.map(({ secret, ...rest }) => ({ key: rest, secret: Redacted.make(secret) })),
        ),
      updateKey: (id, keyId, change) =>
        Effect.andThen(
          check(UpdateKey, given(change), "key"),
          run(client.keys.update({ params: { id, keyId }, payload: given(change) })),
        ),
      credits: RemoteCreditAdmin.make(client, run),
      quarantine: RemoteQuarantineAdmin.make(client, run),
      clockProblem: clockProblemOf(url),
      revokeKey: (id, keyId) => run(client.keys.revoke({ params: { id, keyId } })),
    } satisfies AdminTasks
  }).pipe(Effect.provide(FetchHttpClient.layer))
