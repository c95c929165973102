/**
 * The options of `createEngine`.
 *
 * Guarantees: an option that is unknown, or of the wrong type, is refused before anything is
 * opened, in one sentence that names the option. `undefined` is the same as leaving an option out.
 */
import type { Duration } from "@millrace/api/Duration"
import { millisOf } from "@millrace/api/Duration"
import { isStorable } from "@millrace/api/Text"
import { Account } from "@millrace/core/domain/Account"
import type { Limits } from "@millrace/core/domain/Limits"
import {
  longestLeaseMillis,
  limitNames,
  limits,
  problemOfLimit,
  shortestLeaseMillis,
} from "@millrace/core/domain/Limits"
import { readPrices } from "@millrace/core/domain/Prices"
import { form, mark } from "@millrace/core/engine/NodeTypes"
import { isCidr } from "@millrace/egress/Address"
import { problemOfBasePath } from "@millrace/http/Addresses"
import { isOrigin, isPublicUrl } from "@millrace/http/ConsoleSettings"
import * as Builtin from "@millrace/nodes/Builtin"
import { Layer, Result, Schema } from "effect"
import type { Check, Clauses } from "./internal/OptionCheck.ts"
import {
  expected,
  fields,
  isFunction,
  isObject,
  listOf,
  refuse,
  text,
  isBoolean,
} from "./internal/OptionCheck.ts"
import type { Authorize } from "./Authorize.ts"
import type { DashboardOptions } from "./Dashboard.ts"
import * as Dashboard from "./Dashboard.ts"
import type { EngineLogger } from "./EngineLogger.ts"
import type { NodeType } from "./Node.ts"
import type { TelemetryOptions } from "./Telemetry.ts"
import * as Telemetry from "./Telemetry.ts"
import type { Store } from "./Store.ts"
import { memory } from "./Store.ts"
import type { Values } from "./ValuePlace.ts"
import type { WebhookOptions } from "./Webhook.ts"
import * as Webhook from "./Webhook.ts"

type Types = ReadonlyArray<NodeType>

type ModePrice = number | string

/** The options of an engine. All have defaults. */
export interface EngineOptions<N extends ReadonlyArray<NodeType>> {
  /** The store; in memory by default. */
  readonly store?: Store
  /** Where large values are kept: `folderValues`, `s3Values`. In the store by default. */
  readonly values?: Values
  /** Your own node types, in addition to the built-in ones. */
  readonly nodes?: N
  /** False: the engine has no built-in node types. */
  readonly builtin?: boolean
  /**
   * The name of the engine's account, which is made if missing, once even if several engines open
   * at the same time. By default the store's first account; in an empty store `default` is made.
   */
  readonly account?: string
  /** The path before `/api/v1` in the addresses that reach `fetch`: `/automation`. */
  readonly basePath?: string
  /**
   * The public address at which `fetch` is reached, with `basePath`:
   * `https://app.example.com/automation`. Links in mails of approvals begin with it. Without it,
   * the node type `approval` sends no mail.
   */
  readonly publicUrl?: string
  /**
   * Says whose a request to `fetch` is, in the place of API keys: the sign-in of the application.
   * Nothing, and an error that is thrown, is answered with 401.
   */
  readonly authorize?: Authorize
  /**
   * Serves the dashboard under `/dashboard` of the base path; it needs `@millrace/dashboard`. With
   * `true`, links of `engine.sessions.link` sign in; with `authorize`, your own sign-in decides.
   */
  readonly dashboard?: boolean | DashboardOptions
  /**
   * Origins of pages, such as `https://app.example.com`, which may call `/api/console/v1` of this
   * engine with the token of a session, never with a cookie. None by default.
   */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** How long `close` lets nodes in progress go on; 10 seconds by default. */
  readonly grace?: Duration
  /**
   * How long this engine owns its runs without a heartbeat, on a shared store. By default 5 s on
   * `postgres` with a `url`, where a thread keeps the lease, and else 30 s.
   */
  readonly lease?: Duration
  /**
   * What node types cost in credits, in the place of what they declare: by their `type`, a number,
   * an expression over the node's literals such as `"inputs.maxTokens * 0.001"`, or an object with
   * one of them for each mode. A change holds for runs that start after it.
   */
  readonly prices?: Readonly<Record<string, ModePrice | Readonly<Record<string, ModePrice>>>>
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<Limits>
  /** What nodes and webhooks may call in addition to public addresses. */
  readonly egress?: EgressOptions
  /**
   * The key that seals secrets, signing secrets and the headers of webhooks: 32 bytes as base64 or
   * as 64 hexadecimal digits. To replace a key, give `NEW,OLD`: the first key seals, and all open.
   * All engines on a database need the same. `memory` and `pglite` make one if none is given;
   * on `postgres` there are no secrets and no webhooks without it.
   */
  readonly masterKey?: string
  /** How webhooks are delivered. If this is false, a start with a webhook is refused. */
  readonly webhooks?: WebhookOptions | false
  /**
   * Takes the lines of the engine's log, from `info` on, and nothing is printed then. By default
   * warnings and errors go to stderr.
   */
  readonly logger?: EngineLogger
  /**
   * Sends spans and metrics to a collector of OpenTelemetry: a span of every run, below it one of
   * every attempt of a node; and how many runs, attempts and webhooks there were, how they ended,
   * and how long they took. The id of a run's trace is that of the run without prefix and dashes.
   */
  readonly telemetry?: TelemetryOptions
}

