/**
 * Which handlers of this process are in progress, and what they have to do with a block of the
 * event loop.
 *
 * Guarantees: a handler that computes while it is called, or within `CurrentNode.watched`, is
 * named, and only that one; for any other block those in progress are named. Leaves out: noticing a
 * block.
 */
import type { CalledNode } from "../../domain/CalledNode.ts"
import { describeNode, inSeconds } from "../../domain/CalledNode.ts"
import type { RunId } from "../../domain/Id.ts"
import { namesShown } from "../../domain/Limits.ts"
import type { Blocked } from "../../domain/Loss.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Watchdog } from "../../ports/Watchdog.ts"

/** A handler in progress. Mutable. */
export interface Handler extends CalledNode {
  /** What the watchdog knows it by. */
  readonly mark: number
  /** When it was last given control. */
  enteredAt: Timestamp
  /** Its place among those in progress. */
  place: number
}

/** A handler that gave no control back for some time. */
interface Longest extends CalledNode {
  readonly millis: number
}

/** A block of the event loop that lasted as long is told. */
export const blockMillis = 1_000

/** Handlers that have ended a moment ago and are remembered. */
const remembered = 20

/** The handlers of one process. Mutable; every method is one synchronous step. */
export class Handlers {
  readonly #watchdog: Watchdog | undefined
  /** In no order: the place of one that is over goes to the last. */
  readonly #current: Array<Handler> = []
  /** The last that have ended; a ring, because every attempt comes by here. */
  readonly #ended: Array<Handler> = []
  #endedCount = 0
  #longest: Longest | undefined
  #blocked: Blocked | undefined
  /** Runs that have blocked the event loop, as long as they are executed. */
  readonly #blocking = new Set<RunId>()

  constructor(watchdog?: Watchdog) {
    this.#watchdog = watchdog
  }

  /** To be called before a handler is. */
  begin({ nodeId, nodeType, runId }: CalledNode): Handler {
    const mark = this.#watchdog?.began({ runId, nodeId, nodeType }) ?? 0
    const handler = { runId, nodeId, nodeType, mark, enteredAt: 0, place: this.#current.length }
    this.#current.push(handler)
    return handler
  }

  /** The handler gets control. */
  enter(handler: Handler, now: Timestamp): void {
    handler.enteredAt = now
    this.#watchdog?.entered(handler.mark)
  }

  /** The handler has given control back. */
  leave(handler: Handler, now: Timestamp): void {
    this.#watchdog?.left(handler.mark)
    const millis = now - handler.enteredAt
    if (millis > (this.#longest?.millis ?? 0)) this.#longest = { ...handler, millis }
    if (millis < blockMillis) return
    this.#blocking.add(handler.runId)
    this.blame({ run: handler.runId, millis })
  }

  /** True where a run has blocked the event loop: a loss may have been recorded of it meanwhile. */
  hasBlocked(run: RunId): boolean {
    return this.#blocking.size > 0 && this.#blocking.has(run)
  }

  /** To be called when a run is no longer executed. */
  forget(run: RunId): void {
    this.#blocking.delete(run)
  }

  /** To be called when the handler is over. */
  end(handler: Handler): void {
    this.#watchdog?.ended(handler.mark)
    const last = this.#current.pop()!
    if (last !== handler) {
      this.#current[handler.place] = last
      last.place = handler.place
    }
    this.#ended[this.#endedCount % remembered] = handler
    this.#endedCount += 1
  }

  /** Remembers what has blocked the event loop, unless something else did so for longer. */
  blame(blocked: Blocked): void {
    if (blocked.millis >= (this.#blocked?.millis ?? 0)) this.#blocked = blocked
  }

  /** True if `takeBlocked` would return a run. */
  get isBlamed(): boolean {
    return this.#blocked !== undefined
  }

  /** The run that has blocked the event loop for longest since the last call, if there was one. */
  takeBlocked(): Blocked | undefined {
    const blocked = this.#blocked
    this.#blocked = undefined
    return blocked
  }

  /**
   * To be called from time to time, with how much later that is than it should be: the block of the
   * event loop since the last call as a sentence, if there was one that is worth telling.
   */
  look(lagMillis: number): string | undefined {
    const longest = this.#longest
    const isBy = longest !== undefined && longest.millis >= lagMillis / 2
    const millis = isBy ? Math.max(lagMillis, longest.millis) : lagMillis
    const what =
      millis < blockMillis
        ? undefined
        : isBy
          ? `${describeNode(longest)} gave no control back meanwhile`
          : this.#suspects()
    this.#longest = undefined
    this.#ended.length = 0
    this.#endedCount = 0
    return what && `The event loop was blocked for ${inSeconds(millis)}: ${what}`
  }

  #suspects(): string {
    const latest = this.#endedCount % remembered
    const ended = [...this.#ended.slice(latest), ...this.#ended.slice(0, latest)]
    const all = [...this.#current, ...ended].toReversed()
    if (all.length === 0) return "no node was in progress"
    const more = all.length > namesShown ? `, and ${all.length - namesShown} more` : ""
    return `in progress were ${all.slice(0, namesShown).map(describeNode).join(", ")}${more}`
  }
}
