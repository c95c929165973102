/**
 * Threads for handlers that compute for long, so that they block nobody's event loop but their own.
 *
 * Guarantees: an attempt that is interrupted or takes too long ends its thread at once; a thread
 * that crashes or takes too much memory fails its attempt and nothing else; no more attempts than
 * `threadsAtOnce` have a thread, and one that does not end keeps its place. A thread is used again
 * for the same module, and ended when it has nothing to do. It gets the environment without what is
 * Millrace's own: no master key, no token, no database. No thread keeps the process alive. Leaves
 * out: keeping code away from the rest of the process; a thread is no sandbox.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { JsonObject } from "@millrace/core/domain/Json"
import type { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { sentenceOf, toNodeError } from "@millrace/core/engine/NodeDefinition"
import { Context, Effect, Layer, Semaphore } from "effect"
import { Worker } from "node:worker_threads"
import { threadEnvironment } from "./ThreadEnvironment.ts"
import type { ThreadCall, ThreadData, ThreadNews } from "./ThreadWire.ts"

/** How long a thread without work is kept. */
const idleMillis = 10_000

/** How long the end of threads is waited for when an engine closes. */
const closeMillis = 5_000

const isSource = import.meta.url.endsWith(".ts")

const entry = new URL(isSource ? "./HandlerThread.ts" : "./HandlerThread.js", import.meta.url)

const condition = "--conditions=@millrace/source"

/** A thread runs with the flags of its process; where a test runs sources, one may be missing. */
const flags = isSource && !process.execArgv.includes(condition) ? { execArgv: [condition] } : {}

/** A thread without work, and what ends it. */
interface Idle {
  readonly module: string
  readonly worker: Worker
  readonly timer: NodeJS.Timeout
  readonly gone: () => void
}

/** One attempt's use of a thread. */
interface ThreadUse {
  readonly module: string
  worker?: Worker
  /** Hears no more of the thread. */
  silence?: () => void
  /** The handler is done, and the thread may be given another call. */
  isReusable?: boolean
}

type Bounds = Pick<Limits, "megabytesPerThread" | "threadsAtOnce">

const start = (module: string, { megabytesPerThread }: Bounds): Worker => {
  const data: ThreadData = { millraceModule: module }
  const worker = new Worker(entry, {
    ...flags,
    workerData: data,
    env: threadEnvironment(),
    name: "millrace-node",
    resourceLimits: { maxOldGenerationSizeMb: megabytesPerThread },
  })
  worker.unref()
  // A failure of a thread that nobody listens to any more is no one else's.
  worker.on("error", () => undefined)
  return worker
}

const failed = (message: string) => new NodeError({ message: `the node's thread ${message}` })

