/**
 * `millrace serve`: a server for operators, on a Postgres that it may share with others.
 *
 * Modules with node types are imported first, the port is opened second and the database third, so
 * a start that fails at any of them has changed nothing. The server stops in the opposite order,
 * with one exception: the engine stops before the listener closes, so a load balancer can see at
 * `/readyz` that the server is stopping.
 *
 * Guarantees: a server that is told to stop asks clients at once to close their connections, claims
 * no more runs, gives nodes in progress the grace time, gives its runs back, answers the requests
 * that have arrived, and ends with code 0. Leaves out: TLS, and making accounts and keys.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import type { Egress } from "@millrace/egress/Egress"
import * as Host from "@millrace/host/Host"
import * as Collector from "@millrace/host/Collector"
import * as Threads from "@millrace/host/Threads"
import { IsDraining } from "@millrace/http/Health"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import type { LogLevel, Stdio } from "effect"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import type { ServeSettings } from "./Config.ts"
import { warnings } from "./Config.ts"
import { serveVariables } from "./internal/config/Variables.ts"
import * as Database from "./internal/serve/Database.ts"
import * as Deadline from "./internal/serve/Deadline.ts"
import * as Exposure from "./internal/serve/Exposure.ts"
import * as KeySettings from "./internal/serve/KeySettings.ts"
import * as Listening from "./internal/serve/Listener.ts"
import * as Logs from "./internal/serve/Logs.ts"
import * as MasterKey from "./internal/serve/MasterKey.ts"
import * as Memory from "./internal/serve/Memory.ts"
import * as NodeModules from "./internal/nodes/NodeModules.ts"
import * as PriceFile from "./internal/nodes/PriceFile.ts"
import * as PublicUrl from "./internal/serve/PublicUrl.ts"
import * as ServerRoutes from "./internal/serve/ServerRoutes.ts"
import * as ValueSettings from "./internal/serve/ValueSettings.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { version } from "./internal/Version.ts"

/** What a server has beside its settings. */
export interface ServeOptions {
  /** The lowest level that is logged. */
  readonly logLevel: LogLevel.LogLevel
  /** The node types of its workflows; by default the built-in ones, and those of the settings. */
  readonly nodeTypes?: Layer.Layer<NodeTypes, never, Egress>
  /** Options of the dispatcher that differ from the defaults. */
  readonly deliveries?: Partial<DispatcherOptions>
}

/** How long a stopping server listens at least, so load balancers can notice that it stops. */
const noticeMillis = 1_000

/** Stops the engine while the listener still answers, and then closes the listener. */
const drain = (engine: Scope.Closeable, listener: Listening.Listener) =>
  Effect.gen(function* () {
    yield* listener.beginClosing
    yield* Effect.logInfo("stopping: runs are handed back")
    const all = [Scope.close(engine, Exit.void), Effect.sleep(noticeMillis)]
    yield* Effect.all(all, { concurrency: "unbounded", discard: true })
    yield* Effect.logInfo("runs are handed back")
    yield* listener.close
  })

/** The built-in node types and those of the modules that the settings name. */
const typesOf = Effect.fnUntraced(function* ({ nodes, prices }: ServeSettings) {
  const builtin = Builtin.builtin.map(({ type }) => type)
  const { types } = yield* NodeModules.load(nodes, builtin, process.cwd(), 0)
  const layer = Layer.provide(NodeTypes.layer(...Builtin.builtin, ...types), [
    Threads.layer,
    Builtin.layerServices,
  ])
  const all = [...builtin, ...types.map(({ type }) => type)]
  return { layer, prices: yield* PriceFile.load(prices, all) }
})

/** What sends spans and metrics, if a collector is named. */
const telemetryOf = ({ otlpEndpoint: url, otlpHeaders, serviceName }: ServeSettings) => {
  const headers = otlpHeaders === null ? {} : Redacted.value(otlpHeaders)
  return url === null ? undefined : Collector.layerOf({ url, headers, serviceName })
}

const start = Effect.fnUntraced(function* (
  settings: ServeSettings,
  { deliveries, nodeTypes }: ServeOptions,
) {
  const types = yield* typesOf(settings)
  const listener = yield* Listening.open(settings.host, settings.port)
  const opened = yield* Database.openForServer(settings)
  const { egressAllow: allow, graceMillis, leaseMillis } = settings
  const ports = { "smtp:": settings.smtpPorts, "postgres:": settings.postgresPorts }
  const host = Host.layer({
    stores: Layer.succeedContext(opened),
    values: ValueSettings.layerOf(settings),
    nodes: nodeTypes ?? types.layer,
    prices: types.prices,
    egress: Outbound.layer(allow, ports, serveVariables.egressAllow.name),
    masterKey: MasterKey.check(settings.masterKey),
    webhooks: { allow, dispatcher: deliveries },
    publicUrl: settings.publicUrl ?? undefined,
    telemetry: telemetryOf(settings),
    runner: { graceMillis, leaseMillis },
  })
  const scope = yield* Scope.fork(yield* Effect.scope)
  const withKeys = Layer.provide(host, KeySettings.layer(settings))
  const engine = yield* Layer.buildWithScope(withKeys, scope)
  yield* Layer.build(
    ServerRoutes.layer(
      listener,
      Deadline.layerRequests(settings.requestMillis),
      settings.trustedProxies,
    ).pipe(
      Layer.provide(KeySettings.layer(settings)),
      Layer.provide(Layer.succeed(IsDraining, listener.isClosing)),
      Layer.provide(PublicUrl.layer(settings)),
      Layer.provide(Layer.succeedContext(engine)),
    ),
  )
  yield* Effect.addFinalizer(() => drain(scope, listener))
  yield* listener.ready
  return listener
})

/**
 * Runs the server until it is interrupted. Fails with one sentence if the port or the database
 * cannot be used.
 */
export const serve = (
  settings: ServeSettings,
  options: ServeOptions,
): Effect.Effect<never, CommandFailed, Stdio.Stdio> =>
  Effect.gen(function* () {
    yield* Effect.forEach(yield* warnings, (line) => Effect.logWarning(line), { discard: true })
    const listener = yield* start(settings, options)
    yield* Effect.logInfo(`millrace ${version} listens on ${Exposure.placeOf(listener)}`)
    const warning = Exposure.warningOf(listener)
    if (warning !== undefined) yield* Effect.logWarning(warning)
    yield* Memory.settle
    return yield* Effect.never
  }).pipe(
    Effect.scoped,
    Effect.catchTag("StorageError", ({ message }) =>
      Effect.fail(new CommandFailed({ message, reason: "failed" })),
    ),
    Effect.onInterrupt(() => Effect.logInfo("stopped")),
    Effect.provideService(CurrentLimits, settings.limits),
    Effect.provide(Logs.layer(options.logLevel)),
  )
