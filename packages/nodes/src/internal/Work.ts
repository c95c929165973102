/**
 * How much a built-in node computes: its work is counted, done in slices between which the process
 * turns to its other tasks, and refused beyond a bound.
 *
 * Guarantees: of all nodes of an engine that need more than a first small slice, one slice is done
 * per turn of the event loop, so timers and sockets wait for one slice however many compute; an
 * attempt that is interrupted does no further slice. Leaves out: how fast the machine is; slices
 * are counted, not timed.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { sentenceOf } from "@millrace/core/engine/NodeDefinition"
import { Context, Effect, Layer, Semaphore } from "effect"

/** Operations of a first slice, which is done at once: enough for almost every node. */
export const firstSlice = 1_000

/** Operations of every further slice: one to three milliseconds. */
export const slice = 50_000

/** Characters that are read, compared or copied within one operation. */
export const charactersPerOperation = 64

/** Elements or keys that are only copied or counted within one operation. */
export const itemsPerOperation = 4

/** Operations that it takes to go through a text once. */
export const operationsOf = (text: string): number => 1 + text.length / charactersPerOperation

/** Work that can be left and gone on with: each `yield` is a place for that. */
export type Job<A> = Generator<void, A, void>

/** Counts the operations of one attempt. An operation is a step of a path, a comparison, a copy. */
export class Work {
  /** Operations so far. */
  done = 0
  readonly #limit: number
  #sliceEnd = firstSlice

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Counts operations. True when the slice is used up and the job should yield. Throws an `Error`
   * whose message is one clause when the attempt has done more than it may.
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

  /** Begins another slice. */
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

/** Carries out a job in slices. What it throws fails the node, and no other attempt is made. */
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
    // Yielding under the permit lets sockets and timers in before the slice, not only fibers.
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
