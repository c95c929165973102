/**
 * Threads for handlers that compute for long, so they do not block the event loop of the process.
 *
 * Guarantees:
 * - An attempt that is interrupted or takes too long ends its thread at once.
 * - A thread that crashes or uses too much memory fails its attempt and nothing else.
 * - At most `threadsAtOnce` attempts have a thread. A thread that does not end still counts.
 * - A thread is used again for the same module, and is ended after a while without work.
 * - A thread's environment has no variables of Millrace: no master key, token or database.
 * - No thread keeps the process alive.
 *
 * Leaves out: isolation. A thread is no sandbox.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { JsonObject } from "@millrace/core/domain/Json"
import type { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { sentenceOf, toNodeError } from "@millrace/core/engine/NodeDefinition"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { Worker } from "node:worker_threads"
import { threadEnvironment } from "./internal/ThreadEnvironment.ts"
import type { ThreadCall, ThreadData, ThreadNews } from "./internal/ThreadWire.ts"

export { isHandlerThread } from "./internal/ThreadEnvironment.ts"

/** How long a thread without work is kept. */
const idleMillis = 10_000

/** How long a closing engine waits for its threads to end. */
const closeMillis = 5_000

const isSource = import.meta.url.endsWith(".ts")

const entry = new URL(
  isSource ? "./internal/HandlerThread.ts" : "./internal/HandlerThread.js",
  import.meta.url,
)

const condition = "--conditions=@millrace/source"

/** A thread has the flags of its process. In a test of the sources, this one may be missing. */
const flags = isSource && !process.execArgv.includes(condition) ? { execArgv: [condition] } : {}

/** A thread without work, and the timer that ends it. */
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
  /** Stops listening to the thread. */
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
  // Without this listener, the failure of an idle thread would be an uncaught error of the process.
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

  /** Waits for a free place, calls a handler on a thread, and returns its outputs. */
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

  /** Ends every idle thread, and waits until all ending threads have ended. */
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
          // An earlier handler on this thread may have left something running that still logs.
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
    // A handler may end its thread after it has answered. Such a thread has the id -1.
    const isOver = !isReusable || worker?.threadId === -1
    if (worker !== undefined && isOver) return this.#retire(worker, free)
    if (worker !== undefined) this.#keep(module, worker)
    free()
  }

  /** An idle thread of this module, or a new one. */
  #take(module: string): Worker {
    const known = this.#idle.find((each) => each.module === module)
    if (known !== undefined) return this.#remove(known)
    // An idle thread of another module is ended if there would be too many threads.
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
    // `terminate` undoes `unref`. A thread that is stuck in native code must not keep the process.
    worker.unref()
    const ended = gone.then(() => {
      this.#ending.delete(ended)
      then()
    })
    this.#ending.add(ended)
  }
}

/** Listens to one attempt on a thread. Returns a function that stops listening. */
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

/** The threads of an engine. */
export class EngineThreads extends Context.Service<EngineThreads, Threads>()(
  "@millrace/host/Threads",
) {}

/** Threads that end with the engine. */
export const layer = Layer.effect(
  EngineThreads,
  Effect.flatMap(CurrentLimits, (limits) =>
    Effect.acquireRelease(
      Effect.sync(() => new Threads(limits)),
      (threads) => threads.close,
    ),
  ),
)