/** The threads of one engine. */
export class Threads {
  readonly #bounds: Bounds
  readonly #places: Semaphore.Semaphore
  #idle: ReadonlyArray<Idle> = []
  readonly #ending = new Set<Promise<unknown>>()
  #busy = 0
  #calls = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
    this.#places = Semaphore.makeUnsafe(bounds.threadsAtOnce)
  }

  /** Calls a handler on a thread, once there is room for one, and gives what it put out. */
  call(
    module: string,
    call: Omit<ThreadCall, "id">,
    current: CurrentNode["Service"],
  ): Effect.Effect<JsonObject, NodeError> {
    const use: ThreadUse = { module }
    return Effect.uninterruptibleMask((restore) =>
      Effect.andThen(
        restore(this.#places.take(1)),
        Effect.ensuring(
          Effect.andThen(
            Effect.sync(() => (this.#busy += 1)),
            restore(this.#perform(use, call, current)),
          ),
          Effect.sync(() => this.#end(use)),
        ),
      ),
    )
  }

  /** Ends every thread that has nothing to do, and waits for all that were told to end. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    for (const idle of this.#idle) this.#retire(this.#remove(idle))
    return Effect.promise(() => Promise.all(this.#ending)).pipe(
      Effect.timeoutOption(closeMillis),
      Effect.asVoid,
    )
  })

  #perform(
    use: ThreadUse,
    given: Omit<ThreadCall, "id">,
    current: CurrentNode["Service"],
  ): Effect.Effect<JsonObject, NodeError> {
    return Effect.callback((resume) => {
      const fail = (error: unknown) => resume(Effect.fail(toNodeError(error)))
      try {
        const worker = (use.worker = this.#take(use.module))
        const call: ThreadCall = { ...given, id: (this.#calls += 1) }
        const heard = (news: ThreadNews): void => {
          // What an earlier handler on this thread left running has nothing to say here.
          if (news.id !== call.id) return
          if (news._tag === "Logged") return current.log(news.level, news.message, news.data)
          if (news._tag === "Charged") return Effect.runSync(current.charge(news.credits))
          use.isReusable = news._tag === "Done" || news.isReusable
          if (news._tag === "Done") resume(Effect.succeed(news.output))
          else fail(new NodeError(news.error))
        }
        use.silence = listen(worker, fail, heard)
        worker.postMessage(call, [])
      } catch (error) {
        fail(error)
      }
    })
  }

  #end({ isReusable = false, module, silence, worker }: ThreadUse): void {
    const free = () => {
      this.#busy -= 1
      Effect.runSync(this.#places.release(1))
    }
    silence?.()
    // A handler may end its thread after it has answered; such a thread has no number any more.
    const isOver = !isReusable || worker?.threadId === -1
    if (worker !== undefined && isOver) return this.#retire(worker, free)
    if (worker !== undefined) this.#keep(module, worker)
    free()
  }

  /** A thread for a module: one that has nothing to do, or a new one. */
  #take(module: string): Worker {
    const known = this.#idle.find((each) => each.module === module)
    if (known !== undefined) return this.#remove(known)
    // An idle one of another module makes room, so that there are never more than may be.
    const [first] = this.#idle
    const count = this.#idle.length + this.#busy
    if (first !== undefined && count > this.#bounds.threadsAtOnce) this.#retire(this.#remove(first))
    return start(module, this.#bounds)
  }

  #keep(module: string, worker: Worker): void {
    const timer = setTimeout(() => this.#retire(this.#remove(idle)), idleMillis).unref()
    const idle = { module, worker, timer, gone: () => void this.#remove(idle) }
    worker.once("exit", idle.gone)
    this.#idle = [...this.#idle, idle]
  }

  #remove(idle: Idle): Worker {
    clearTimeout(idle.timer)
    idle.worker.off("exit", idle.gone)
    this.#idle = this.#idle.filter((each) => each !== idle)
    return idle.worker
  }

  #retire(worker: Worker, then: () => void = () => undefined): void {
    const gone = worker.terminate()
    // Ending it made it count again: one that is stuck in native code must not hold the process.
    worker.unref()
    const ended = gone.then(() => {
      this.#ending.delete(ended)
      then()
    })
    this.#ending.add(ended)
  }
}

/** Hears of one attempt on a thread; gives what stops that. */
const listen = (
  worker: Worker,
  fail: (error: unknown) => void,
  heard: (news: ThreadNews) => void,
): (() => void) => {
  const onError = (error: unknown) => fail(failed(`failed: ${sentenceOf(error)}`))
  const onExit = (code: number) => fail(failed(`ended with code ${code}`))
  const onMessage = (news: ThreadNews) => {
    try {
      heard(news)
    } catch (error) {
      fail(error)
    }
  }
  worker.on("error", onError).on("messageerror", onError).on("exit", onExit)
  worker.on("message", onMessage)
  return () => {
    worker.off("error", onError).off("messageerror", onError).off("exit", onExit)
    worker.off("message", onMessage)
  }
}

/** The threads in force: those of the engine; where none has its own, those of the process. */
export const CurrentThreads = Context.Reference<Threads>("millrace/Threads", {
  defaultValue: () => new Threads(defaultLimits),
})

/** Threads that end with the engine. */
export const layer = Layer.effect(
  CurrentThreads,
  Effect.flatMap(CurrentLimits, (limits) =>
    Effect.acquireRelease(
      Effect.sync(() => new Threads(limits)),
      (threads) => threads.close,
    ),
  ),
)
