/**
 * A server of a simulation: the engine as it is, on a machine and over a wire of the simulation.
 *
 * Leaves out: keys, which no run depends on, and the editing of workflows, which the play does.
 */
import { prefixes } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { CurrentSecrets } from "@millrace/core/engine/CurrentSecrets"
import { layerChildren, layerValueSource, withoutWebhooks } from "@millrace/core/engine/Engine"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import { Ids } from "@millrace/core/engine/Ids"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import { type Executable, NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runner } from "@millrace/core/engine/Runner"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { Runs } from "@millrace/core/engine/Runs"
import * as Schedules from "@millrace/core/engine/Schedules"
import { Signals } from "@millrace/core/engine/Signals"
import { StoreClock } from "@millrace/core/engine/StoreClock"
import { RunEndTriggers } from "@millrace/core/engine/RunEndTriggers"
import { Triggers } from "@millrace/core/engine/Triggers"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import {
  Clock,
  Context,
  Effect,
  Exit,
  Layer,
  Logger,
  Option,
  Random,
  References,
  Scheduler,
  Scope,
} from "effect"
import { Digest } from "effect/crypto"
import * as Hex from "effect/encoding/Hex"
import type { Dice } from "./ModelDice.ts"
import { evaluator, secrets } from "./SimFlow.ts"
import type { Journal } from "./SimJournal.ts"
import { Stage } from "./SimNodes.ts"
import type { Setup } from "./SimScenario.ts"
import type { Machine } from "./SimTime.ts"
import type { Wire } from "./SimWire.ts"

/** Identifiers in the order in which they are made. */
export const sequentialIds = (): Ids["Service"] => {
  const counts = new Map<string, number>()
  return {
    make: (kind) =>
      Effect.sync(() => {
        const count = (counts.get(kind) ?? 0) + 1
        counts.set(kind, count)
        return `${prefixes[kind]}_${count}`
      }),
    bytes: (size) => Effect.succeed(new Uint8Array(size)),
  }
}

/** What a server is made of. */
export interface ServerOptions {
  readonly machine: Machine
  readonly wire: Wire
  readonly journal: Pick<Journal, "stageOn">
  readonly ids: Ids["Service"]
  readonly setup: Setup
  readonly dice: Dice
  /** The node types that it knows. */
  readonly types: ReadonlyArray<Executable<Stage>>
  /** The triggers of the store; absent: the server starts nothing on schedule. */
  readonly triggers?: TriggerStore["Service"]
  /** What the server has to say about itself. */
  readonly log: (level: string, message: string) => void
}

/** The clock of the engine on a machine, which the rules judge it by. */
const clockOn = (machine: Machine) =>
  Layer.effect(
    Clock.Clock,
    Effect.map(StoreClock, ({ clock }) => (machine.engineClock = clock)),
  )

/** What flows between nodes: no threads, so that the simulation decides what comes next. */
const flowLayer = Layer.mergeAll(
  Layer.succeed(CurrentSecrets, secrets),
  Layer.succeed(CurrentEvaluator, evaluator),
  layerValueSource,
)

const mixed = (data: Uint8Array, seed: number): number =>
  data.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193) >>> 0, 0x811c9dc5 ^ seed)

/** Tells texts apart at once: that of the platform takes real time. */
const digestOf = (data: Uint8Array): Uint8Array =>
  new Uint8Array(Uint32Array.from({ length: 8 }, (_, seed) => mixed(data, seed)).buffer)

const digest = Digest.Digest.of({
  digest: (_, data) => Effect.sync(() => digestOf(data)),
  digestHex: (_, data) => Effect.sync(() => Hex.encode(digestOf(data))),
})

/** What starts runs on schedule, where a simulation has schedules. */
const schedulesOf = ({ machine, triggers, wire }: ServerOptions) =>
  triggers === undefined
    ? Layer.empty
    : Schedules.layer.pipe(
        Layer.provideMerge(Layer.merge(Triggers.layer, RunEndTriggers.layer)),
        Layer.provide(Layer.succeed(Digest.Digest, digest)),
        Layer.provide(Layer.succeed(TriggerStore, wire.triggersOf(machine, triggers))),
      )

