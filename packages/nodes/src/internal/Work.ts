/**
 * Counts and bounds the work of built-in nodes. Work is done in slices; between them the process
 * does its other tasks.
 *
 * Guarantees: among all nodes of an engine that need more than a small first slice, one slice is
 * done per turn of the event loop. So timers and sockets wait for one slice at most, however many
 * nodes compute. An interrupted attempt does no further slice. Leaves out: time; a slice is a
 * number of operations.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { sentenceOf } from "@millrace/core/engine/NodeDefinition"
import { Context, Effect, Layer, Semaphore } from "effect"

/** Operations of the first slice, which is done at once. Enough for almost every node. */
export const firstSlice = 1_000

/** Operations of every further slice, which takes one to three milliseconds. */
export const slice = 50_000

/** How many characters one operation reads, compares or copies. */
export const charactersPerOperation = 64

/** How many elements or keys one operation copies or counts. */
export const itemsPerOperation = 4

/** The operations of reading a text once. */
export const operationsOf = (text: string): number => 1 + text.length / charactersPerOperation

/** Work that can pause at each `yield`. */
export type Job<A> = Generator<void, A, void>

/** Counts the operations of an attempt. An operation is a step of a path, a comparison, a copy. */
export class Work {
  /** Operations so far. */
  done = 0
  readonly #limit: number
  #sliceEnd = firstSlice

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Counts operations. True if the slice is used up and the job should yield. Throws an `Error`,
   * whose message is a clause, if the attempt has done more than it may.
   */
  spend(operations: number): boolean {
    this.done += operations
    if (this.done > this.#limit) {
      throw new Error(
        `the node needs more than ${this.#limit} operations, the most that one attempt may do ` +
          "(limit workPerNode): give it fewer items, steps or conditions",
      )
    }
    return this.done >= this.#sliceEnd
  }

  /** Begins a slice. */
  goOn(): void {
    this.#sliceEnd = this.done + slice
  }
}

/** The permit to compute, which one node of an engine has at a time. */
export class ComputePermit extends Context.Service<ComputePermit, Semaphore.Semaphore>()(
  "@millrace/nodes/ComputePermit",
) {
  static readonly layer: Layer.Layer<ComputePermit> = Layer.effect(ComputePermit, Semaphore.make(1))
}

const refusal = (error: unknown) => new NodeError({ message: sentenceOf(error), retryable: false })

/** Does a job in slices. If it throws, the node fails without another attempt. */
export const carriedOut = <A>(
  begin: (work: Work) => Job<A>,
): Effect.Effect<A, NodeError, ComputePermit> =>
  Effect.gen(function* () {
    const { workPerNode } = yield* CurrentLimits
    const work = new Work(workPerNode)
    const job = begin(work)
    const advance = Effect.try({ try: () => job.next(), catch: refusal })
    let step = yield* advance
    if (step.done === true) return step.value
    const permit = yield* ComputePermit
    // Yields while it has the permit, so sockets and timers run before the slice, not only fibers.
    const next = permit.withPermit(
      Effect.andThen(
        Effect.yieldNow,
        Effect.suspend(() => {
          work.goOn()
          return advance
        }),
      ),
    )
    while (step.done !== true) step = yield* next
    return step.value
  })
