/**
 * What a start would say of a workflow, without starting anything. Pure.
 *
 * Guarantees: no problems exactly where a start would be accepted now. Leaves out: whatever comes
 * after the plan, such as credits.
 */
import { Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { leftoverReason } from "../../graph/internal/SkipReason.ts"
import type { Plan } from "./Plan.ts"

/** The outcome of checking a workflow as a start would. */
export interface Validation {
  /** What stands against a start: everything, each with the node, edge or port it is about. */
  readonly problems: ReadonlyArray<Problem>
  /** What its author may not have meant, and a start accepts all the same. */
  readonly warnings: ReadonlyArray<Problem>
  /** What a run is expected to cost; `null` where there are problems. */
  readonly estimatedCredits: MicroCredits | null
}

/** Reads a validation off a plan, or off what stands against one. */
export const validationOf = (made: Result.Result<Plan, ReadonlyArray<Problem>>): Validation => {
  if (Result.isFailure(made)) {
    return { problems: made.failure, warnings: [], estimatedCredits: null }
  }
  const { estimate, graph } = made.success
  const drafts = Result.getOrThrow(graph).nodes.filter(({ draft }) => draft)
  return {
    problems: [],
    warnings: drafts.map((node) => ({ message: leftoverReason(node), nodeId: node.id })),
    estimatedCredits: estimate,
  }
}
