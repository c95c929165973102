/**
 * What the server is told: flags, then `MILLRACE_*` variables, then defaults. The one place that
 * reads the environment.
 *
 * Guarantees: everything that is wrong with the variables is named at once, and a variable that
 * nobody reads is not passed over in silence. Leaves out: parsing the command line.
 */
import { SecretPrefix } from "@millrace/core/domain/ApiKey"
import type { Limits } from "@millrace/core/domain/Limits"
import { defaultLimits, limitNames } from "@millrace/core/domain/Limits"
import { nearest } from "@millrace/core/domain/Nearest"
import { isCidr } from "@millrace/egress/Address"
import { isMasterKey, masterKeyForm } from "@millrace/webhooks/MasterKey"
import { getFailures } from "effect/Array"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as IpNetwork from "effect/net/IpNetwork"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isIP } from "node:net"
import { limitPrefix, limitVariables } from "./internal/config/LimitVariables.ts"
import { CommandFailed } from "./CommandFailed.ts"
import type { Read, Variable, Variables } from "./internal/config/Variable.ts"

/** A network that graphs may call though it is not public. */
export interface AllowedNetwork {
  /** `127.0.0.1/32`. */
  readonly cidr: string
  /** Absent: every port. */
  readonly port?: number
}

/** What new API keys are like, whoever makes them. */
export interface KeySettings {
  /** What new API keys begin with. */
  readonly keyPrefix: string
}

/** Where a server listens, whom it lets in, and what its workflows may call. */
interface ServerSettings extends KeySettings {
  /** 0: any free port. */
  readonly port: number
  readonly host: string
  readonly egressAllow: ReadonlyArray<AllowedNetwork>
  /** What operators show. Null: there is no interface for them, or `dev` makes a token up. */
  readonly adminToken: Redacted.Redacted | null
  /** What is bounded, and by how much. */
  readonly limits: Limits
}

/** What `millrace dev` goes by. */
export interface DevSettings extends ServerSettings {
  /** The folder of the embedded store, as given. */
  readonly data: string
  /** True: keep nothing, and touch no folder. */
  readonly memory: boolean
  /** False: no example workflows and no demonstration. */
  readonly seed: boolean
  /** What secrets are kept with. Null: the one in the data folder, made when missing. */
  readonly masterKey: Redacted.Redacted | null
}

/** Which database to use, and how. */
export interface DatabaseSettings extends KeySettings {
  readonly databaseUrl: Redacted.Redacted
  /** Connections at most, beside up to five that keep the lease and hear of new runs. */
  readonly connections: number
  /** False: the tables are brought up to date by somebody else. */
  readonly migrate: boolean
}

/** What `millrace serve` goes by. */
export interface ServeSettings extends ServerSettings, DatabaseSettings {
  /** What secrets are kept with. */
  readonly masterKey: Redacted.Redacted
  /** How long runs stay with a server that gives no sign of life. */
  readonly leaseMillis: number
  /** How long nodes in progress may go on once the server was told to stop. */
  readonly graceMillis: number
  /** How long a request that has arrived may take to be answered. */
  readonly requestMillis: number
  /** Networks of proxies that are believed when they say whose request it is. */
  readonly trustedProxies: ReadonlyArray<string>
}

/** Where a running server is, and what it wants to be shown. */
export interface RemoteSettings extends Pick<ServerSettings, "adminToken"> {
  readonly url: string
}

/** What the command line says; what it leaves out is `undefined`. */
export type Flags<S> = { readonly [K in keyof S]?: S[K] | undefined }
export type DevFlags = Flags<Omit<DevSettings, "limits">>
export type DatabaseFlags = Flags<DatabaseSettings>
export type ServeFlags = Flags<Omit<ServeSettings, "limits">>

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

/** Reads a port, where 0 stands for any free one; `undefined` when it is none. */
export const readPort: Read<number> = (text) =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined

const words = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["on", true],
  ["false", false],
  ["0", false],
  ["no", false],
  ["off", false],
])

const readBoolean: Read<boolean> = (text) => words.get(text.toLowerCase())

const readNetwork: Read<AllowedNetwork> = (text) => {
  const [, cidr, port] = /^([\d.]+\/\d+|\[[\da-f:.]+\]\/\d+)(?::(\d+))?$/i.exec(text) ?? []
  const network = { cidr: cidr?.replace(/[[\]]/g, "") ?? "" }
  if (!isCidr(network.cidr)) return undefined
  if (port === undefined) return network
  const number = readPort(port)
  return number === undefined ? undefined : { ...network, port: number }
}

