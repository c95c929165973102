/**
 * The engine for applications without Effect: one object with promises, and an HTTP handler.
 *
 * Guarantees: every problem of the start rejects `createEngine`. Engines in one process share
 * nothing. `close` leaves no timer, handle or lock behind. Leaves out: rules; those of
 * `@millrace/core` hold.
 */
import type { Duration } from "@millrace/api/Duration"
import { millisOf } from "@millrace/api/Duration"
import { invalid } from "@millrace/api/MillraceError"
import { Account } from "@millrace/core/domain/Account"
import type { AccountId } from "@millrace/core/domain/Id"
import type { Limits } from "@millrace/core/domain/Limits"
import { defaultLimits, limitNames, limits, problemOfLimit } from "@millrace/core/domain/Limits"
import { unknownFields } from "@millrace/core/domain/Nearest"
import { readPrices } from "@millrace/core/domain/Prices"
import type { Stores } from "@millrace/core/engine/Engine"
import { Keys } from "@millrace/core/engine/Keys"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import type { RunnerOptions } from "@millrace/core/engine/RunnerOptions"
import type { KeyStore } from "@millrace/core/ports/KeyStore"
import { isCidr } from "@millrace/egress/Address"
import type { Egress } from "@millrace/egress/Egress"
import * as Host from "@millrace/host/Host"
import type { EngineThreads } from "@millrace/host/Threads"
import * as Threads from "@millrace/host/Threads"
import * as DirectTransport from "@millrace/http/DirectTransport"
import type { HttpServices } from "@millrace/http/HttpApp"
import type { Handler } from "@millrace/http/WebHandler"
import { make as makeHandler, problemOfBasePath } from "@millrace/http/WebHandler"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import type { Scope } from "effect"
import { Context, Effect, Layer, Logger, LogLevel } from "effect"
import type { Authorize } from "./Authorize.ts"
import * as Authorization from "./Authorize.ts"
import type { AccountClient, Accounts, TransportOf } from "./AccountClient.ts"
import * as AccountClients from "./AccountClient.ts"
import { reader } from "./internal/JsonCopy.ts"
import type { Refusal } from "./internal/Refusal.ts"
import type { NodeType } from "./Node.ts"
import type { Runtime } from "./internal/Runtime.ts"
import { open } from "./internal/Runtime.ts"
import type { Store } from "./Store.ts"
import { memory } from "./Store.ts"
import type { Values } from "./ValuePlace.ts"
import type { WebhookOptions } from "./Webhook.ts"
import * as Webhook from "./Webhook.ts"
import type { WorkflowBuilder } from "./WorkflowBuilder.ts"
import { empty } from "./WorkflowBuilder.ts"

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
   * Says whose a request to `fetch` is, in the place of API keys: the sign-in of the application.
   * Nothing, and an error that is thrown, is answered with 401.
   */
  readonly authorize?: Authorize
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

const portsOf = ({ postgresPorts, smtpPorts }: EgressOptions) => ({
  ...(smtpPorts === undefined ? {} : { "smtp:": smtpPorts }),
  ...(postgresPorts === undefined ? {} : { "postgres:": postgresPorts }),
})

/** Every option, by name. */
const optionNames: { readonly [K in keyof EngineOptions<ReadonlyArray<NodeType>>]-?: true } = {
  store: true,
  values: true,
  nodes: true,
  builtin: true,
  account: true,
  basePath: true,
  authorize: true,
  grace: true,
  lease: true,
  prices: true,
  limits: true,
  egress: true,
  masterKey: true,
  webhooks: true,
}

/** The node types of an engine with these options. */
export const typesOf = (options: EngineOptions<ReadonlyArray<NodeType>>) => {
  const own = (options.nodes ?? []).map(({ executable }) => executable)
  return [...(options.builtin === false ? [] : Builtin.builtin), ...own].map(({ type }) => type)
}

const given = (of: object): ReadonlyArray<string> =>
  Object.entries(of).flatMap(([name, value]) => (value === undefined ? [] : [name]))

const problemsOfMount = ({ authorize, basePath = "" }: MountOptions) => {
  const problem = problemOfBasePath(basePath)
  return [
    ...(problem === undefined ? [] : [`basePath: ${problem}`]),
    ...(authorize === undefined || typeof authorize === "function"
      ? []
      : ["authorize: expected a function"]),
  ]
}

/**
 * Refuses unknown options, because a misspelt one would have no effect, and limits that allow
 * nothing.
 */
