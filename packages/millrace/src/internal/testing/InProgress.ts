/**
 * What a process of a test engine does for real, and the virtual time has to wait for: handlers,
 * threads, calls.
 *
 * Guarantees: what has begun is there until it has ended. A handler that sleeps by the virtual
 * clock does nothing for real.
 */
import type { CalledNode } from "@millrace/core/domain/CalledNode"
import type { Watchdog } from "@millrace/core/ports/Watchdog"

/** A handler in progress. Mutable. */
interface Handler {
  readonly node: CalledNode
  isAsleep: boolean
  /** True if the time does not wait for it any more. */
  isSlow: boolean
}

/** What is in progress in one process. Mutable. */
export class InProgress {
  readonly #handlers = new Map<number, Handler>()
  readonly #listeners = new Set<() => void>()
  #begun = 0
  #entered: Handler | undefined
  #calls = 0
  /** Calls from outside; the time gives up waiting for slow ones. */
  readonly #beside = new Set<{ isSlow: boolean }>()

  /** Hears of all handlers, from the evaluation of their expressions on. */
  readonly watchdog: Watchdog = {
    began: (node) => {
      this.#begun += 1
      this.#handlers.set(this.#begun, { node, isAsleep: false, isSlow: false })
      return this.#begun
    },
    entered: (handler) => void (this.#entered = this.#handlers.get(handler)),
    left: () => undefined,
    ended: (handler) => {
      this.#handlers.delete(handler)
      this.#tell()
    },
  }

  /** True if the time has to wait. */
  get isBusy(): boolean {
    return (
      this.#calls > 0 ||
      this.busyNodes.length > 0 ||
      [...this.#beside].some(({ isSlow }) => !isSlow)
    )
  }

  /** The nodes whose handlers the time waits for. */
  get busyNodes(): ReadonlyArray<CalledNode> {
    return [...this.#handlers.values()]
      .filter(({ isAsleep, isSlow }) => !isAsleep && !isSlow)
      .map(({ node }) => node)
  }

  /** The nodes whose handlers have not ended. */
  get nodes(): ReadonlyArray<CalledNode> {
    return Array.from(this.#handlers.values(), ({ node }) => node)
  }

  /** The time waits for no handler and no receiver in progress any more. */
  giveUp(): void {
    for (const each of [...this.#handlers.values(), ...this.#beside]) each.isSlow = true
  }

  /**
   * The handler that is being called sleeps from now on. Returns a function that ends its sleep.
   */
  fallAsleep(): () => void {
    const handler = this.#entered
    if (handler !== undefined) handler.isAsleep = true
    this.#tell()
    return () => {
      if (handler !== undefined) handler.isAsleep = false
    }
  }

  /** Counts a call as in progress until its promise is settled. */
  async during<A>(call: () => Promise<A>): Promise<A> {
    this.#calls += 1
    try {
      return await call()
    } finally {
      this.#calls -= 1
      this.#tell()
    }
  }

  /** Counts a call as in progress until its promise is settled, or the time gives up. */
  async beside<A>(call: () => Promise<A>): Promise<A> {
    const entry = { isSlow: false }
    this.#beside.add(entry)
    try {
      return await call()
    } finally {
      this.#beside.delete(entry)
      this.#tell()
    }
  }

  /** Calls a function whenever something has ended. Returns a function that stops that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
