/**
 * What a command has that works on accounts: the typed client of the interface for operators, for a
 * running server over HTTP, or for stores that are opened here without a socket.
 *
 * Guarantees: the token goes to the named address and, by no redirect, to any other; whatever
 * cannot be done is refused in one sentence. What was asked for is on standard output, alone; what
 * is said about it is on standard error.
 */
import * as AdminClient from "@millrace/api/AdminClient"
import { sentenceOf } from "@millrace/api/Sentence"
import type { WireError } from "@millrace/api/WireError"
import type { Account } from "@millrace/core/domain/Account"
import type { Scope } from "effect"
import { Console, Effect, Layer, References, Schema } from "effect"
import type { HttpClientError } from "effect/http"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { CommandFailed } from "../../CommandFailed.ts"
import { linesOf } from "../command/Table.ts"
import type { Target } from "../config/ConfigTarget.ts"
import { makeToken } from "../serve/KeySettings.ts"

/** What a command is given. */
export interface Session {
  /** Opens the client. Whether a server answers is only known when it is asked. */
  readonly open: Effect.Effect<Admin, CommandFailed, Scope.Scope>
  /** True where JSON is to be printed. */
  readonly json: boolean
}

/** Every operation, and what the process that answers says of its clock. */
export interface Admin extends AdminClient.AdminClient {
  /** What is wrong with it; nothing where it is right, or where nobody says. */
  readonly clockProblem: Effect.Effect<string | undefined>
}

/** Why an operation did not work. */
export type Failure =
  | WireError
  | HttpClientError.HttpClientError
  | Schema.SchemaError
  | CommandFailed

/** Refuses a command in one sentence. */
export const refuse = (message: string) => new CommandFailed({ message, reason: "failed" })

const explainHttp = (url: string, { reason }: HttpClientError.HttpClientError): string => {
  if (reason._tag === "TransportError") return `The server at ${url} does not answer`
  const status = "response" in reason ? reason.response.status : undefined
  return status === 404
    ? `The server at ${url} has no interface for operators: start it with MILLRACE_ADMIN_TOKEN`
    : `The server at ${url} answered what no server of ours answers (${status ?? reason._tag})`
}

/** Why it did not work, in one sentence. */
const explain = (url: string, failure: Exclude<Failure, CommandFailed>): string => {
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

const Ready = Schema.Struct({ warnings: Schema.optionalKey(Schema.Array(Schema.String)) })

const clockProblemOf = (url: string) =>
  HttpClient.get(new URL("/readyz", url)).pipe(
    Effect.flatMap(HttpClientResponse.schemaBodyJson(Ready)),
    Effect.map(({ warnings = [] }) => warnings[0]),
    Effect.catch(() => Effect.succeed(undefined)),
  )

/** Where stores are that are opened here; the name leads nowhere. */
const here = "http://millrace.internal"

const open = Effect.fnUntraced(function* (
  target: Target,
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

/** Does a command's work; whatever it cannot do is its refusal. */
export const run = <A>(
  target: Target,
  json: boolean,
  work: (session: Session) => Effect.Effect<A, Failure, Scope.Scope>,
): Effect.Effect<A, CommandFailed> =>
  work({ open: open(target), json }).pipe(
    Effect.scoped,
    Effect.mapError((failure) =>
      failure._tag === "StartRefused"
        ? failure
        : refuse(explain(target._tag === "Server" ? target.url : here, failure)),
    ),
    Effect.provideService(References.LogToStderr, true),
    Effect.provideService(References.MinimumLogLevel, "Error"),
  )

/** What was typed, as a server reads it; refused before anything is opened, in its words. */
export const read = <A>(schema: Schema.Codec<A, unknown>, typed: unknown, what: string) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(typed, { errors: "all" }), ({ issue }) =>
    refuse(sentenceOf(issue, what)),
  )

/** What people are shown in place of JSON. */
interface Text {
  readonly said?: string
  readonly lines?: ReadonlyArray<string>
}

/** Prints a value for whom it is asked for: as JSON, or as what people read. */
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

/** A table for people, or the sentence that there is nothing to show. */
export const table = <A>(
  columns: Readonly<Record<string, (row: A) => string>>,
  rows: ReadonlyArray<A>,
  nothing: string,
): Text => {
  if (rows.length === 0) return { said: nothing }
  const cells = rows.map((row) => Object.values(columns).map((cellOf) => cellOf(row)))
  return { lines: linesOf(Object.keys(columns), cells) }
}

/** The accounts that are meant, oldest first: by identifier, or else by name. */
export const accountsNamed = (all: ReadonlyArray<Account>, reference: string) => {
  const byId = all.filter(({ id }) => id === reference)
  return byId.length > 0 ? byId : all.filter(({ name }) => name === reference)
}

/** The one account that is meant by an identifier or a name. */
export const accountNamed = Effect.fnUntraced(function* ({ accounts }: Admin, reference: string) {
  const { items } = yield* accounts.list()
  const [found, second] = accountsNamed(items, reference)
  if (found === undefined) return yield* refuse(`There is no account "${reference}"`)
  if (second === undefined) return found
  return yield* refuse(`Several accounts are called "${reference}": name the one by its id`)
})