export const checkOptions = (
  options: EngineOptions<ReadonlyArray<NodeType>>,
  { beside, caller }: { readonly caller: string; readonly beside: ReadonlyArray<string> } = {
    caller: "createEngine",
    beside: [],
  },
): void => {
  const bounds = options.limits ?? {}
  const ofValues = limitNames.flatMap((name) => {
    const value = bounds[name]
    const problem = value === undefined ? undefined : problemOfLimit(limits[name], value)
    return problem === undefined ? [] : [`${name}: ${problem}`]
  })
  const ofLimits = [...unknownFields(given(bounds), Object.keys(defaultLimits)), ...ofValues]
  const { egress = {}, webhooks } = options
  const ofEgress = [
    ...unknownFields(given(egress), ["allow", "smtpPorts", "postgresPorts"]),
    ...(egress.allow ?? []).flatMap(({ cidr }) =>
      isCidr(cidr) ? [] : [`allow: expected networks such as 127.0.0.1/32`],
    ),
  ]
  const ofWebhooks = unknownFields(given(webhooks === false ? {} : (webhooks ?? {})), ["masterKey"])
  const clauses = [
    ...unknownFields(given(options), [...Object.keys(optionNames), ...beside]),
    ...problemsOfMount(options),
    ...ofLimits.map((clause) => `limits: ${clause}`),
    ...ofEgress.map((clause) => `egress: ${clause}`),
    ...readPrices(options.prices ?? {}, typesOf(options)).problems.map(
      (clause) => `prices: ${clause}`,
    ),
    ...ofWebhooks.map((clause) => `webhooks: ${clause}`),
    ...Webhook.problemsOf(options, options.store ?? memory()),
  ]
  if (clauses.length === 0) return
  throw invalid(`${caller}: ${clauses.join("; ")}`)
}

/** Refuses an engine on a handler thread, which imports the module only for its node types. */
export const checkThread = (): void => {
  if (!Threads.isHandlerThread()) return
  const message =
    "createEngine: was called while a thread imported the module of a blocking node type: " +
    "move the node type into a module that does not call createEngine"
  throw invalid(message)
}

/** A running engine: what it does for its own account, and what only its owner may do. */
export interface Engine<N extends ReadonlyArray<NodeType> = ReadonlyArray<NodeType>>
  extends AccountClient, AsyncDisposable {
  /** The accounts of the store. */
  readonly accounts: Accounts
  /**
   * The same calls for another account, by its id. They reject with `ACCOUNT_NOT_FOUND` if there is
   * no such account: make it with `accounts.create`. Nothing of one account is seen through the
   * client of another one.
   */
  account(id: string): AccountClient
  /** Draws a workflow in code. Only `workflows.create` stores it. */
  workflow(name: string): WorkflowBuilder<N>
  /**
   * The HTTP interface, to mount in any application. Never rejects. A closed engine answers 503.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * Stops the engine and resolves when everything has stopped. No further node is started. The
   * signal of a handler that is not done within `grace` is aborted. An engine that opens the same
   * durable store later continues the open runs. Every other call rejects from now on, also calls
   * in progress.
   */
  close(): Promise<void>
}

/** The HTTP interface. Its routes are made for the first request. */
class Mount extends Context.Service<Mount, Effect.Effect<Handler>>()("millrace/Mount") {}

type MountOptions = Pick<EngineOptions<ReadonlyArray<NodeType>>, "authorize" | "basePath">

const makeMount = ({ authorize, basePath }: MountOptions) =>
  authorize === undefined
    ? makeHandler({ basePath })
    : Effect.flatMap(Authorization.make(authorize), (found) =>
        makeHandler({ basePath, authorize: found }),
      )

const layerMount = (options: MountOptions) =>
  Layer.effect(
    Mount,
    Effect.gen(function* () {
      const context = yield* Effect.context<HttpServices | Keys | KeyStore | Scope.Scope>()
      return yield* Effect.cached(Effect.provideContext(makeMount(options), context))
    }),
  )

/** The services that an engine calls. */
export type Services = Host.EngineServices | DirectTransport.Operations | Mount

const stderr = Logger.withConsoleError(Logger.formatLogFmt)

/** A library prints nothing but warnings and errors. */
const warnings: Logger.Logger<unknown, void> = Logger.make((entry) => {
  if (LogLevel.isGreaterThanOrEqualTo(entry.logLevel, "Warn")) stderr.log(entry)
})

