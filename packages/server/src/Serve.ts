/**
 * `millrace serve`: a server for operators, on a Postgres that it may share with others.
 *
 * The port is taken first and the database is opened second, so that a start which is refused has
 * changed nothing. It stops in the opposite order, with one exception: the engine comes to rest
 * before the listener closes, so that whoever watches can see that it does.
 *
 * Guarantees: told to stop, it says at once that it wants no more requests, on kept connections,
 * too, takes no more runs, lets nodes in progress finish within the grace time, hands its runs
 * back, answers what it was asked, and ends well. Leaves out: TLS, and making accounts and keys.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { NodeTypes } from "@millrace/core/engine/NodeTypes"
import type { Egress } from "@millrace/egress/Egress"
import * as Host from "@millrace/host/Host"
import { IsDraining } from "@millrace/http/Health"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import type { LogLevel, Stdio } from "effect"
import { Effect, Exit, Layer, Scope } from "effect"
import type { ServeSettings } from "./Config.ts"
import { warnings } from "./Config.ts"
import * as Database from "./internal/serve/Database.ts"
import * as Deadline from "./internal/serve/Deadline.ts"
import * as Exposure from "./internal/serve/Exposure.ts"
import * as KeySettings from "./internal/serve/KeySettings.ts"
import * as Listening from "./internal/serve/Listener.ts"
import * as Logs from "./internal/serve/Logs.ts"
import * as MasterKey from "./internal/serve/MasterKey.ts"
import * as ServerRoutes from "./internal/serve/ServerRoutes.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { version } from "./internal/Version.ts"

/** What else a server is made of. */
export interface ServeOptions {
  /** From which level on something is logged. */
  readonly logLevel: LogLevel.LogLevel
  /** What its workflows may consist of; the built-in node types by default. */
  readonly nodeTypes?: Layer.Layer<NodeTypes, never, Egress>
  /** How deliveries are made, where it differs from the usual. */
  readonly deliveries?: Partial<DispatcherOptions>
}

/** How long a server that stops goes on listening at least, for those who watch to notice. */
const noticeMillis = 1_000

/** Comes to rest while the listener still answers, and then closes that. */
const drain = (engine: Scope.Closeable, listener: Listening.Listener) =>
  Effect.gen(function* () {
    yield* listener.beginClosing
    yield* Effect.logInfo("stopping: runs are handed back")
    const all = [Scope.close(engine, Exit.void), Effect.sleep(noticeMillis)]
    yield* Effect.all(all, { concurrency: "unbounded", discard: true })
    yield* Effect.logInfo("runs are handed back")
    yield* listener.close
  })

const start = Effect.fnUntraced(function* (
  settings: ServeSettings,
  { deliveries, nodeTypes = Builtin.layer }: ServeOptions,
) {
  const listener = yield* Listening.open(settings.host, settings.port)
  const opened = yield* Database.openForServer(settings)
  const { egressAllow: allow, graceMillis, leaseMillis } = settings
  const host = Host.layer({
    stores: Layer.succeedContext(opened),
    nodes: nodeTypes,
    egress: Outbound.layer(allow),
    webhooks: { masterKey: MasterKey.check(settings.masterKey), allow, dispatcher: deliveries },
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
      Layer.provide(Layer.succeedContext(engine)),
    ),
  )
  yield* Effect.addFinalizer(() => drain(scope, listener))
  yield* listener.ready
  return listener
})

/**
 * Runs the server until it is interrupted. Refused, in one sentence, when the port or the database
 * is not to be had.
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
