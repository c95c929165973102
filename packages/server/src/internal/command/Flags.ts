/**
 * Flags that several commands have in common, and how a flag is made out of a setting.
 *
 * Leaves out: what a flag means together with the environment; that is the configuration's.
 */
import { Timestamp } from "@millrace/core/domain/Timestamp"
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { DatabaseFlags } from "../../Config.ts"
import {
  databaseDefaults,
  databaseVariables,
  defaults,
  devVariables,
  remoteVariables,
  serveVariables,
} from "../../Config.ts"
import type { TargetFlags } from "../config/ConfigTarget.ts"
import type { Read, Variable } from "../config/Variable.ts"

/** What a flag is called, what stands for its value, and what it is for. */
interface Words {
  readonly name: string
  readonly metavar: string
  readonly description: string
  /** The default as it would be typed. */
  readonly fallback?: string
}

const noteOf = (variable: string, fallback: string | undefined): string =>
  fallback === undefined ? `(${variable})` : `(${variable}, default ${fallback})`

/** A flag, or an argument, that may be left out. */
export const optional = <A>(flag: Flag.Flag<A>): Flag.Flag<A | undefined> =>
  Flag.map(Flag.optional(flag), Option.getOrUndefined)
export const optionalArgument = <A>(
  argument: Argument.Argument<A>,
): Argument.Argument<A | undefined> =>
  Argument.map(Argument.optional(argument), Option.getOrUndefined)

/** A flag whose text is taken as it is. */
export const text = (name: string, metavar: string, description: string): Flag.Flag<string> =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description))

/** A flag whose text is read as something, or refused. */
export const read = <A>(name: string, metavar: string, description: string, as: Read<A>) =>
  optional(
    Flag.filterMap(
      text(name, metavar, description),
      (typed) => Option.fromUndefinedOr(as(typed)),
      () => `Expected a ${metavar}`,
    ),
  )

/** A whole number of any size; which are possible is for whom it is meant to say. */
export const count = (name: string, description: string) =>
  read(name, "number", description, (typed) => (/^\d+$/.test(typed) ? Number(typed) : undefined))

const readTime = Schema.decodeUnknownOption(Timestamp)

/** A time, or a day, which begins at midnight UTC. */
export const time = (name: string, description: string) =>
  read(name, "time", description, (typed) => Option.getOrUndefined(readTime(typed)))

/** A flag without a value. */
export const isTyped = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(
    Flag.withoutNegation,
    Flag.withDefault(false),
    Flag.withDescription(description),
  )

/** What was typed, without what was left out. */
export const given = <A extends object>(typed: A) =>
  Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof A as undefined extends A[K] ? never : K]: A[K]
  } & { readonly [K in keyof A as undefined extends A[K] ? K : never]?: Exclude<A[K], undefined> }

/** A flag whose text is read, and refused, as its variable's is. */
export const ofVariable = <A>(
  { description, fallback, metavar, name }: Words,
  { expected, name: variable, read: as }: Variable<A>,
): Flag.Flag<Option.Option<A>> =>
  Flag.String(name).pipe(
    Flag.filterMap(
      (typed) => Option.fromUndefinedOr(as(typed)),
      () => `Expected ${expected}`,
    ),
    Flag.withMetavar(metavar),
    Flag.optional,
    Flag.withDescription(`${description} ${noteOf(variable, fallback)}`),
  )

/** A flag that is there or not; what it says otherwise is in its variable. */
export const ofBoolean = (name: string, description: string): Flag.Flag<Option.Option<boolean>> =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.optional, Flag.withDescription(description))

/** Where to listen. */
export const listening = {
  port: ofVariable(
    {
      name: "port",
      metavar: "port",
      description: "Port to listen on; 0 takes any free one",
      fallback: String(defaults.port),
    },
    serveVariables.port,
  ),
  host: ofVariable(
    {
      name: "host",
      metavar: "address",
      description: "Address to listen on",
      fallback: defaults.host,
    },
    serveVariables.host,
  ),
}

/** Which database to work on. */
export const database = {
  databaseUrl: ofVariable(
    {
      name: "database-url",
      metavar: "url",
      description: "The Postgres to use; safer in the variable, which other users cannot see",
    },
    databaseVariables.databaseUrl,
  ),
  connections: ofVariable(
    {
      name: "connections",
      metavar: "number",
      description: "Connections to the database at most",
      fallback: String(databaseDefaults.connections),
    },
    databaseVariables.connections,
  ),
  noMigrate: ofBoolean("no-migrate", "Leave the tables as they are (MILLRACE_MIGRATE=false)"),
}

/** What was typed for {@link database}. */
interface TypedDatabase {
  readonly databaseUrl: Option.Option<Redacted.Redacted>
  readonly connections: Option.Option<number>
  readonly noMigrate: Option.Option<boolean>
}

/** What was typed, for the configuration. */
export const databaseFlagsOf = (typed: TypedDatabase): DatabaseFlags => ({
  databaseUrl: Option.getOrUndefined(typed.databaseUrl),
  connections: Option.getOrUndefined(typed.connections),
  migrate: Option.contains(typed.noMigrate, true) ? false : undefined,
})

/** Which accounts and keys to work on: those of a server, of a database, or of a folder. */
export const target = {
  url: ofVariable(
    { name: "url", metavar: "url", description: "A running server to work on" },
    remoteVariables.url,
  ),
  adminToken: ofVariable(
    {
      name: "admin-token",
      metavar: "token",
      description: "The operator token of that server; safer in the variable",
    },
    // Whatever is typed is taken, because a refusal would show it.
    { ...remoteVariables.adminToken, read: Redacted.make },
  ),
  data: ofVariable(
    { name: "data", metavar: "folder", description: "Folder of a millrace dev that does not run" },
    devVariables.data,
  ),
  ...database,
  json: isTyped("json", "Print JSON, as the server's interface for operators has it"),
}

/** What was typed for {@link target}. */
interface TypedTarget extends TypedDatabase {
  readonly url: Option.Option<string>
  readonly adminToken: Option.Option<Redacted.Redacted | null>
  readonly data: Option.Option<string>
}

/** What was typed, for the configuration. */
export const targetFlagsOf = (typed: TypedTarget): TargetFlags => ({
  ...databaseFlagsOf(typed),
  url: Option.getOrUndefined(typed.url),
  adminToken: Option.getOrUndefined(typed.adminToken),
  data: Option.getOrUndefined(typed.data),
})