/** What an engine of a test has in the place of the usual parts. */
export interface EngineParts {
  readonly stores: Layer.Layer<Stores>
  readonly threads: Layer.Layer<EngineThreads>
  readonly evaluator: Layer.Layer<never>
  /** References that the handlers and timers of runs find. */
  readonly ofRuns: Layer.Layer<never>
  readonly runner: Partial<RunnerOptions>
  /** The node type to execute in the place of one. */
  readonly standIn: <E extends Executable<unknown>>(usual: E) => E
  /** The guard for webhooks to use in the place of one. */
  readonly webhookGuard: (usual: Layer.Layer<Egress>) => Layer.Layer<Egress>
}

/** All services of an engine with these options. */
export const layerOf = (
  options: EngineOptions<ReadonlyArray<NodeType>>,
  parts: Partial<EngineParts> = {},
) => {
  const { ofRuns = Layer.empty, standIn = (usual) => usual, threads = Threads.layer } = parts
  const own = (options.nodes ?? []).map((type) => standIn(type.executable))
  const builtin = options.builtin === false ? [] : Builtin.builtin.map((each) => standIn(each))
  const types = NodeTypes.layer(...builtin, ...own)
  const { egress = {}, grace, prices, webhooks } = options
  const { allow = [] } = egress
  const bounds = options.limits ?? {}
  const set = Object.entries(bounds).filter(([, value]) => value !== undefined)
  const store = options.store ?? memory()
  const lease = options.lease ?? store.leaseMillis
  const masterKey = Webhook.masterKeyOf(options, store)
  const host = Host.layer<Refusal>({
    stores: parts.stores ?? store.layer,
    values: options.values?.layer,
    nodes: Layer.provide(types, [threads, Builtin.layerServices, ofRuns]),
    evaluator: parts.evaluator,
    egress: Outbound.layer(allow, portsOf(egress), "egress.allow of createEngine"),
    masterKey,
    webhooks:
      webhooks === false || masterKey === undefined
        ? Webhook.sentenceWithout(webhooks)
        : { allow, guard: parts.webhookGuard },
    ...(prices === undefined ? {} : { prices: readPrices(prices, typesOf(options)).prices }),
    limits: Object.fromEntries(set),
    runner: {
      ...(grace === undefined ? {} : { graceMillis: millisOf(grace, "grace") }),
      ...(lease === undefined ? {} : { leaseMillis: millisOf(lease, "lease") }),
      ...parts.runner,
    },
  })
  return Layer.merge(layerMount(options), DirectTransport.Operations.layer).pipe(
    Layer.provideMerge(host),
    Layer.provideMerge(Logger.layer([warnings])),
  )
}

const readName = reader(Account.fields.name, "account")

/** The id of the account with this name, which is made if it is missing. */
export const accountOf = Effect.fnUntraced(function* (wanted: string | undefined) {
  const keys = yield* Keys
  if (wanted !== undefined) return (yield* keys.ensureAccount(yield* readName(wanted))).id
  const [first] = yield* keys.listAccounts
  return (first ?? (yield* keys.ensureAccount("default"))).id
})

const answerClosed = (): Response =>
  Response.json({ error: "The engine is closed" }, { status: 503 })

/** The engine over its services. */
export const engineOf = <N extends ReadonlyArray<NodeType>>(
  runtime: Runtime<Services>,
  account: AccountId,
  transportOf: TransportOf = (of, { callUntil }) => DirectTransport.make(of, callUntil),
): Engine<N> => ({
  ...AccountClients.clientOf(runtime, account, transportOf),
  accounts: AccountClients.make(runtime),
  account: AccountClients.clientsOf(runtime, transportOf),
  workflow: (name) => empty(name),
  fetch: (request) =>
    runtime
      .call(
        Mount.use((made) =>
          Effect.flatMap(made, (handler) => Effect.promise(() => handler(request))),
        ),
      )
      .catch(answerClosed),
  close: runtime.close,
  [Symbol.asyncDispose]: runtime.close,
})

/** Opens an engine; what `createEngine` does. */
export const openEngine = async <const N extends ReadonlyArray<NodeType>>(
  options: EngineOptions<N>,
): Promise<Engine<N>> => {
  checkThread()
  checkOptions(options)
  const runtime = await open(layerOf(options))
  try {
    return engineOf(runtime, await runtime.call(accountOf(options.account)))
  } catch (error) {
    await runtime.close()
    throw error
  }
}
