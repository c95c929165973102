/**
 * Which handlers of this process are in progress, and what they have to do with a block of the
 * event loop.
 *
 * Guarantees: a handler that computes before it gives control back for the first time is named, and
 * only that one; for a later block those in progress are named. Leaves out: noticing a block.
 */
import type { RunId } from "../domain/Id.ts"
import type { Watchdog } from "../ports/Watchdog.ts"

/** Whose handler it is. */
export interface Called {
  readonly runId: RunId
  readonly nodeId: string
  readonly nodeType: string
}

/** A handler in progress. */
export interface Handler extends Called {
  readonly mark: number
  readonly calledAt: bigint
}

/** A handler that gave no control back for some time. */
export interface Blocking extends Called {
  readonly millis: number
}

/** A block of the event loop, as a sentence, and which handler it was if that is known. */
export interface Block {
  readonly message: string
  readonly by: Blocking | undefined
}

/** A block of the event loop that lasted as long is told. */
export const blockMillis = 1_000

/** Handlers that a sentence names at most. */
const named = 5

/** Handlers that have ended a moment ago and are remembered. */
const remembered = 20

const nanosPerMilli = 1_000_000

/** `node "n" (compute) of run run_1`. */
export const describe = ({ nodeId, nodeType, runId }: Called): string =>
  `node ${JSON.stringify(nodeId)} (${nodeType}) of run ${runId}`

const culprit = (called: Called): string => `${describe(called)} gave no control back meanwhile`

/** `12.3 s`. */
export const seconds = (millis: number): string => `${(millis / 1_000).toFixed(1)} s`

/** The handlers of one process. Mutable; every method is one synchronous step. */
export class Handlers {
  readonly #watchdog: Watchdog | undefined
  readonly #current = new Set<Handler>()
  #ended: Array<Handler> = []
  #worst: Blocking | undefined

  constructor(watchdog?: Watchdog) {
    this.#watchdog = watchdog
  }

  /** To be called right before a handler is; `now` is monotonic, in nanoseconds. */
  call({ nodeId, nodeType, runId }: Called, now: bigint): Handler {
    const called = { runId, nodeId, nodeType }
    const mark = this.#watchdog === undefined ? 0 : this.#watchdog.called(describe(called))
    const handler = { ...called, mark, calledAt: now }
    this.#current.add(handler)
    return handler
  }

  /** To be called as soon as the handler has given control back for the first time. */
  returned(handler: Handler, now: bigint): void {
    this.#watchdog?.returned(handler.mark)
    const millis = Number(now - handler.calledAt) / nanosPerMilli
    if (millis > (this.#worst?.millis ?? 0)) this.#worst = { ...handler, millis }
  }

  /** To be called when the handler is over. */
  end(handler: Handler): void {
    this.#watchdog?.ended(handler.mark)
    this.#current.delete(handler)
    if (this.#ended.push(handler) > remembered) this.#ended.shift()
  }

  /**
   * To be called from time to time, with how much later that is than it should be: the block of the
   * event loop since the last call, if there was one that is worth telling.
   */
  look(lagMillis: number): Block | undefined {
    const worst = this.#worst
    const by = worst !== undefined && worst.millis >= lagMillis / 2 ? worst : undefined
    const millis = Math.max(lagMillis, by?.millis ?? 0)
    const isBlock = millis >= blockMillis
    const what = isBlock ? (by === undefined ? this.#suspects() : culprit(by)) : ""
    this.#worst = undefined
    if (this.#ended.length > 0) this.#ended = []
    if (!isBlock) return undefined
    return { by, message: `The event loop was blocked for ${seconds(millis)}: ${what}` }
  }

  #suspects(): string {
    const all = [...this.#current, ...this.#ended].toReversed()
    if (all.length === 0) return "no node was in progress"
    const more = all.length > named ? `, and ${all.length - named} more` : ""
    return `in progress were ${all.slice(0, named).map(describe).join(", ")}${more}`
  }
}
