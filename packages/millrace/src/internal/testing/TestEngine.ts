/**
 * An engine for tests: in memory, on a virtual clock, with mocks in the place of handlers, and with
 * processes that can crash.
 *
 * Guarantees: everything but the time and the mocks is the engine as it is. Engines in one process
 * share nothing. It works beside the fake timers of a test framework, and needs none.
 */
import type { Duration } from "@millrace/api/Duration"
import { millisOf } from "@millrace/api/Duration"
import { invalid } from "@millrace/api/MillraceError"
import type { Transport } from "@millrace/api/Transport"
import type { AccountId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { unknownFields } from "@millrace/core/domain/Nearest"
import type { Stores } from "@millrace/core/engine/Engine"
import * as Host from "@millrace/host/Host"
import type { EngineThreads } from "@millrace/host/Threads"
import * as Threads from "@millrace/host/Threads"
import * as DirectTransport from "@millrace/http/DirectTransport"
import * as Memory from "@millrace/memory/Stores"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import type { Context } from "effect"
import { Clock, Effect, Exit, Layer, Redacted, Scope } from "effect"
import type { Inputs, NodeContext, Outputs } from "../../Declaration.ts"
import type { Engine, Services } from "../../Engine.ts"
import { accountOf, checkThread, engineOf, layerOf } from "../../Engine.ts"
import type { EngineOptions } from "../../EngineOptions.ts"
import { checkOptions, typesOf } from "../../EngineOptions.ts"
import type { AccountServices } from "../../AccountClient.ts"
import { isObject } from "../OptionCheck.ts"
import type { Runtime } from "../Runtime.ts"
import type { AnyMock, Call, Script } from "./Mock.ts"
import { TestHandlers } from "./TestHandlers.ts"
import { OfRuns, VirtualProcess, VirtualTime } from "./VirtualTime.ts"
import { TestHost } from "./TestHost.ts"
import type { Received, Receiver } from "./TestReceivers.ts"
import { TestReceivers } from "./TestReceivers.ts"
import type { NodeType } from "../../Node.ts"
import type { BuiltinType } from "../../DrawnNode.ts"

type Types = ReadonlyArray<NodeType>

type InputsOf<T extends NodeType> = Inputs<T["inputs"]>
type OutputsOf<T extends NodeType> = Outputs<T["outputs"]>
type ModeOf<T extends NodeType> = T["modes"][number]

type Named<N extends Types, K> = Extract<N[number], { readonly type: K }>

/** What may stand in for the handler of a node type: a function like it, or a script. */
export type Mock<T extends NodeType = NodeType> =
  | ((
      context: NodeContext<T["inputs"], ModeOf<T>>,
    ) => OutputsOf<T> | void | Promise<OutputsOf<T> | void>)
  | Script<OutputsOf<T>>

/** What stands in for a built-in type, from JSON to JSON. */
export type BuiltinMock =
  | ((context: {
      readonly inputs: { readonly [port: string]: unknown }
      readonly nodeId: string
      readonly attempt: number
      readonly signal: AbortSignal
    }) => unknown)
  | Script<{ readonly [port: string]: unknown }>

/** Mocks by node type. */
export type Mocks<N extends Types> = {
  readonly [K in N[number]["type"]]?: Mock<Named<N, K>>
} & { readonly [K in Exclude<BuiltinType, N[number]["type"]>]?: BuiltinMock }

/** The options of a test engine: those of `createEngine` without a store and spans, and these. */
export interface TestOptions<N extends Types> extends Omit<
  EngineOptions<N>,
  "store" | "telemetry"
> {
  /** What stands in for handlers, by node type. */
  readonly mocks?: Mocks<N>
  /**
   * What stands in for receivers of webhooks, by address. They get signed events, and what they
   * answer counts: `{ "https://shop.example/": fails(2).gives(204) }` answers 500 twice.
   */
  readonly receivers?: { readonly [url: string]: Receiver }
  /** The time at which the engine begins; the real time by default. */
  readonly now?: Date | string
  /**
   * How long the clock waits for a handler that does something for real; 2 seconds by default.
   * After that the time goes on without it, so that its timeout can end it.
   */
  readonly patience?: Duration
  /** Called whenever the time has moved, for `vi.setSystemTime` and the like. */
  readonly onMove?: (now: Date) => void
}

/** The clock of a test engine. Moving it waits for everything that happens meanwhile. */
export interface TestClock {
  /** The time that the engine sees. */
  now(): Date
  /** Moves the time by so much. All that is due until then happens, each at its own time. */
  advance(by: Duration): Promise<void>
  /**
   * Moves the time to whatever is due next, until all runs and deliveries have ended. Rejects with
   * `TIMEOUT` and one sentence if a run waits for something that no clock brings: a message, or a
   * handler that never ends.
   */
  runToEnd(): Promise<void>
}

/** An engine with a clock that the test moves. */
export interface TestEngine<N extends Types = Types> extends Engine<N> {
  /** The time of the engine, which stands still until the test moves it. */
  readonly clock: TestClock
  /**
   * The calls of a node type, in order, of the handler or its mock. Calls of a built-in type are
   * recorded if it has a mock, and calls of a blocking one, too.
   */
  calls<const K extends N[number]["type"] | BuiltinType>(
    type: K,
  ): ReadonlyArray<
    [Named<N, K>] extends [never]
      ? Call
      : Call<InputsOf<Named<N, K>>, OutputsOf<Named<N, K>>, ModeOf<Named<N, K>>>
  >
  /** What was sent to a receiver of `receivers`, in order. Throws for another address. */
  received(url: string): ReadonlyArray<Received>
  /**
   * Ends the engine's process as `kill -9` does. The store keeps what is committed. A handler in
   * progress cannot be stopped, but whatever comes of it is lost.
   */
  crash(): Promise<void>
  /**
   * Starts a new process on the same store. It continues the runs of a crashed one when the lease
   * has run out: move the clock. If the process before is alive, it is closed first.
   */
  restart(): Promise<void>
}

const ownOptions = ["mocks", "receivers", "now", "patience", "onMove"] as const

/** Runners of test engines hold their leases until they crash. */
const longLeaseMillis = 100 * 365 * 86_400_000

const startOf = (now: Date | string | undefined): number => {
  const millis = now === undefined ? Effect.runSync(Clock.currentTimeMillis) : Number(new Date(now))
  if (Number.isFinite(millis)) return millis
  throw invalid("testEngine: now: expected a Date, or text such as 2026-01-31T09:30:00Z")
}

const mocksOf = (
  mocks: { readonly [type: string]: unknown },
  known: ReadonlyArray<string>,
): ReadonlyMap<string, AnyMock> => {
  const given = Object.entries(mocks).filter(([, mock]) => mock !== undefined)
  const problems = [
    ...unknownFields(
      given.map(([type]) => type),
      known,
    ),
    ...given.flatMap(([type, mock]) =>
      typeof mock === "function" || Array.isArray((mock as Partial<Script<unknown>>).steps)
        ? []
        : [`${type}: expected a function, or gives(...), fails(...) or hangs()`],
    ),
  ]
  if (problems.length > 0) throw invalid(`testEngine: mocks: ${problems.join("; ")}`)
  return new Map(given as ReadonlyArray<[string, AnyMock]>)
}

/** Runs an effect on a process of its own. */
const performOutside = (time: VirtualTime, effect: Effect.Effect<void>): Promise<void> => {
  const { clock, scheduler } = new VirtualProcess(time)
  return Effect.runPromise(Effect.provideService(effect, Clock.Clock, clock), { scheduler })
}

/** What all processes of a test engine share, and how to end it. */
interface Shared {
  readonly stores: Context.Context<Stores>
  readonly evaluator: Layer.Layer<never>
  readonly threads: Layer.Layer<EngineThreads>
  readonly close: () => Promise<void>
}

const openShared = (time: VirtualTime, limits: EngineOptions<Types>["limits"]): Shared => {
  const scope = Scope.makeUnsafe()
  const settings = Layer.succeed(CurrentLimits, { ...defaultLimits, ...limits })
  const build = <A, E>(layer: Layer.Layer<A, E>) =>
    Effect.runSync(Layer.buildWithScope(Layer.fresh(layer), scope))
  return {
    stores: build(Memory.layer),
    evaluator: Layer.succeedContext(build(Layer.provide(Host.evaluator, settings))),
    threads: Layer.succeedContext(build(Layer.provide(Threads.layer, settings))),
    close: () => performOutside(time, Scope.close(scope, Exit.void)),
  }
}

/** The calls of a client. Waiting for a run and following it outlive a crash. */
const transportOf = (
  host: TestHost<Services>,
  account: AccountId,
  { callUntil }: Runtime<AccountServices>,
): Transport => {
  const inCalls = DirectTransport.make(account, callUntil)
  const beside = DirectTransport.make(account, (effect, signal) =>
    host.survive((runtime) => runtime.callUntil(effect, signal)),
  )
  const call: Transport["call"] = async (request) => {
    host.startedLast = undefined
    try {
      return await inCalls.call(request)
    } catch (error) {
      if (!host.goesOnAfter(error)) throw error
      const runId = request.operation === "runs.start" ? host.startedLast : undefined
      return runId === undefined ? call(request) : { body: { runId } }
    }
  }
  return { ...beside, call }
}

const checkTestOptions = (options: TestOptions<Types>): void => {
  const given: unknown = options
  if (isObject(given) && given["store"] !== undefined) {
    throw invalid("testEngine: store: a test engine has a store of its own, in memory")
  }
  if (isObject(given) && given["telemetry"] !== undefined) {
    throw invalid("testEngine: telemetry: a test engine sends no spans; leave it out")
  }
  const usual = options as EngineOptions<Types>
  checkOptions(usual, { caller: "testEngine", beside: ownOptions })
}

/** A test engine, and what moves it. */
export const openTestEngine = async <const N extends Types>(options: TestOptions<N>) => {
  checkThread()
  checkTestOptions(options)
  const { lease = 30_000, limits, mocks = {}, onMove = () => undefined, patience = 2_000 } = options
  const keys = [...typesOf(options)].map(({ key }) => key)
  const time = new VirtualTime(startOf(options.now))
  const handlers = new TestHandlers(time, mocksOf(mocks, keys))
  const receivers = new TestReceivers(time, options.receivers ?? {})
  const shared = openShared(time, limits)
  const masterKey = Redacted.value(Effect.runSync(MasterVault.newMasterKey))
  const host = new TestHost<Services>({
    time,
    stores: shared.stores,
    patienceMillis: millisOf(patience, "patience"),
    leaseMillis: millisOf(lease, "lease"),
    onMove,
    layerOf: (process, stores) =>
      layerOf(
        { masterKey, ...options },
        {
          stores,
          evaluator: shared.evaluator,
          threads: shared.threads,
          ofRuns: Layer.succeed(OfRuns, true),
          runner: { leaseMillis: longLeaseMillis, lagMillis: Number.POSITIVE_INFINITY },
          standIn: handlers.standIn(process.inProgress),
          webhookGuard: receivers.standIn(process.inProgress),
        },
      ),
  })
  const close = async () => {
    await host.runtime.close()
    await shared.close()
  }
  try {
    await host.start()
    const account = await host.runtime.call(accountOf(options.account))
    const engine: TestEngine<N> = {
      ...engineOf<N>(host.runtime, account, (of, runtime) => transportOf(host, of, runtime)),
      clock: {
        now: () => new Date(time.now),
        advance: async (by) => host.advance(millisOf(by, "advance")),
        runToEnd: () => host.runToEnd(),
      },
      calls: (type) => handlers.callsOf(type) as never,
      received: (url) => receivers.receivedBy(url),
      crash: async () => host.crash(),
      restart: () => host.start(),
      close,
      [Symbol.asyncDispose]: close,
    }
    return { engine, handlers, host }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Opens an engine for a test.
 *
 * ```ts
 * const mocks = { "pay.charge": fails(3).gives({ receipt: "r1" }) }
 * await using engine = await testEngine({ nodes: [charge], mocks })
 * const run = await engine.runs.start({ workflowId })
 * await engine.clock.runToEnd()
 * ```
 */
export const testEngine = async <const N extends Types = readonly []>(
  options: TestOptions<N> = {},
): Promise<TestEngine<N>> => (await openTestEngine(options)).engine
