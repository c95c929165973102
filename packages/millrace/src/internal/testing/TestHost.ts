/**
 * All that a test engine is made of: the time, the stores, and the process that executes runs.
 *
 * Guarantees: the time moves only when nothing is in progress for real, or what is in progress has
 * had `patienceMillis` for it. Leaves out: the interface of the engine.
 */
import { MillraceError } from "@millrace/api/MillraceError"
import type { RunnerId } from "@millrace/core/domain/Id"
import type { Stores } from "@millrace/core/engine/Engine"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Clock, Context, Effect, type Layer } from "effect"
import type { Refusal } from "../Refusal.ts"
import { closed } from "../Refusal.ts"
import type { Runtime } from "../Runtime.ts"
import { nextTask, realMillis, within } from "./RealTime.ts"
import type { CommitHook } from "./TestProcess.ts"
import { TestProcess } from "./TestProcess.ts"
import { openWork } from "./OpenWork.ts"
import type { VirtualTime } from "./VirtualTime.ts"
import { VirtualProcess } from "./VirtualTime.ts"

/** What a test engine is made of. */
export interface TestHostOptions<R> {
  /** How long the time waits for what is in progress, in real milliseconds. */
  readonly patienceMillis: number
  readonly leaseMillis: number
  readonly time: VirtualTime
  readonly stores: Context.Context<Stores>
  readonly layerOf: (
    process: TestProcess<R>,
    stores: Layer.Layer<Stores>,
  ) => Layer.Layer<R, Refusal>
  /** Called whenever the time has moved. */
  readonly onMove: (now: Date) => void
}

/** A dispatcher that died leaves its deliveries for so long. */
const visibilityMillis = 45_000

/** After so many moves, `runToEnd` gives up. */
const mostMoves = 100_000

const dead = () =>
  new MillraceError("ENGINE_CLOSED", "The engine has crashed: call restart()", { status: 503 })

