/**
 * What a start would say of a workflow, without starting anything. Pure.
 *
 * Guarantees: no problems exactly where a start would be accepted now. Leaves out: whatever comes
 * after the plan, such as credits.
 */
import { Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { NodeType, Ports } from "../../domain/NodeType.ts"
import { defaultInput, estimateOf, withError } from "../../domain/NodeType.ts"
import type { Prices } from "../../domain/Prices.ts"
import { priceOf } from "../../domain/Prices.ts"
import type { Reading } from "../../graph/Graph.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { spelled } from "../../graph/internal/Scope.ts"
import { warningsOf } from "../../graph/internal/Warnings.ts"
import type { Plan } from "./Plan.ts"

/** What is known of a node of a type that there is, also where a start would refuse it. */
export interface NodeOutline {
  readonly nodeId: string
  /** After its mode and its literals, with the port `error` from which every node may be left. */
  readonly ports: Ports
  /** Of a loop: what the nodes in its body see of it. */
  readonly body: NodeType["body"]
  /** What one execution is expected to cost; `null` where its type gives no valid amount. */
  readonly credits: MicroCredits | null
  /** What its expressions may begin with, as they are written. `input` is not for itself. */
  readonly names: ReadonlyArray<string>
}

/** The outcome of checking a workflow as a start would. */
export interface Validation {
  /** What stands against a start: everything, each with the node, edge or port it is about. */
  readonly problems: ReadonlyArray<Problem>
  /** What its author may not have meant, and a start accepts all the same. */
  readonly warnings: ReadonlyArray<Problem>
  /** What a run is expected to cost; `null` where there are problems. */
  readonly estimatedCredits: MicroCredits | null
  /** In the order of the workflow; without nodes of unknown types and modes. */
  readonly nodes: ReadonlyArray<NodeOutline>
}

const outlinesOf = (
  { around, plans, wirings }: Reading,
  prices: Prices | undefined,
): ReadonlyArray<NodeOutline> => {
  // Each is told as often as there are nodes after it.
  const names = around.ids.map(spelled)
  return plans.flatMap((plan, index) => {
    if (plan === undefined) return []
    const { node, overrides, ports, settings, type } = plan
    const hasInput = wirings[index]!.inputs.has(defaultInput) || defaultInput in overrides
    const before = around.before(index)
    return {
      nodeId: node.id,
      ports: withError(ports, type),
      body: type.body,
      credits: estimateOf(type, settings, priceOf(prices, type, settings)) ?? null,
      names: [
        ...names.filter((_, each) => before[each] === 1),
        ...(hasInput ? [defaultInput] : []),
        "values",
        "run",
      ],
    }
  })
}

/** Reads a validation off a plan, or off what stands against one. */
export const validationOf = (
  made: Result.Result<Plan, ReadonlyArray<Problem>>,
  reading: Reading,
  prices?: Prices,
): Validation => {
  const nodes = outlinesOf(reading, prices)
  const warnings = warningsOf(reading)
  return Result.isFailure(made)
    ? { problems: made.failure, warnings, estimatedCredits: null, nodes }
    : { problems: [], warnings, estimatedCredits: made.success.estimate, nodes }
}