const readNetworks: Read<ReadonlyArray<AllowedNetwork>> = (text) => {
  const networks = text.split(",").map((part) => readNetwork(part.trim()))
  return networks.every((each) => each !== undefined) ? networks : undefined
}

const readProxies: Read<ReadonlyArray<string>> = (text) => {
  const parts = text.split(",").map((part) => part.trim())
  const networks = parts.map((part) => (isIP(part) === 0 ? part : `${part}/${bitsOf(part)}`))
  return networks.every(isNetwork) ? networks : undefined
}

const isNetwork = (text: string): boolean => Result.isSuccess(IpNetwork.fromString(text))

const bitsOf = (address: string): number => (isIP(address) === 4 ? 32 : 128)

/** What can be sent in a header, and is not to be guessed. */
const readToken: Read<Redacted.Redacted> = (text) =>
  /^[\x21-\x7e]{24,}$/.test(text) ? Redacted.make(text) : undefined

const readPrefix: Read<string> = (text) => (isPrefix(text) ? text : undefined)

const isPrefix = Schema.is(SecretPrefix)

const readOrigin: Read<string> = (text) =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? "") ? text.replace(/\/+$/, "") : undefined

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Reads a duration such as `500ms`, `1.5s` or `2m`; `undefined` when it is none of these. */
export const readDuration: Read<number> = (text) => {
  const [, amount, unit] = /^(\d+(?:\.\d+)?) ?(ms|s|m|h)$/.exec(text.trim()) ?? []
  return unit === undefined ? undefined : Number(amount) * units[unit as keyof typeof units]
}

/** Reads a number from `least` to `most`. */
export const readBetween =
  <A extends number>(read: Read<A>, least: number, most: number): Read<A> =>
  (text) => {
    const value = read(text)
    return value !== undefined && value >= least && value <= most ? value : undefined
  }

/** Reads a whole number; `undefined` when it is none. */
export const readCount: Read<number> = (text) => (/^\d{1,6}$/.test(text) ? Number(text) : undefined)

const listenVariables: Variables<Pick<ServerSettings, "port" | "host">> = {
  port: { name: "MILLRACE_PORT", expected: "a port from 0 to 65535", read: readPort },
  host: { name: "MILLRACE_HOST", expected: "a host name or an address", read: String },
}

/** What may be called that is not public. */
export const egressVariables: Variables<Pick<ServerSettings, "egressAllow">> = {
  egressAllow: {
    name: "MILLRACE_EGRESS_ALLOW",
    expected: "networks such as 127.0.0.1/32:8080,[::1]/128, separated by commas",
    read: readNetworks,
  },
}

/** What a command reads that seals or opens secrets. */
export const masterKeyVariable: Variable<Redacted.Redacted> = {
  name: "MILLRACE_MASTER_KEY",
  expected: masterKeyForm,
  read: (text) => (isMasterKey(text) ? Redacted.make(text) : undefined),
}

/** What a command reads that makes keys. */
export const keyVariables: Variables<KeySettings> = {
  keyPrefix: {
    name: "MILLRACE_KEY_PREFIX",
    expected: "2 to 16 of a-z, 0-9 and _, a letter first and an _ at the end",
    read: readPrefix,
  },
}

const tokenVariables: Variables<Pick<ServerSettings, "adminToken">> = {
  adminToken: {
    name: "MILLRACE_ADMIN_TOKEN",
    expected: "24 visible characters or more",
    read: readToken,
  },
}

/** What a command reads that can work on a running server. */
export const remoteVariables: Variables<RemoteSettings> = {
  url: { name: "MILLRACE_URL", expected: "an address such as http://host:7411", read: readOrigin },
  ...tokenVariables,
}

/** What `millrace dev` reads. */
export const devVariables: Variables<Omit<DevSettings, "limits">> = {
  ...listenVariables,
  ...keyVariables,
  ...tokenVariables,
  data: { name: "MILLRACE_DATA", expected: "a path", read: String },
  memory: { name: "MILLRACE_MEMORY", expected: "true or false", read: readBoolean },
  seed: { name: "MILLRACE_SEED", expected: "true or false", read: readBoolean },
  masterKey: masterKeyVariable,
  ...egressVariables,
}

const addressForm = "an address such as postgres://user:password@host:5432/database"

/** What a command reads that works on a database. */
export const databaseVariables: Variables<DatabaseSettings> = {
  ...keyVariables,
  databaseUrl: { name: "DATABASE_URL", expected: addressForm, read: Redacted.make },
  connections: {
    name: "MILLRACE_DATABASE_CONNECTIONS",
    expected: "a number from 1 to 1000",
    read: readBetween(readCount, 1, 1_000),
  },
  migrate: { name: "MILLRACE_MIGRATE", expected: "true or false", read: readBoolean },
}