/** A test engine without its interface. Mutable. */
export class TestHost<R> {
  readonly #options: TestHostOptions<R>
  #commits = 0
  readonly #time: VirtualTime
  /** When what dead processes have left is free: by runner, and for deliveries. */
  readonly #leases = new Map<RunnerId, number>()
  #deliveriesFreeAt = 0
  #process: TestProcess<R> | undefined
  #moves: Promise<unknown> = Promise.resolve()
  #waiting: Array<{
    readonly resolve: (process: TestProcess<R>) => void
    readonly reject: (error: unknown) => void
  }> = []
  #isClosed = false
  readonly #outside: VirtualProcess
  onCommit: CommitHook = (_, write) => write
  /** The new process, while it starts by itself after a crash. */
  #restarting: Promise<void> | undefined
  /** What the calls were rejected with that a planned crash has ended. */
  #planned: MillraceError | undefined
  /** The run that was started last, so that its start can answer after a crash. */
  startedLast: string | undefined

  constructor(options: TestHostOptions<R>) {
    this.#options = options
    this.#time = options.time
    this.#outside = new VirtualProcess(options.time)
  }

  /** The calls of the process that is alive. They reject while there is none. */
  readonly runtime: Runtime<R> = {
    call: (effect) => this.runtime.callUntil(effect, undefined),
    callUntil: async (effect, signal) => {
      await this.#restarting
      const { inProgress, runtime } = this.living
      return inProgress.during(() => runtime.callUntil(effect, signal))
    },
    close: () => {
      this.#isClosed = true
      for (const { reject } of this.#waiting.splice(0)) reject(closed())
      return this.#close()
    },
  }

  /** A call that the time does not wait for. After a crash, the next process goes on with it. */
  async survive<A>(call: (runtime: Runtime<R>) => Promise<A>): Promise<A> {
    for (;;) {
      const process = this.#process ?? (await this.#restarted())
      try {
        return await call(process.runtime)
      } catch (error) {
        if (process.machine.isAlive) throw error
      }
    }
  }

  /** The process that is alive. Throws if there is none. */
  get living(): TestProcess<R> {
    if (this.#process === undefined) throw this.#isClosed ? closed() : dead()
    return this.#process
  }

  #restarted(): Promise<TestProcess<R>> {
    if (this.#isClosed) throw closed()
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** Starts a process, after the one before has ended in order. */
  async start(): Promise<void> {
    if (this.#isClosed) throw closed()
    if (this.#process !== undefined) await this.#close()
    const { layerOf, stores } = this.#options
    this.#process = await TestProcess.start<R>(this.#time, (process) =>
      layerOf(
        process,
        process.storesOf(stores, (commit, write) => {
          this.#commits += 1
          return this.onCommit(commit, write)
        }),
      ),
    )
    for (const { resolve } of this.#waiting.splice(0)) resolve(this.#process)
  }

  /** Ends the process as `kill -9` does. What it owns is free when its lease has run out. */
  crash(leaseMillis = this.#options.leaseMillis, error = dead()): void {
    const process = this.living
    const runs = Context.get(this.#options.stores, RunStore)
    this.#process = undefined
    process.crash(error)
    this.now(runs.heartbeat(process.runner, leaseMillis))
    this.#leases.set(process.runner, this.#time.now + leaseMillis)
    this.#deliveriesFreeAt = this.#time.now + visibilityMillis
  }

  /**
   * Crashes at one commit, before or after it is written, and starts a new process that owns the
   * runs at once. Returns a function that counts commits and says whether there was such a point.
   * The commit of a start is never lost, because whoever started it would know.
   */
  crashAt(point: { readonly commit: number; readonly side: "before" | "after" } | undefined) {
    let commits = 0
    let isHit = false
    const crash = Effect.suspend(() => {
      isHit = true
      this.#planned = dead()
      this.crash(0, this.#planned)
      this.#restarting = this.start().finally(() => (this.#restarting = undefined))
      return Effect.never
    })
    this.onCommit = (commit, write) => {
      const isNew = commit.expected._tag === "New"
      if (isNew) this.startedLast = commit.run.id
      if (++commits !== point?.commit || (isNew && point.side === "before")) return write
      return point.side === "before" ? crash : Effect.andThen(write, crash)
    }
    return () => ({ commits, isHit })
  }

  /** True if a call was rejected by a crash after which a new process starts by itself. */
  goesOnAfter(error: unknown): boolean {
    return error === this.#planned
  }

  /** Moves the time by so much, moment by moment. */
  advance(millis: number): Promise<void> {
    return this.#move(async () => {
      const until = this.#time.now + millis
      for (;;) {
        const { at } = await this.#next()
        if (at === undefined || at > until) break
        this.#moveTo(at)
      }
      this.#moveTo(until)
      await this.#next()
    })
  }

  /** Moves the time until all runs and deliveries have ended. */
  runToEnd(): Promise<void> {
    return this.#move(async () => {
      for (let moves = 0; moves < mostMoves; moves++) {
        const { at, isOver, sentence } = await this.#next()
        if (isOver) return
        if (at === undefined) throw new MillraceError("TIMEOUT", sentence())
        this.#moveTo(at)
      }
      throw new MillraceError("TIMEOUT", `runToEnd: no end after ${mostMoves} moments`)
    })
  }

  /** Does all that is to be done now. The next moment at which something is to be done. */
  async #next() {
    let before: string | undefined
    for (;;) {
      await this.#settle()
      const work = this.#work()
      if (work.state === before) {
        const timer = this.#process === undefined ? undefined : this.#time.next("ofRuns")
        const moments = timer === undefined ? work.moments : [...work.moments, timer]
        const later = moments.filter((each) => each > this.#time.now)
        return { ...work, at: later.length === 0 ? undefined : Math.min(...later) }
      }
      before = work.state
      this.#time.look()
    }
  }

  #work() {
    return openWork({
      stores: this.#options.stores,
      read: (effect) => this.now(effect),
      now: this.#time.now,
      commits: this.#commits,
      runner: this.#process?.runner,
      leases: this.#leases,
      deliveriesFreeAt: this.#deliveriesFreeAt,
      inProgress: this.#process?.inProgress,
    })
  }

  #moveTo(time: number): void {
    this.#time.moveTo(time)
    this.#options.onMove(new Date(this.#time.now))
  }

  /** Waits until nothing is in progress. What has had its time is no longer waited for. */
  async #settle(): Promise<void> {
    const { patienceMillis } = this.#options
    let until = realMillis() + patienceMillis
    for (let quiet = 0; quiet < 2; quiet++) {
      await nextTask()
      await this.#restarting
      const process = this.#process
      if (process === undefined) continue
      if (!process.machine.isIdle) {
        quiet = -1
        until = realMillis() + patienceMillis
      } else if (process.inProgress.isBusy) {
        quiet = -1
        const left = until - realMillis()
        const hasEnded =
          left > 0 && (await within(left, (heard) => process.inProgress.listen(heard)))
        if (hasEnded) until = realMillis() + patienceMillis
        else process.inProgress.giveUp()
      }
    }
  }

  /** Moves happen one after the other. */
  #move<A>(move: () => Promise<A>): Promise<A> {
    const next = this.#moves.then(move, move)
    this.#moves = next.catch(() => undefined)
    return next
  }

  /** Does something with the stores at once. */
  now<A, E>(effect: Effect.Effect<A, E>): A {
    return Effect.runSync(Effect.provideService(effect, Clock.Clock, this.#outside.clock))
  }

  /** Ends the process in order. Its grace time passes at once. */
  async #close(): Promise<void> {
    const process = this.#process
    if (process === undefined) return
    this.#process = undefined
    const over = { isTrue: false }
    const closing = process.runtime.close().finally(() => (over.isTrue = true))
    while (!over.isTrue) {
      for (let task = 0; task < 4; task++) await nextTask()
      const { isBusy } = process.inProgress
      if (over.isTrue) break
      if (isBusy && (await within(20, (heard) => process.inProgress.listen(heard)))) continue
      const next = this.#time.next("any")
      if (next === undefined) await within(5, () => () => undefined)
      else this.#time.moveTo(next)
    }
    await closing
  }
}
