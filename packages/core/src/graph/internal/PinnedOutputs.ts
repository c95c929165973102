/**
 * What stands against outputs that a start gives in the place of executing nodes.
 *
 * Guarantees: pure; every problem at once, each naming the node and, where there is one, the port.
 * Leaves out: how large outputs may be.
 */
import { approvalType } from "../../domain/Approval.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { problemsShown } from "../../domain/Limits.ts"
import { hintOf } from "../../domain/Nearest.ts"
import { errorOutput, withError } from "../../domain/NodeType.ts"
import { quoted } from "../../domain/Quote.ts"
import type { PinnedOutputs } from "../../domain/Run.ts"
import { clausesOfShape } from "./JsonShape.ts"
import type { NodePlan } from "./NodePlan.ts"
import type { Problem } from "./Problem.ts"

/** Why nodes of a role put out nothing of their own. */
const refusals = {
  request: 'it hands on the values of the run; give those as "values"',
  response: "it puts out nothing; pin the nodes before it",
  note: "it is a note",
  given: "it is known already",
  step: undefined,
} as const

/** A problem of an output that a start gives. */
const problemOfPin = (nodeId: string, why: string, port?: string): Problem => ({
  message: `Pinned output of node ${quoted(nodeId)}: ${why}`,
  nodeId,
  ...(port === undefined ? {} : { port }),
})

/** An approval is no approval if the start of the run gives it. */
const waitingOf = (nodeType: string) =>
  nodeType === approvalType
    ? "it waits for the decision of a person, which no start gives"
    : "it waits for a signal; send that to the run"

/** Adds what stands against the output of one node. */
const addProblems = (
  { node: { id: nodeId, type: nodeType }, ports, type }: NodePlan,
  output: JsonObject,
  problems: Array<Problem>,
): void => {
  const refuse = (why: string, port?: string) => problems.push(problemOfPin(nodeId, why, port))
  const refusal = type.waitsForSignal === true ? waitingOf(nodeType) : refusals[type.role]
  if (refusal !== undefined) {
    refuse(refusal)
    return
  }
  const { outputs } = withError(ports, type)
  for (const [port, value] of Object.entries(output)) {
    const known = outputs.get(port)
    if (known === undefined) {
      // Problems that come late get no guess, because each one may compare many names.
      const hint = problems.length < problemsShown ? `; ${hintOf(port, outputs.keys())}` : ""
      refuse(`it has no output ${quoted(port)}${hint}`, port)
      continue
    }
    for (const clause of clausesOfShape(known.schema, value)) {
      refuse(`output ${quoted(port)}: ${clause}`, port)
    }
  }
  if (Object.hasOwn(output, errorOutput)) return
  for (const { name, required } of outputs.values()) {
    if (required !== true || Object.hasOwn(output, name)) continue
    refuse(`output ${quoted(name)} needs a value`, name)
  }
}

/** What stands against these outputs, for the nodes of a run in any order. */
export const problemsOfPinned = (
  plans: Iterable<NodePlan | undefined>,
  pinned: PinnedOutputs,
): ReadonlyArray<Problem> => {
  const ids = Object.keys(pinned)
  if (ids.length === 0) return []
  const byId = new Map<string, NodePlan>()
  for (const plan of plans) if (plan !== undefined) byId.set(plan.node.id, plan)
  const problems: Array<Problem> = []
  for (const id of ids) {
    const plan = byId.get(id)
    if (plan === undefined) problems.push(problemOfPin(id, "the workflow has no such node"))
    else addProblems(plan, pinned[id]!, problems)
  }
  return problems
}