/** What `millrace serve` reads. */
export const serveVariables: Variables<Omit<ServeSettings, "limits">> = {
  ...listenVariables,
  ...databaseVariables,
  masterKey: masterKeyVariable,
  leaseMillis: {
    name: "MILLRACE_LEASE",
    expected: "a duration from 1s to 1h",
    read: readBetween(readDuration, 1_000, units.h),
  },
  graceMillis: {
    name: "MILLRACE_GRACE",
    expected: "a duration from 0s to 1h",
    read: readBetween(readDuration, 0, units.h),
  },
  requestMillis: {
    name: "MILLRACE_REQUEST_TIMEOUT",
    expected: "a duration from 100ms to 10m",
    read: readBetween(readDuration, 100, 10 * units.m),
  },
  trustedProxies: {
    name: "MILLRACE_TRUSTED_PROXIES",
    expected: "addresses or networks such as 10.0.0.0/8,::1, separated by commas",
    read: readProxies,
  },
  ...tokenVariables,
  ...egressVariables,
}

const known: ReadonlyArray<string> = Object.values({
  ...devVariables,
  ...serveVariables,
  ...remoteVariables,
  ...limitVariables,
}).map(({ name }) => name)

/** A setting: from the flag, else from its variable, else the default; or what is wrong with it. */
const resolve = Effect.fnUntraced(function* <A>(
  flag: A | undefined,
  { expected, name, read }: Variable<A>,
  fallback: A | undefined,
): Effect.fn.Return<A, string> {
  if (flag !== undefined) return flag
  const text = yield* Effect.orDie(Config.option(Config.String(name)))
  const value = Option.isNone(text) ? fallback : read(text.value)
  return value === undefined ? yield* Effect.fail(`${name}: expected ${expected}`) : value
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

const isDatabaseUrl = (url: Redacted.Redacted): boolean =>
  /^postgres(?:ql)?:\/\/./.test(Redacted.value(url))

/** Refuses to guess where the database is; never repeats an address, because it has a password. */
const needDatabase = Effect.fnUntraced(function* (
  flags: DatabaseFlags,
): Effect.fn.Return<void, CommandFailed> {
  const variable = yield* Effect.orDie(Config.option(Config.Redacted("DATABASE_URL")))
  const url = flags.databaseUrl ?? Option.getOrUndefined(variable)
  if (url !== undefined && isDatabaseUrl(url)) return
  const message =
    url === undefined
      ? `No database is named: set DATABASE_URL (or --database-url) to ${addressForm}, ` +
        "or run millrace dev, which brings its own"
      : `DATABASE_URL (or --database-url): expected ${addressForm}`
  return yield* new CommandFailed({ message, reason: "usage" })
})

/** Refuses to make up a key that would be gone with the process. */
const needMasterKey = Effect.fnUntraced(function* (
  flags: ServeFlags,
): Effect.fn.Return<void, CommandFailed> {
  const variable = yield* Effect.orDie(Config.option(Config.Redacted("MILLRACE_MASTER_KEY")))
  if (flags.masterKey !== undefined || Option.isSome(variable)) return
  const message =
    `No master key is set: set MILLRACE_MASTER_KEY to ${masterKeyForm}, the same on every ` +
    "server of a database; openssl rand -base64 32 makes one"
  return yield* new CommandFailed({ message, reason: "usage" })
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
export const resolveServe = Effect.fnUntraced(function* (
  flags: ServeFlags,
): Effect.fn.Return<ServeSettings, CommandFailed> {
  yield* needDatabase(flags)
  yield* needMasterKey(flags)
  return yield* resolveLimited<Omit<ServeSettings, "limits">>(flags, serveVariables, serveDefaults)
})

/** Which database a command works on; refused without one. */
export const resolveDatabase = (
  flags: DatabaseFlags,
): Effect.Effect<DatabaseSettings, CommandFailed> =>
  Effect.andThen(needDatabase(flags), resolveAll(flags, databaseVariables, databaseDefaults))

/** A sentence for each variable of ours among `names` that nobody reads. */
export const unknownVariables = (names: Iterable<string>): ReadonlyArray<string> =>
  Array.from(names)
    .filter((name) => name.startsWith("MILLRACE_") && !known.includes(name))
    .map((name) => `${name} is not read by anything; did you mean ${nearest(name, known)}?`)

/** {@link unknownVariables} of this process. */
export const warnings: Effect.Effect<ReadonlyArray<string>> = Effect.sync(() =>
  unknownVariables(Object.keys(process.env)),
)
