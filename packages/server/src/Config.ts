/**
 * What the server is told: flags, then `MILLRACE_*` variables, then defaults. The one place that
 * reads the environment.
 *
 * Guarantees: everything that is wrong with the variables is named at once, and a variable that
 * nobody reads is not passed over in silence. Leaves out: parsing the command line.
 */
import { isCidr } from "@millrace/egress/Address"
import { getFailures } from "effect/Array"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { StartRefused } from "./StartRefused.ts"

/** A network that graphs may call though it is not public. */
export interface AllowedNetwork {
  /** `127.0.0.1/32`. */
  readonly cidr: string
  /** Absent: every port. */
  readonly port?: number
}

/** What `millrace dev` goes by. */
export interface DevSettings {
  /** 0: any free port. */
  readonly port: number
  readonly host: string
  /** The folder of the embedded store, as given. */
  readonly data: string
  /** True: keep nothing, and touch no folder. */
  readonly memory: boolean
  /** False: no example workflows and no demonstration. */
  readonly seed: boolean
  readonly egressAllow: ReadonlyArray<AllowedNetwork>
}

/** What the command line says; what it leaves out is `undefined`. */
export type DevFlags = { readonly [K in keyof DevSettings]?: DevSettings[K] | undefined }

/** What holds where nothing is said. */
export const defaults: DevSettings = {
  port: 7411,
  host: "127.0.0.1",
  data: "./.millrace",
  memory: false,
  seed: true,
  egressAllow: [],
}

/** Reads a variable's text; `undefined` when it makes no sense. */
type Read<A> = (text: string) => A | undefined

interface Variable<A> {
  readonly name: string
  readonly expected: string
  readonly read: Read<A>
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

const variables: { readonly [K in keyof DevSettings]: Variable<DevSettings[K]> } = {
  port: { name: "MILLRACE_PORT", expected: "a port from 0 to 65535", read: readPort },
  host: { name: "MILLRACE_HOST", expected: "a host name or an address", read: String },
  data: { name: "MILLRACE_DATA", expected: "a path", read: String },
  memory: { name: "MILLRACE_MEMORY", expected: "true or false", read: readBoolean },
  seed: { name: "MILLRACE_SEED", expected: "true or false", read: readBoolean },
  egressAllow: {
    name: "MILLRACE_EGRESS_ALLOW",
    expected: "networks such as 127.0.0.1/32:8080,[::1]/128, separated by commas",
    read: readNetworks,
  },
}

const known: ReadonlyArray<string> = Object.values(variables).map(({ name }) => name)

/** A setting: from the flag, else from its variable, else the default; or what is wrong with it. */
const resolve = <K extends keyof DevSettings>(
  flags: DevFlags,
  key: K,
): Effect.Effect<DevSettings[K], string> =>
  Effect.gen(function* () {
    const flag: DevSettings[K] | undefined = flags[key]
    if (flag !== undefined) return flag
    const { expected, name, read } = variables[key]
    const text = yield* Effect.orDie(Config.option(Config.String(name)))
    if (Option.isNone(text)) return defaults[key]
    const value = read(text.value)
    return value === undefined ? yield* Effect.fail(`${name}: expected ${expected}`) : value
  })

/** The settings in force. Refused, with every problem, when a variable makes no sense. */
export const resolveDev: (flags: DevFlags) => Effect.Effect<DevSettings, StartRefused> =
  Effect.fnUntraced(function* (flags) {
    const settings = {
      port: resolve(flags, "port"),
      host: resolve(flags, "host"),
      data: resolve(flags, "data"),
      memory: resolve(flags, "memory"),
      seed: resolve(flags, "seed"),
      egressAllow: resolve(flags, "egressAllow"),
    }
    const results = yield* Effect.all(settings, { mode: "result" })
    const message = getFailures(Object.values(results)).join("; ")
    return yield* Effect.mapError(
      Effect.fromResult(Result.all(results)),
      () => new StartRefused({ message, reason: "usage" }),
    )
  })

/** How many letters must be put in, taken out or changed to make one word of the other. */
const distance = (left: string, right: string): number => {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let index = 0; index < left.length; index++) {
    const next = [index + 1]
    for (let column = 0; column < right.length; column++) {
      const changed = row[column]! + (left[index] === right[column] ? 0 : 1)
      next.push(Math.min(changed, row[column + 1]! + 1, next[column]! + 1))
    }
    row = next
  }
  return row[right.length]!
}

const nearest = (name: string): string =>
  known.toSorted((a, b) => distance(name, a) - distance(name, b))[0]!

/** A sentence for each variable of ours among `names` that nobody reads. */
export const unknownVariables = (names: Iterable<string>): ReadonlyArray<string> =>
  Array.from(names)
    .filter((name) => name.startsWith("MILLRACE_") && !known.includes(name))
    .map((name) => `${name} is not read by anything; did you mean ${nearest(name)}?`)

/** {@link unknownVariables} of this process. */
export const warnings: Effect.Effect<ReadonlyArray<string>> = Effect.sync(() =>
  unknownVariables(Object.keys(process.env)),
)
