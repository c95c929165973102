/**
 * What a loop has computed of its items since its attempt was called, which the next commit of its
 * run stores.
 *
 * Guarantees: however many items there are, a turn ends by its nodes, its time and its size, and
 * other runs follow. Leaves out: computing items.
 */
import type { MicroCredits } from "../../domain/Credits.ts"
import type { Limits } from "../../domain/Limits.ts"
import { turnCharacters } from "../../domain/Limits.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { StartedRun } from "../../ports/RunStore.ts"
import { costOf } from "./Billing.ts"
import { sizeOf } from "./RecordSize.ts"

/** One turn of a loop. Mutable. */
export class Turn {
  readonly #limits: Limits
  readonly #now: () => Timestamp
  #begunAt: Timestamp | undefined
  #attempts = 0
  #characters = 0
  /** What the items of this turn have cost. */
  credits: MicroCredits = 0

  constructor(limits: Limits, now: () => Timestamp) {
    this.#limits = limits
    this.#now = now
  }

  /** An item is about to be computed. */
  begin(): void {
    this.#begunAt ??= this.#now()
  }

  /** An item was computed. */
  add({ nodeRuns = [], run }: StartedRun): void {
    this.#attempts += Math.max(1, run.attempts)
    this.#characters += sizeOf({ run, nodeRuns }, turnCharacters)
    this.credits += costOf(run)
  }

  /** True if the next items have to wait until these are stored. */
  get isOver(): boolean {
    const { millisPerStep, nodesPerStep } = this.#limits
    if (this.#attempts === 0) return false
    return (
      this.#attempts >= nodesPerStep ||
      this.#characters >= turnCharacters ||
      this.#now() - this.#begunAt! >= millisPerStep
    )
  }
}
