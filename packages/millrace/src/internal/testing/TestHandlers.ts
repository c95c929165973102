/**
 * Calls handlers and mocks for a test engine, and records all calls.
 *
 * Guarantees: the record outlives a crash of the process. Leaves out: what mocks are made of.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { AsyncLocalStorage } from "node:async_hooks"
import type { AnyHandler } from "../Handler.ts"
import { declarationOf, localExecutable, runnerOf } from "../Handler.ts"
import type { InProgress } from "./InProgress.ts"
import type { AnyMock, Recorded, Script } from "./Mock.ts"
import { answerOf } from "./Mock.ts"
import type { VirtualTime } from "./VirtualTime.ts"

type Context = Parameters<AnyHandler>[0]

/** The mock of a built-in type gets and gives JSON, which the engine checks by the ports. */
const asJson = (handler: AnyHandler) =>
  runnerOf(
    (given) => given,
    handler,
    (returned) => (returned ?? {}) as JsonObject,
  )

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** The handlers of a test engine over all its processes. Mutable. */
export class TestHandlers {
  readonly #time: VirtualTime
  readonly #mocks: ReadonlyMap<string, AnyMock>
  /** The call in whose handler one is. */
  readonly #current = new AsyncLocalStorage<Recorded>()
  readonly #calls = new Map<string, Array<Recorded>>()

  constructor(time: VirtualTime, mocks: ReadonlyMap<string, AnyMock>) {
    this.#time = time
    this.#mocks = mocks
  }

  /** The calls of a node type, in order. */
  callsOf(type: string): ReadonlyArray<Recorded> {
    return this.#calls.get(type) ?? []
  }

  /** All calls, by node type. */
  get all(): ReadonlyArray<readonly [type: string, calls: ReadonlyArray<Recorded>]> {
    return [...this.#calls]
  }

  /** Records an effect of the handler that calls this. */
  effect(what: unknown): void {
    const call = this.#current.getStore()
    if (call !== undefined) call.effects = [...(call.effects ?? []), what]
  }

  /** The same node type, whose calls are recorded, or answered by its mock. */
  standIn(inProgress: InProgress): <E extends Executable<unknown>>(usual: E) => E {
    return (usual) => {
      const { key } = usual.type
      const mock = this.#mocks.get(key)
      const declaration = declarationOf(usual)
      const usualHandler = declaration?.blocking === undefined ? declaration?.run : undefined
      const handler = mock === undefined ? usualHandler : this.#handlerOf(key, mock, inProgress)
      if (handler === undefined) return usual
      const run = this.#recorded(key, handler)
      return {
        ...usual,
        run: declaration === undefined ? asJson(run) : localExecutable({ ...declaration, run }).run,
      }
    }
  }

  #handlerOf(key: string, mock: AnyMock, inProgress: InProgress): AnyHandler {
    if (typeof mock === "function") return mock
    return (context) => this.#play(key, mock, context, inProgress)
  }

  /** Answers as the script says. The call itself is recorded already. */
  #play(key: string, script: Script<unknown>, context: Context, inProgress: InProgress): unknown {
    const { nodeId, runId } = context
    const before = this.callsOf(key).filter(
      (call) => call.runId === runId && call.nodeId === nodeId,
    ).length
    const { afterMillis, answer } = answerOf(script, before - 1)
    const settle = () => {
      if (answer._tag === "Fails") throw answer.error
      return answer._tag === "Gives" ? answer.outputs : undefined
    }
    if (answer._tag !== "Hangs" && afterMillis === 0) return settle()
    const awake = inProgress.fallAsleep()
    return new Promise<void>((resolve) => {
      if (answer._tag === "Hangs") return
      const wake = () => {
        awake()
        resolve()
      }
      this.#time.after(afterMillis, wake, { isOfRun: true, process: undefined })
    }).then(settle)
  }

  #recorded(key: string, handler: AnyHandler): (context: Context) => never {
    const calls: Array<Recorded> = this.#calls.get(key) ?? []
    this.#calls.set(key, calls)
    const record = (context: Context) => {
      const { attempt, idempotencyKey, inputs, mode, nodeId, runId } = context
      const at = new Date(this.#time.now)
      const call: Recorded = { runId, nodeId, attempt, mode, inputs, idempotencyKey, at }
      calls.push(call)
      const fail = (error: unknown) => {
        call.error = messageOf(error)
        throw error
      }
      const give = (outputs: unknown) => (call.outputs = outputs)
      try {
        const returned = this.#current.run(call, () => handler(context))
        return returned instanceof Promise ? returned.then(give, fail) : give(returned)
      } catch (error) {
        return fail(error)
      }
    }
    return record as (context: Context) => never
  }
}