/** A private network that may be called. */
export interface AllowedNetwork {
  /** `127.0.0.1/32`. */
  readonly cidr: string
  /** Absent: every port. */
  readonly port?: number
}

/** What may be called in addition to public addresses, and on which ports. */
export interface EgressOptions {
  /** Networks that nodes and webhooks may call, over http and https. */
  readonly allow?: ReadonlyArray<AllowedNetwork>
  /** The ports on which nodes may call public mail servers; 25, 465, 587 and 2525 by default. */
  readonly smtpPorts?: ReadonlyArray<number>
  /** The ports on which nodes may call public databases; 5432 and 6543 by default. */
  readonly postgresPorts?: ReadonlyArray<number>
}

/** The node types of an engine with these options. */
export const typesOf = (options: EngineOptions<Types>) => {
  const own = (options.nodes ?? []).map(({ executable }) => executable)
  return [...(options.builtin === false ? [] : Builtin.builtin), ...own].map(({ type }) => type)
}

const isPort = (value: unknown) =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535

const port = expected("a port from 1 to 65535", isPort)

const network: Check = (value) =>
  isObject(value) && value["cidr"] === undefined
    ? ["cidr: is missing"]
    : fields({
        cidr: expected(
          "a network such as 127.0.0.1/32",
          (cidr) => typeof cidr === "string" && isCidr(cidr),
        ),
        port,
      })(value)

const duration: Check = (value) => {
  const read = Result.try(() => millisOf(value as Duration, ""))
  return Result.isSuccess(read) ? [] : ['expected milliseconds, or words such as "10 seconds"']
}

const lease: Check = (value) => {
  const wrong = duration(value)
  if (wrong.length > 0) return wrong
  const millis = millisOf(value as Duration, "lease")
  const isRight = millis >= shortestLeaseMillis && millis <= longestLeaseMillis
  return isRight ? [] : ["expected 1 second to 1 hour"]
}

const isLayered = (value: unknown) => isObject(value) && Layer.isLayer(value["layer"])

const nodeType = expected("what defineNode returns", (value) => {
  const executable = isObject(value) ? value["executable"] : undefined
  return isObject(executable) && executable[mark] === form
})

const bound =
  (name: (typeof limitNames)[number]): Check =>
  (value) => {
    const problem = problemOfLimit(limits[name], value)
    return problem === undefined ? [] : [problem]
  }

const isName = Schema.is(Account.fields.name.check(isStorable))

/** What is wrong with the value of each option. */
const checks: { readonly [K in keyof EngineOptions<Types>]-?: Check } = {
  store: expected("memory(), pglite(folder), sqlite(file) or postgres(url)", isLayered),
  values: expected("folderValues(folder) or s3Values(options)", isLayered),
  nodes: listOf(nodeType),
  builtin: isBoolean,
  account: expected("the name of an account, 1 to 120 characters", isName),
  basePath: (value) => {
    const problem = problemOfBasePath(value as string)
    return problem === undefined ? [] : [problem]
  },
  publicUrl: expected(
    "an address such as https://app.example.com/automation",
    (url) => typeof url === "string" && isPublicUrl(url),
  ),
  authorize: isFunction,
  dashboard: Dashboard.check,
  allowedOrigins: listOf(expected("an origin such as https://app.example.com", isOrigin)),
  grace: duration,
  lease,
  prices: () => [],
  limits: fields(Object.fromEntries(limitNames.map((name) => [name, bound(name)] as const))),
  egress: fields({
    allow: listOf(network),
    smtpPorts: listOf(port),
    postgresPorts: listOf(port),
  }),
  masterKey: text,
  webhooks: (value) =>
    value === false ? [] : fields({ masterKey: text }, "false, or an object with options")(value),
  logger: isFunction,
  telemetry: Telemetry.check,
}

/**
 * Refuses unknown options, because a misspelt one would have no effect, and those of a wrong type.
 */
export const checkOptions = (
  options: EngineOptions<Types>,
  { beside, caller }: { readonly caller: string; readonly beside: ReadonlyArray<string> } = {
    caller: "createEngine",
    beside: [],
  },
): void => {
  const others = Object.fromEntries(beside.map((name) => [name, (): Clauses => []] as const))
  const clauses = fields({ ...checks, ...others }, "an object with options")(options)
  const deeper =
    clauses.length > 0
      ? []
      : [
          ...readPrices(
            options.prices === undefined ? {} : options.prices,
            typesOf(options),
          ).problems.map((clause) => `prices: ${clause}`),
          ...Webhook.problemsOf(options, options.store ?? memory()),
        ]
  refuse(caller, [...clauses, ...deeper])
}
