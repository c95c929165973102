/**
 * `millrace dev`: everything in one process, for development.
 *
 * Modules with node types are imported first, the port is opened second and the store third, so a
 * start that fails at any of them has changed nothing. The engine comes next and continues
 * interrupted runs. The routes come last.
 *
 * Guarantees: when interrupted, the server stops in the opposite order and leaves no lock behind.
 * Leaves out: everything that a server on the internet needs.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { Prices } from "@millrace/core/domain/Prices"
import type { Stores } from "@millrace/core/engine/Engine"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import * as Host from "@millrace/host/Host"
import { CurrentConsole } from "@millrace/http/ConsoleSettings"
import type { LogLevel, Redacted } from "effect"
import { Console, Effect, Layer, References } from "effect"
import * as StartupReport from "./internal/dev/StartupReport.ts"
import type { DevSettings } from "./Config.ts"
import { warnings } from "./Config.ts"
import * as PriceFile from "./internal/nodes/PriceFile.ts"
import type { OwnNodes } from "./internal/dev/OwnNodes.ts"
import * as Own from "./internal/dev/OwnNodes.ts"
import * as Orders from "./internal/demo/Orders.ts"
import * as Exposure from "./internal/serve/Exposure.ts"
import * as KeySettings from "./internal/serve/KeySettings.ts"
import type { Listener } from "./internal/serve/Listener.ts"
import * as Listening from "./internal/serve/Listener.ts"
import * as MasterKey from "./internal/serve/MasterKey.ts"
import * as OwnAddress from "./internal/serve/OwnAddress.ts"
import * as Colors from "./internal/dev/Colors.ts"
import * as ServerRoutes from "./internal/serve/ServerRoutes.ts"
import { CommandFailed } from "./CommandFailed.ts"
import * as Storage from "./internal/serve/Storage.ts"
import { banner } from "./internal/dev/Banner.ts"

/** What the server is started with. */
interface Start {
  readonly settings: DevSettings
  readonly listener: Listener
  readonly nodes: OwnNodes
  readonly prices: Prices | undefined
  /** The admin token, if the settings have none. */
  readonly token: Redacted.Redacted | undefined
}

/** The engine, its dispatcher and the routes on top of the stores. */
const serverLayer = Effect.fnUntraced(function* ({
  listener,
  nodes,
  prices,
  settings,
  token,
}: Start) {
  const allow = settings.egressAllow
  const ports = { "smtp:": settings.smtpPorts, "postgres:": settings.postgresPorts }
  const engine = Host.layer({
    stores: Layer.succeedContext(yield* Effect.context<Stores>()),
    nodes: nodes.layer,
    prices,
    egress: OwnAddress.layer(listener.address, allow, ports),
    masterKey: MasterKey.ensureOpens(settings),
    webhooks: { allow },
    publicUrl: OwnAddress.originOf(listener.address),
  })
  return ServerRoutes.layer(listener, Orders.layer).pipe(
    Layer.provideMerge(engine),
    Layer.provide(KeySettings.layer({ ...settings, adminToken: token ?? settings.adminToken })),
    Layer.provide(Layer.succeed(CurrentConsole, { onLoopback: Exposure.isOnLoopback(listener) })),
  )
})

/** Serves requests until it is interrupted. */
const running = Effect.fnUntraced(function* (start: Start, unfinished: number) {
  const { address, ready } = start.listener
  yield* ready
  const warning = Exposure.warningOf(start.listener)
  const lines = [...(yield* warnings), ...(warning === undefined ? [] : [warning])]
  yield* Effect.forEach(lines, (line) => Console.error(line), { discard: true })
  const origin = OwnAddress.originOf(address)
  yield* banner({ ...start, origin, colors: yield* Colors.current, unfinished })
  return yield* start.nodes.following
})

/** Builds the server on open stores and runs it. */
const opened = Effect.fnUntraced(function* (start: Start) {
  const { listAccounts } = yield* KeyStore
  const unfinished = yield* StartupReport.unfinishedOf(yield* listAccounts)
  const answering = Effect.ensuring(running(start, unfinished.length), start.listener.close)
  return yield* Effect.provide(answering, yield* serverLayer(start))
})

/** Errors of the environment, which become one line for the user. */
const refusals = [
  "DataFolderLocked",
  "DataFolderForeign",
  "DataFolderDamaged",
  "StorageError",
] as const

/** Errors that the examples cannot cause. */
const examples = [
  "InvalidGraph",
  "InvalidWebhook",
  "WorkflowNotFound",
  "VersionNotFound",
  "InsufficientCredits",
  "BeyondMaxCredits",
  "RunsFull",
  "QueueFull",
] as const

const refuseStart = ({ message }: Storage.Problem) =>
  Effect.fail(new CommandFailed({ message, reason: "failed" }))

/**
 * Runs the server until it is interrupted, and prints that it stopped. Fails with one line if the
 * port or the data folder cannot be used. Logs from `logLevel` on go to standard error.
 */
export const dev = (
  settings: DevSettings,
  logLevel: LogLevel.LogLevel,
): Effect.Effect<never, CommandFailed> =>
  Effect.gen(function* () {
    const nodes = yield* Own.open(settings.nodes)
    const prices = yield* PriceFile.load(settings.prices, nodes.types)
    const listener = yield* Listening.open(settings.host, settings.port)
    const token = settings.adminToken === null ? yield* KeySettings.makeToken : undefined
    const start = { settings, listener, nodes, prices, token }
    return yield* Effect.provide(opened(start), Storage.layer(settings))
  }).pipe(
    Effect.scoped,
    Effect.catchTag(refusals, refuseStart),
    // The examples are valid and free, and were just stored.
    Effect.catchTag(examples, Effect.die),
    Effect.onInterrupt(() => Console.log("stopped")),
    Effect.provideService(CurrentLimits, settings.limits),
    Effect.provideService(References.LogToStderr, true),
    Effect.provideService(References.MinimumLogLevel, logLevel),
  )
