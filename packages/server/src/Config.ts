/**
 * What the server is told: flags, then `MILLRACE_*` variables, then defaults. The one place that
 * reads the environment.
 *
 * Guarantees: everything that is wrong with the variables is named at once, and a variable that
 * nobody reads is not passed over in silence. Leaves out: parsing the command line.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import { defaultLimits, limitNames } from "@millrace/core/domain/Limits"
import { nearest } from "@millrace/core/domain/Nearest"
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
  databaseVariables,
  devVariables,
  remoteVariables,
  serveVariables,
} from "./internal/config/Variables.ts"

export type * from "./internal/config/Settings.ts"

/** What holds where nothing is said. */
export const defaults: DevSettings = {
  port: 7411,
  host: "127.0.0.1",
  egressAllow: [],
  adminToken: null,
  keyPrefix: "mr_",
  data: "./.millrace",
  memory: false,
  seed: true,
  masterKey: null,
  limits: defaultLimits,
}

/** What holds for a database where nothing is said; its address has to be. */
export const databaseDefaults: Omit<DatabaseSettings, "databaseUrl"> = {
  connections: 10,
  migrate: true,
  keyPrefix: defaults.keyPrefix,
}

/** What holds for `millrace serve` where nothing is said. */
export const serveDefaults: Omit<ServeSettings, "databaseUrl" | "masterKey"> = {
  ...databaseDefaults,
  port: defaults.port,
  host: defaults.host,
  egressAllow: [],
  adminToken: null,
  trustedProxies: [],
  leaseMillis: 30_000,
  graceMillis: 10_000,
  requestMillis: 1_500,
  limits: defaultLimits,
}

const known: ReadonlyArray<string> = Object.values({
  ...devVariables,
  ...serveVariables,
  ...remoteVariables,
  ...limitVariables,
}).map(({ name }) => name)

/** A setting: from the flag, else from its variable, else the default; or what is wrong with it. */
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

/** The settings in force. Refused, with every problem, when a variable makes no sense. */
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

/** A sentence for each variable among `names` that looks like a bound's and is none. */
export const unknownLimits = (names: Iterable<string>): ReadonlyArray<string> =>
  unknownVariables(names).filter((line) => line.startsWith(limitPrefix))

/** Refuses a bound that is misspelt: whoever set it believes that it holds. */
const needKnownLimits: Effect.Effect<void, CommandFailed> = Effect.suspend(() => {
  const message = unknownLimits(Object.keys(process.env)).join("; ")
  return message === "" ? Effect.void : new CommandFailed({ message, reason: "usage" })
})

/** Settings and all bounds in force; refused when a variable makes no sense, or is misspelt. */
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
 * The settings of `millrace dev` in force; refused when a variable makes no sense or is named like
 * a bound's and is none.
 */
export const resolveDev = (flags: DevFlags): Effect.Effect<DevSettings, CommandFailed> =>
  resolveLimited<Omit<DevSettings, "limits">>(flags, devVariables, defaults)

/**
 * The settings of `millrace serve` in force; refused without a database and a master key, and when
 * a variable makes no sense or is named like a bound's and is none.
 */
export const resolveServe = (flags: ServeFlags): Effect.Effect<ServeSettings, CommandFailed> =>
  resolveLimited<Omit<ServeSettings, "limits">>(flags, serveVariables, serveDefaults)

/** Which database a command works on; refused without one. */
export const resolveDatabase = (
  flags: DatabaseFlags,
): Effect.Effect<DatabaseSettings, CommandFailed> =>
  resolveAll(flags, databaseVariables, databaseDefaults)

/** A sentence for each variable of ours among `names` that nobody reads. */
export const unknownVariables = (names: Iterable<string>): ReadonlyArray<string> =>
  Array.from(names)
    .filter((name) => name.startsWith("MILLRACE_") && !known.includes(name))
    .map((name) => `${name} is not read by anything; did you mean ${nearest(name, known)}?`)

/** {@link unknownVariables} of this process. */
export const warnings: Effect.Effect<ReadonlyArray<string>> = Effect.sync(() =>
  unknownVariables(Object.keys(process.env)),
)
