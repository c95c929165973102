/**
 * Does the work of built-in nodes in slices; between them the process does its other tasks.
 *
 * Guarantees: among all nodes of an engine that need more than a small first slice, one slice is
 * done per turn of the event loop. So timers and sockets wait for one slice at most, however many
 * nodes compute. An interrupted attempt does no further slice. Leaves out: time; a slice is a
 * number of operations.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { Job } from "@millrace/core/domain/Work"
import { Work } from "@millrace/core/domain/Work"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { sentenceOf } from "@millrace/core/engine/NodeDefinition"
import { Context, Effect, Layer, Semaphore } from "effect"

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
