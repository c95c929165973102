/**
 * The server's configuration: a flag wins over a `MILLRACE_*` variable, a variable over a default.
 * Only this module reads the environment.
 *
 * Guarantees: one message names all problems of the variables, and a variable that nothing reads is
 * reported. Leaves out: parsing the command line.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import { defaultLimits, keptLeaseMillis, limitNames } from "@millrace/core/domain/Limits"
import { nearest } from "@millrace/core/domain/Nearest"
import { openWeb } from "@millrace/egress/Policy"
import { getFailures } from "effect/Array"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { CommandFailed } from "./CommandFailed.ts"
import { limitPrefix, limitVariables } from "./internal/config/LimitVariables.ts"
import type {
  DatabaseFlags,
  DatabaseSettings,
  DevFlags,
  DevSettings,
  Flags,
  ServeFlags,
  ServeSettings,
} from "./internal/config/Settings.ts"
import type { Variable, Variables } from "./internal/config/Variable.ts"
import {
  accountVariables,
  databaseVariables,
  devVariables,
  remoteVariables,
  serveVariables,
} from "./internal/config/Variables.ts"

export type * from "./internal/config/Settings.ts"

/** The defaults of `millrace dev`. */
export const defaults: DevSettings = {
  port: 7411,
  host: "127.0.0.1",
  egressAllow: [],
  smtpPorts: openWeb.sockets["smtp:"],
  postgresPorts: openWeb.sockets["postgres:"],
  adminToken: null,
  keyPrefix: "mr_",
  data: "./.millrace",
  memory: false,
  seed: true,
  masterKey: null,
  nodes: [],
  prices: null,
  limits: defaultLimits,
}

/** The defaults of a database's settings. Its address has none. */
export const databaseDefaults: Omit<DatabaseSettings, "databaseUrl"> = {
  connections: 10,
  migrate: true,
  keyPrefix: defaults.keyPrefix,
}

/** The defaults of `millrace serve`. */
export const serveDefaults: Omit<ServeSettings, "databaseUrl" | "masterKey"> = {
  ...databaseDefaults,
  port: defaults.port,
  host: defaults.host,
  egressAllow: [],
  smtpPorts: openWeb.sockets["smtp:"],
  postgresPorts: openWeb.sockets["postgres:"],
  adminToken: null,
  trustedProxies: [],
  frameAncestors: [],
  publicUrl: null,
  allowedOrigins: [],
  leaseMillis: keptLeaseMillis,
  graceMillis: 10_000,
  requestMillis: 1_500,
  values: null,
  valuesEndpoint: null,
  valuesRegion: null,
  otlpEndpoint: null,
  otlpHeaders: null,
  serviceName: "millrace",
  nodes: [],
  prices: null,
  limits: defaultLimits,
}

const known: ReadonlyArray<string> = Object.values({
  ...devVariables,
  ...serveVariables,
  ...remoteVariables,
  ...accountVariables,
  ...limitVariables,
}).map(({ name }) => name)

/** A setting's value: from the flag, else the variable, else the default. Fails with a clause. */
const resolve = Effect.fnUntraced(function* <A>(
  typed: A | undefined,
  { accepts, expected, flag, missing, name, read }: Variable<A>,
  fallback: A | undefined,
): Effect.fn.Return<A, string> {
  const text = Option.getOrUndefined(yield* Effect.orDie(Config.option(Config.String(name))))
  const value = typed ?? (text === undefined ? fallback : read(text))
  if (value === undefined) {
    const isMissing = text === undefined && missing !== undefined
    return yield* Effect.fail(isMissing ? missing : `${name}: expected ${expected}`)
  }
  if (accepts?.(value) !== false) return value
  const either = flag === undefined ? name : `${name} (or --${flag.name})`
  return yield* Effect.fail(`${either}: expected ${expected}`)
})

