/**
 * When to save: 800 ms after the last change, one save at a time, and never from a hidden tab.
 *
 * Guarantees: a save that fails for now is tried again, after a second at first and after at most
 * half a minute later on; what is due while the tab is hidden happens once it is visible. Leaves
 * out: what a save is.
 */

/** Calls back once, after so many milliseconds; the answer cancels it. */
export type Schedule = (work: () => void, millis: number) => () => void

/** What has become of a save, and what comes next. */
export type SaveResult =
  /** Nothing, until something changes. */
  | { readonly next: "rest" }
  /** The next save, at once. */
  | { readonly next: "again" }
  /** The same save, later: nobody has answered. */
  | { readonly next: "retry"; readonly afterSeconds: number | undefined }

/** What it needs of the world. */
export interface AutosaveOptions {
  readonly schedule: Schedule
  readonly isVisible: () => boolean
  /** Saves what there is to save. Never rejects. */
  readonly save: () => Promise<SaveResult>
}

/** How long after the last change. */
export const quietMillis = 800

const firstRetryMillis = 1_000
const longestRetryMillis = 30_000

/** Decides when to save. Mutable. */
export class Autosave {
  readonly #options: AutosaveOptions
  #cancel: (() => void) | undefined
  #running: Promise<void> | undefined
  #isDue = false
  #isStopped = false
  #failures = 0

  constructor(options: AutosaveOptions) {
    this.#options = options
  }

  /** Something has changed. */
  changed(): void {
    // While nobody answers, the next try is planned already.
    if (this.#failures === 0 || this.#running !== undefined) this.#plan(quietMillis)
  }

  /** Saves at once, or as soon as the save that is in progress has ended. */
  now(): Promise<void> {
    this.#unplan()
    return this.#run()
  }

  /** Somebody looks again, or the network is back: what is due happens. */
  wake(): void {
    if (this.#isDue || this.#failures > 0) void this.now()
  }

  /** Plans nothing more. A save that is in progress goes on. */
  stop(): void {
    this.#isStopped = true
    this.#isDue = false
    this.#unplan()
  }

  /** Plans again after a stop. */
  start(): void {
    this.#isStopped = false
  }

  #plan(millis: number): void {
    this.#unplan()
    if (this.#isStopped) return
    this.#cancel = this.#options.schedule(() => {
      this.#cancel = undefined
      void this.#run()
    }, millis)
  }

  #unplan(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #run(): Promise<void> {
    if (this.#running !== undefined) {
      this.#isDue = true
      return this.#running
    }
    this.#running = this.#saveAll().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #saveAll(): Promise<void> {
    do {
      this.#isDue = !this.#options.isVisible()
      if (this.#isDue) return
      const result = await this.#options.save()
      if (result.next === "retry") {
        this.#isDue = false
        this.#retry(result.afterSeconds)
        return
      }
      this.#failures = 0
      if (result.next === "again") this.#isDue = true
    } while (this.#isDue)
  }

  #retry(afterSeconds: number | undefined): void {
    const millis = Math.min(longestRetryMillis, firstRetryMillis * 2 ** this.#failures)
    this.#failures += 1
    this.#plan(Math.max(millis, 1_000 * (afterSeconds ?? 0)))
  }
}
