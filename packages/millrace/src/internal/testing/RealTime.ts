/**
 * Real time, for a test engine that waits for real work: handlers, threads, answers.
 *
 * It uses neither `setTimeout` nor `setImmediate`, because a test framework may have replaced them.
 *
 * Guarantees: what waits here keeps the process alive, and nothing else does.
 */
import { MessageChannel } from "node:worker_threads"

/** Calls functions in later turns of the event loop. Mutable. */
class Turns {
  readonly #channel = new MessageChannel()
  #calls: Array<() => void> = []
  #held = 0

  constructor() {
    this.#channel.port2.on("message", () => {
      const calls = this.#calls
      this.#calls = []
      this.release()
      for (const call of calls) call()
    })
    this.#channel.port1.unref()
    this.#channel.port2.unref()
  }

  next(call: () => void): void {
    if (this.#calls.push(call) > 1) return
    this.hold()
    this.#channel.port1.postMessage(null)
  }

  /** Keeps the process alive until {@link release}. */
  hold(): void {
    this.#held += 1
    this.#channel.port2.ref()
  }

  release(): void {
    this.#held -= 1
    if (this.#held === 0) this.#channel.port2.unref()
  }
}

const turns = new Turns()

/** Calls a function in the next turn of the event loop. */
export const inNextTask = (call: () => void): void => turns.next(call)

/** Resolves in the next turn of the event loop, after all promises that can go on have. */
export const nextTask = (): Promise<void> => new Promise((resolve) => turns.next(resolve))

/** Real milliseconds since the process began. */
export const realMillis = (): number => process.uptime() * 1_000

/** Resolves with true when `heard` has been called, and with false after so long at most. */
export const within = async (
  millis: number,
  listen: (heard: () => void) => () => void,
): Promise<boolean> => {
  const bell = new Int32Array(new SharedArrayBuffer(4))
  let isHeard = false
  const deaf = listen(() => {
    isHeard = true
    Atomics.notify(bell, 0)
  })
  turns.hold()
  try {
    await Atomics.waitAsync(bell, 0, 0, Math.max(1, millis)).value
    return isHeard
  } finally {
    turns.release()
    deaf()
  }
}