/** The settings in force. Fails with every problem if a variable cannot be read. */
export const resolveAll = Effect.fnUntraced(function* <S extends object>(
  flags: Flags<S>,
  variables: Variables<S>,
  fallbacks: Flags<S>,
): Effect.fn.Return<S, CommandFailed> {
  const each = (key: keyof S & string) => resolve(flags[key], variables[key], fallbacks[key])
  const keys = Object.keys(variables) as unknown as ReadonlyArray<keyof S & string>
  const results = yield* Effect.forEach(keys, (key) => Effect.result(each(key)))
  const message = getFailures(results).join("; ")
  if (message !== "") return yield* new CommandFailed({ message, reason: "usage" })
  const values = results.map((result) => Result.getOrThrow(result))
  return Object.fromEntries(keys.map((key, index) => [key, values[index]])) as unknown as S
})

const pick = <S extends object, K extends keyof S>(all: S, names: ReadonlyArray<K>) =>
  Object.fromEntries(names.map((name) => [name, all[name]])) as unknown as Pick<S, K>

/** A sentence for each of `names` that begins like a limit's variable and names no limit. */
export const unknownLimits = (names: Iterable<string>): ReadonlyArray<string> =>
  unknownVariables(names).filter((line) => line.startsWith(limitPrefix))

/** Refuses a misspelt limit, because the operator believes that it holds. */
const needKnownLimits: Effect.Effect<void, CommandFailed> = Effect.suspend(() => {
  const message = unknownLimits(Object.keys(process.env)).join("; ")
  return message === "" ? Effect.void : new CommandFailed({ message, reason: "usage" })
})

/** Settings and all limits in force. Fails if a variable cannot be read, or a limit is misspelt. */
const resolveLimited = Effect.fnUntraced(function* <S extends object>(
  flags: Flags<S>,
  variables: Variables<S>,
  fallbacks: Flags<S>,
): Effect.fn.Return<S & { readonly limits: Limits }, CommandFailed> {
  yield* needKnownLimits
  const all = yield* resolveAll<S & Limits>(
    flags as Flags<S & Limits>,
    { ...variables, ...limitVariables } as Variables<S & Limits>,
    { ...fallbacks, ...defaultLimits } as Flags<S & Limits>,
  )
  const names = Object.keys(variables) as unknown as ReadonlyArray<keyof S>
  return { ...(pick(all, names) as S), limits: pick<Limits, keyof Limits>(all, limitNames) }
})

/**
 * The settings of `millrace dev` in force. Fails if a variable cannot be read, or if a limit's
 * variable is misspelt.
 */
export const resolveDev = (flags: DevFlags): Effect.Effect<DevSettings, CommandFailed> =>
  resolveLimited<Omit<DevSettings, "limits">>(flags, devVariables, defaults)

/**
 * The settings of `millrace serve` in force. Fails without a database or a master key, if a
 * variable cannot be read, or if a limit's variable is misspelt.
 */
export const resolveServe = (flags: ServeFlags): Effect.Effect<ServeSettings, CommandFailed> =>
  resolveLimited<Omit<ServeSettings, "limits">>(flags, serveVariables, serveDefaults)

/** The database that a command works on. Fails if none is named. */
export const resolveDatabase = (
  flags: DatabaseFlags,
): Effect.Effect<DatabaseSettings, CommandFailed> =>
  resolveAll(flags, databaseVariables, databaseDefaults)

/** A sentence for each of `names` that begins with `MILLRACE_` and that nothing reads. */
export const unknownVariables = (names: Iterable<string>): ReadonlyArray<string> =>
  Array.from(names)
    .filter((name) => name.startsWith("MILLRACE_") && !known.includes(name))
    .map((name) => `${name} is not read by anything; did you mean ${nearest(name, known)}?`)

/** {@link unknownVariables} of this process. */
export const warnings: Effect.Effect<ReadonlyArray<string>> = Effect.sync(() =>
  unknownVariables(Object.keys(process.env)),
)
