/**
 * What an admin command works with: the typed client of the interface for operators. The client
 * calls a running server over HTTP, or it opens the stores in this process and uses no socket.
 *
 * Guarantees: the token goes only to the named address; redirects are not followed. Every failure
 * is one sentence. Standard output has the result alone; every remark goes to standard error.
 */
import * as AdminClient from "@millrace/api/AdminClient"
import { sentenceOf } from "@millrace/api/Sentence"
import type { WireError } from "@millrace/api/WireError"
import type { Account } from "@millrace/core/domain/Account"
import type { Scope } from "effect"
import { Console, Effect, Layer, References, Schema } from "effect"
import type { HttpClientError } from "effect/http"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import { CommandFailed } from "../../CommandFailed.ts"
import { linesOf } from "../command/Table.ts"
import type { ConfigTarget } from "../config/ConfigTarget.ts"
import { makeToken } from "../serve/KeySettings.ts"

/** What a command gets. */
export interface Session {
  /** Opens the client. It sends nothing yet, so an unreachable server shows only later. */
  readonly open: Effect.Effect<Admin, CommandFailed, Scope.Scope>
  /** True if JSON is to be printed. */
  readonly json: boolean
  /** The address of the server; `undefined` if the stores are opened in this process. */
  readonly url: string | undefined
}

/** Every operation, and the state of the answering process's clock. */
export interface Admin extends AdminClient.AdminClient {
  /** What is wrong with the clock; `undefined` if it is right or unknown. */
  readonly clockProblem: Effect.Effect<string | undefined>
}

/** Why an operation did not work. */
export type Failure =
  | WireError
  | HttpClientError.HttpClientError
  | Schema.SchemaError
  | CommandFailed

/** The failure of a command, from one sentence. */
export const refuse = (message: string) => CommandFailed.failed(message)

const notOurs = (url: string): string =>
  `The answer of ${url} does not come from a Millrace server; check the address`

const explainHttp = (url: string, { reason }: HttpClientError.HttpClientError): string => {
  if (reason._tag === "TransportError") return `The server at ${url} does not answer`
  const status = "response" in reason ? reason.response.status : undefined
  return status === 404
    ? `The server at ${url} has no interface for operators: start it with MILLRACE_ADMIN_TOKEN`
    : `${notOurs(url)} (${status ?? reason._tag})`
}

/** Why an operation failed, as one sentence. */
const explain = (url: string, failure: Exclude<Failure, CommandFailed>): string => {
  switch (failure._tag) {
    case "Unauthorized":
      return `The server at ${url} refuses the admin token; use the one it was started with`
    case "HttpClientError":
      return explainHttp(url, failure)
    case "SchemaError":
      return notOurs(url)
    default:
      return failure.message
  }
}

const Ready = Schema.Struct({ warnings: Schema.optionalKey(Schema.Array(Schema.String)) })

const clockProblemOf = (url: string) =>
  HttpClient.get(new URL("/readyz", url)).pipe(
    Effect.flatMap(HttpClientResponse.schemaBodyJson(Ready)),
    Effect.map(({ warnings = [] }) => warnings[0]),
    Effect.catch(() => Effect.succeed(undefined)),
  )

/** The base URL if the stores are opened in this process. Nothing resolves it. */
const here = "http://millrace.internal"

const open = Effect.fnUntraced(function* (
  target: ConfigTarget,
): Effect.fn.Return<Admin, CommandFailed, Scope.Scope> {
  let [url, token, fetch] = [here, yield* makeToken, globalThis.fetch]
  if (target._tag === "Server") [url, token] = [target.url, target.token]
  else {
    const store = yield* Effect.promise(() => import("./StoreFetch.ts"))
    fetch = yield* store.open(target, token)
  }
  const transport = FetchHttpClient.layer.pipe(
    Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch)),
    Layer.provide(Layer.succeed(FetchHttpClient.RequestInit, { redirect: "error" })),
  )
  return yield* Effect.gen(function* () {
    const client = yield* AdminClient.make({ baseUrl: url, token })
    const http = yield* HttpClient.HttpClient
    const clockProblem = Effect.provideService(clockProblemOf(url), HttpClient.HttpClient, http)
    return { ...client, clockProblem }
  }).pipe(Effect.provide(transport))
})

/** Does a command's work. Every failure becomes a `CommandFailed`. */
export const run = <A, R>(
  target: ConfigTarget,
  json: boolean,
  work: (session: Session) => Effect.Effect<A, Failure, R | Scope.Scope>,
): Effect.Effect<A, CommandFailed, Exclude<R, Scope.Scope>> =>
  work({
    open: open(target),
    json,
    url: target._tag === "Server" ? target.url : undefined,
  }).pipe(
    Effect.scoped,
    Effect.mapError((failure) =>
      failure._tag === "CommandFailed"
        ? failure
        : refuse(explain(target._tag === "Server" ? target.url : here, failure)),
    ),
    Effect.provideService(References.LogToStderr, true),
    Effect.provideService(References.MinimumLogLevel, "Error"),
  )

/** Decodes what was typed, as a server would. Fails with the server's message. */
export const read = <A>(schema: Schema.Codec<A, unknown>, typed: unknown, what: string) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(typed, { errors: "all" }), ({ issue }) =>
    refuse(sentenceOf(issue, what)),
  )

/** What is printed in place of JSON: a remark, and the lines of the result. */
interface Text {
  readonly said?: string
  readonly lines?: ReadonlyArray<string>
}

/** Prints a value as JSON, or as text for people. */
export const print = Effect.fnUntraced(function* <A, I>(
  { json }: Session,
  schema: Schema.Codec<A, I>,
  value: A,
  { lines = [], said }: Text,
) {
  if (json) return yield* Console.log(JSON.stringify(Schema.encodeSync(schema)(value)))
  if (said !== undefined) yield* Console.error(said)
  if (lines.length > 0) yield* Console.log(lines.join("\n"))
})

/** A table for people, or the sentence `nothing` if there are no rows. */
export const table = <A>(
  columns: Readonly<Record<string, (row: A) => string>>,
  rows: ReadonlyArray<A>,
  nothing: string,
): Text => {
  if (rows.length === 0) return { said: nothing }
  const cells = rows.map((row) => Object.values(columns).map((cellOf) => cellOf(row)))
  return { lines: linesOf(Object.keys(columns), cells) }
}

/** The accounts with this identifier, else those with this name, oldest first. */
export const accountsNamed = (all: ReadonlyArray<Account>, reference: string) => {
  const byId = all.filter(({ id }) => id === reference)
  return byId.length > 0 ? byId : all.filter(({ name }) => name === reference)
}

/** The one account with this identifier or name. */
export const accountNamed = Effect.fnUntraced(function* ({ accounts }: Admin, reference: string) {
  const { items } = yield* accounts.list()
  const [found, second] = accountsNamed(items, reference)
  if (found === undefined) return yield* refuse(`There is no account "${reference}"`)
  if (second === undefined) return found
  return yield* refuse(
    `Several accounts are called "${reference}": use an id that millrace accounts list shows`,
  )
})