const engineOf = (options: ServerOptions) => {
  const { ids, journal, machine, triggers, types, wire } = options
  const ports = triggers === undefined ? (["values"] as const) : (["values", "triggers"] as const)
  return schedulesOf(options).pipe(
    Layer.provideMerge(Layer.merge(Runs.layer, Signals.layer)),
    Layer.provide(withoutWebhooks()),
    Layer.provideMerge(Runner.layer),
    Layer.provide(layerChildren),
    Layer.provide(flowLayer),
    Layer.provide(LargeValues.layer),
    Layer.provide(GraphCache.layer),
    Layer.provide(clockOn(machine)),
    Layer.provide(StoreClock.layer),
    Layer.provide(NodeTypes.layer(...types)),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(RunStore, wire.runsOf(machine)),
        Layer.succeed(WorkflowStore, wire.workflowsOf(machine)),
        Layer.succeed(ValueStore, wire.valuesOf(machine)),
        Layer.succeed(StoreManifest, { name: "simulation", ports }),
        Layer.succeed(Ids, ids),
        Layer.succeed(Stage, journal.stageOn(machine)),
      ),
    ),
  )
}

const limitsOf = ({ attemptsPerRun, nodesAtOnce, nodesPerStep, ...setup }: Setup) => ({
  ...defaultLimits,
  largeValueBytes: setup.largeValueBytes,
  attemptsPerRun,
  nodesAtOnce,
  nodesPerStep,
  runsAtOnce: setup.runsAtOnce,
  runsPerAccount: setup.runsPerAccount,
  runsPerWorkflow: setup.runsPerWorkflow,
})

const loggerOf = (log: ServerOptions["log"]) =>
  Logger.make(({ logLevel, message }) => {
    log(logLevel, Array.isArray(message) ? message.map(String).join(" ") : String(message))
  })

/** One in ten million: chances of a random service are fractions. */
const fine = 10_000_000

/** A server at work. */
export interface Server {
  readonly runs: Runs["Service"]
  readonly signals: Signals["Service"]
  /** Absent where it starts nothing on schedule. */
  readonly triggers: Triggers["Service"] | undefined
  /** Ends it in order. */
  readonly stop: Effect.Effect<void>
  /** Has an effect done on its machine. */
  readonly run: (effect: Effect.Effect<void>) => void
}

/** Has effects done on a machine, as its process would. */
const runnerOn = ({ dice, log, machine, setup }: ServerOptions) => {
  const within = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    effect.pipe(
      Effect.provideService(Clock.Clock, machine.clock),
      Effect.provideService(Scheduler.MaxOpsBeforeYield, setup.opsBeforeYield),
      Effect.provideService(References.CurrentLoggers, new Set([loggerOf(log)])),
      Effect.provideService(CurrentLimits, limitsOf(setup)),
      Effect.provideService(CurrentRunnerOptions, {
        leaseMillis: setup.leaseMillis,
        pollMillis: setup.pollMillis,
        claimLimit: setup.claimLimit,
        graceMillis: setup.graceMillis,
        lagMillis: 250,
      }),
      Effect.provideService(Random.Random, {
        nextIntUnsafe: () => dice.below(fine),
        nextDoubleUnsafe: () => dice.below(fine) / fine,
      }),
    )
  return (effect: Effect.Effect<void>) =>
    machine.post(() => {
      Effect.runFork(within(effect), { scheduler: machine.scheduler })
    })
}

/**
 * Starts a server, and hands it over once it is up; `undefined` when it did not come up, because
 * the store was away.
 */
export const boot = (
  options: ServerOptions,
  onReady: (server: Server | undefined) => void,
): void => {
  const run = runnerOn(options)
  const scope = Scope.makeUnsafe()
  run(
    Effect.map(
      Effect.exit(Layer.buildWithScope(Layer.fresh(engineOf(options)), scope)),
      Exit.match({
        onFailure: () => onReady(undefined),
        onSuccess: (context: Context.Context<Runs | Signals>) =>
          onReady({
            runs: Context.get(context, Runs),
            signals: Context.get(context, Signals),
            triggers: Option.getOrUndefined(Context.getOption(context, Triggers)),
            stop: Scope.close(scope, Exit.void),
            run,
          }),
      }),
    ),
  )
}
