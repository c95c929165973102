/**
 * One process of a test engine, from its start to its end, on stores that outlive it.
 *
 * Guarantees: once it has crashed, none of its fibers takes a step, no write of it reaches a store,
 * and its calls reject.
 */
import type { MillraceError } from "@millrace/api/MillraceError"
import type { Stores } from "@millrace/core/engine/Engine"
import { Runner } from "@millrace/core/engine/Runner"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import type { RunnerId } from "@millrace/core/domain/Id"
import { Clock, Context, Effect, Exit, Layer, Random, Scheduler, Scope } from "effect"
import { closed, ofCause } from "../Refusal.ts"
import type { Refusal } from "../Refusal.ts"
import type { Runtime } from "../Runtime.ts"
import { InProgress } from "./InProgress.ts"
import { VirtualProcess } from "./VirtualTime.ts"
import type { VirtualTime } from "./VirtualTime.ts"

/** What may become of a commit, for tests of crashes. */
export type CommitHook = (
  commit: RunCommit,
  write: ReturnType<RunStore["Service"]["commit"]>,
) => ReturnType<RunStore["Service"]["commit"]>

/** Jitter is zero: waits are exactly as long as they are declared. */
const middle: Random.Random = { nextIntUnsafe: () => 0, nextDoubleUnsafe: () => 0.5 }

/** A process. Mutable. */
export class TestProcess<R> {
  readonly inProgress = new InProgress()
  readonly machine: VirtualProcess
  readonly #base: Context.Context<never>
  readonly #scope = Scope.makeUnsafe()
  readonly #rejections = new Set<(error: MillraceError) => void>()
  #services: Context.Context<R> | undefined
  #closing: Promise<void> | undefined

  private constructor(time: VirtualTime) {
    this.machine = new VirtualProcess(time)
    this.#base = Context.empty().pipe(
      Context.add(Clock.Clock, this.machine.clock),
      Context.add(Scheduler.Scheduler, this.machine.scheduler),
      Context.add(Random.Random, middle),
    )
  }

  /** Starts a process. Rejects with the reason if it does not start. */
  static async start<R>(
    time: VirtualTime,
    layerOf: (process: TestProcess<R>) => Layer.Layer<R, Refusal>,
  ): Promise<TestProcess<R>> {
    const started = new TestProcess<R>(time)
    const built = Layer.buildWithScope(Layer.fresh(layerOf(started)), started.#scope)
    started.#services = await started.#perform(built, started.#base, undefined)
    return started
  }

  /** The stores as this process sees them. */
  storesOf(stores: Context.Context<Stores>, onCommit: CommitHook): Layer.Layer<Stores> {
    const runs = Context.get(stores, RunStore)
    const alive = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.suspend(() => (this.machine.isAlive ? effect : Effect.never))
    const seen = RunStore.of({
      ...runs,
      commit: (commit) => alive(Effect.suspend(() => onCommit(commit, runs.commit(commit)))),
      claim: (request) => alive(runs.claim(request)),
    })
    const manifest = { ...Context.get(stores, StoreManifest), watchdog: this.inProgress.watchdog }
    return Layer.succeedContext(
      stores.pipe(Context.add(RunStore, seen), Context.add(StoreManifest, manifest)),
    )
  }

  /** The calls of its services. */
  readonly runtime: Runtime<R> = {
    call: (effect) => this.runtime.callUntil(effect, undefined),
    callUntil: async (effect, signal) => {
      if (this.#services === undefined || this.#closing !== undefined) throw closed()
      return this.#perform(effect, Context.merge(this.#base, this.#services), signal)
    },
    close: () => (this.#closing ??= this.#close()),
  }

  /** The name under which it owns runs. */
  get runner(): RunnerId {
    return Context.getUnsafe(this.#services!, Runner).id
  }

  /** Ends it at once. Calls in progress reject with this error. */
  crash(error: MillraceError): void {
    this.machine.crash()
    this.inProgress.giveUp()
    this.#closing = Promise.resolve()
    for (const reject of this.#rejections) reject(error)
  }

  #close(): Promise<void> {
    for (const reject of this.#rejections) reject(closed())
    return this.#perform(Scope.close(this.#scope, Exit.void), this.#base, undefined)
  }

  #perform<A, S>(
    effect: Effect.Effect<A, Refusal, S>,
    context: Context.Context<S>,
    signal: AbortSignal | undefined,
  ): Promise<A> {
    return new Promise((resolve, reject) => {
      if (!this.machine.isAlive) return reject(closed())
      const stop = (error: MillraceError) => reject(error)
      this.#rejections.add(stop)
      const fiber = Effect.runForkWith(context)(effect, signal === undefined ? {} : { signal })
      fiber.addObserver((exit) => {
        this.#rejections.delete(stop)
        if (Exit.isSuccess(exit)) return resolve(exit.value)
        if (this.#closing === undefined && Exit.hasInterrupts(exit) && signal?.aborted === true) {
          return reject(signal.reason as Error)
        }
        reject(this.#closing === undefined ? ofCause(exit.cause) : closed())
      })
    })
  }
}
