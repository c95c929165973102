/**
 * The engine for applications without Effect: one object with promises, and an HTTP handler.
 *
 * Guarantees: every problem of the start rejects `createEngine`. Engines in one process share
 * nothing. `close` leaves no timer, handle or lock behind. Leaves out: rules; those of
 * `@millrace/core` hold.
 */
import { millisOf } from "@millrace/api/Duration"
import { invalid } from "@millrace/api/MillraceError"
import type { AccountId } from "@millrace/core/domain/Id"
import { readPrices } from "@millrace/core/domain/Prices"
import type { Stores } from "@millrace/core/engine/Engine"
import { Keys } from "@millrace/core/engine/Keys"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runner } from "@millrace/core/engine/Runner"
import type { RunnerOptions } from "@millrace/core/engine/RunnerOptions"
import type { KeyStore } from "@millrace/core/ports/KeyStore"
import type { Egress } from "@millrace/egress/Egress"
import * as Host from "@millrace/host/Host"
import type { EngineThreads } from "@millrace/host/Threads"
import * as Threads from "@millrace/host/Threads"
import * as DirectTransport from "@millrace/http/DirectTransport"
import { IsDraining } from "@millrace/http/Health"
import type { HttpServices } from "@millrace/http/HttpApp"
import type { Handler } from "@millrace/http/WebHandler"
import { make as makeHandler } from "@millrace/http/WebHandler"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import type { Scope } from "effect"
import { Context, Effect, Layer } from "effect"
import * as Authorization from "./Authorize.ts"
import type { AccountClient, Accounts, TransportOf } from "./AccountClient.ts"
import * as AccountClients from "./AccountClient.ts"
import type { Sessions } from "./ConsoleSession.ts"
import * as ConsoleSession from "./ConsoleSession.ts"
import * as Dashboard from "./Dashboard.ts"
import * as EngineLogger from "./EngineLogger.ts"
import type { EgressOptions, EngineOptions } from "./EngineOptions.ts"
import { checkOptions, typesOf } from "./EngineOptions.ts"
import type { DrainOptions, EngineStatus } from "./EngineStatus.ts"
import * as Status from "./EngineStatus.ts"
import type { Refusal } from "./internal/Refusal.ts"
import type { NodeType } from "./Node.ts"
import type { Runtime } from "./internal/Runtime.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"
import * as Operators from "./OperatorCalls.ts"
import { open } from "./internal/Runtime.ts"
import { memory } from "./Store.ts"
import * as Telemetry from "./Telemetry.ts"
import * as Webhook from "./Webhook.ts"
import type { WorkflowBuilder } from "./WorkflowBuilder.ts"
import { empty } from "./WorkflowBuilder.ts"

const portsOf = ({ postgresPorts, smtpPorts }: EgressOptions) => ({
  ...(smtpPorts === undefined ? {} : { "smtp:": smtpPorts }),
  ...(postgresPorts === undefined ? {} : { "postgres:": postgresPorts }),
})

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
  extends AccountClient, OperatorCalls, AsyncDisposable {
  /** The accounts of the store. */
  readonly accounts: Accounts
  /** Who may use the console of an account: sessions for the users of the application. */
  readonly sessions: Sessions
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
  /** How the engine is doing. Asks the store, for a second at most. */
  status(): Promise<EngineStatus>
  /**
   * Lets the engine finish: from now on it claims no run and starts no node, and `fetch` answers
   * `/readyz` with 503. When no run is in progress, it sends no further webhook either. Resolves
   * when no attempt to deliver one is in progress, or the time has passed; what is left goes on.
   * Runs that are started meanwhile are QUEUED, and deliveries that wait are PENDING, for another
   * engine or a later one. All calls work until `close`.
   */
  drain(options?: DrainOptions): Promise<EngineStatus>
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

type MountOptions = Pick<
  EngineOptions<ReadonlyArray<NodeType>>,
  "allowedOrigins" | "authorize" | "basePath" | "dashboard"
>

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
      const context = yield* Effect.context<HttpServices | Keys | KeyStore | Runner | Scope.Scope>()
      const { status } = Context.get(context, Runner)
      const settings = yield* Dashboard.settingsOf(options)
      const draining = Context.add(context, IsDraining, () => status().isDraining)
      const mounted = Context.merge(draining, settings)
      return yield* Effect.cached(Effect.provideContext(makeMount(options), mounted))
    }),
  )

/** The services that an engine calls. */
export type Services = Host.EngineServices | DirectTransport.Operations | Mount

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
    publicUrl: options.publicUrl,
    telemetry: Telemetry.layerOf(options.telemetry),
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
    Layer.provideMerge(EngineLogger.layerOf(options.logger)),
  )
}

/** The id of the account with this name, which is made if it is missing. */
export const accountOf = Effect.fnUntraced(function* (wanted: string | undefined) {
  const keys = yield* Keys
  if (wanted !== undefined) return (yield* keys.ensureAccount(wanted)).id
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
  basePath = "",
): Engine<N> => ({
  ...AccountClients.clientOf(runtime, account, transportOf),
  ...Operators.make(runtime),
  accounts: AccountClients.make(runtime),
  sessions: ConsoleSession.make(runtime, account, basePath.replace(/\/+$/, "")),
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
  status: () => runtime.call(Status.status),
  drain: (options = {}) => runtime.call(Status.drain(options)),
  close: runtime.close,
  [Symbol.asyncDispose]: runtime.close,
})

/** Opens an engine; what `createEngine` does. */
export const openEngine = async <const N extends ReadonlyArray<NodeType>>(
  options: EngineOptions<N>,
): Promise<Engine<N>> => {
  checkThread()
  checkOptions(options)
  // What is missing is said before anything is opened.
  await Dashboard.load(options.dashboard)
  const runtime = await open(layerOf(options))
  try {
    const account = await runtime.call(accountOf(options.account))
    return engineOf(runtime, account, undefined, options.basePath)
  } catch (error) {
    await runtime.close()
    throw error
  }
}
