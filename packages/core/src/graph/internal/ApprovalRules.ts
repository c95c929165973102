/**
 * What a start must not do to approvals: nothing of it comes behind one without a decision, and
 * nothing changes whom one asks.
 *
 * Guarantees: pure; linear in nodes and edges. Leaves out: reruns, which execute an approval anew,
 * and ways around an approval that are drawn.
 */
import { approvalType } from "../../domain/Approval.ts"
import { isJsonObject } from "../../domain/Json.ts"
import { quoted } from "../../domain/Quote.ts"
import type { InputOverrides, PinnedOutputs } from "../../domain/Run.ts"
import type { Node } from "../../domain/Workflow.ts"
import { parentOf, settingsOf } from "../../domain/Workflow.ts"
import type { Call } from "./CalledWorkflows.ts"
import type { Drawing } from "./Draft.ts"
import type { Problem } from "./Problem.ts"
import { problemOfNode } from "./Problem.ts"

/** What a start lays over its workflow, as far as it concerns approvals. */
interface Laid {
  readonly inputOverrides: InputOverrides
  readonly nodeOverrides: ReadonlyArray<Node>
  readonly pinnedOutputs?: PinnedOutputs
}

/** For each node behind one that asks, one of those before it. */
const followersOf = (
  asking: ReadonlyArray<string>,
  { edges, nodes }: Drawing,
): ReadonlyMap<string, string> => {
  const targets = new Map<string, Array<string>>()
  // What is in the body of a loop decides what the loop puts out.
  const within = nodes.flatMap((node) => {
    const target = parentOf(node)
    return target === undefined ? [] : [{ source: node.id, target }]
  })
  for (const { source, target } of [...edges, ...within]) {
    const known = targets.get(source)
    if (known === undefined) targets.set(source, [target])
    else known.push(target)
  }
  const found = new Map<string, string>()
  const left = asking.map((id) => [id, id] as const)
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [id, approval] = next
    for (const target of targets.get(id) ?? []) {
      if (found.has(target)) continue
      found.set(target, approval)
      left.push([target, approval])
    }
  }
  return found
}

const noDefault = "an approval has no default: nobody would have decided"

const problemsOfAsking = (
  { data, id }: Node,
  { inputOverrides, nodeOverrides }: Laid,
): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const whole = isJsonObject(data) ? data : {}
  if (whole["onError"] === "default") problems.push(problemOfNode(id, noDefault))
  const refuse = (what: string) =>
    problems.push({
      message: `${what} ${quoted(id)}: it asks a person, and no start changes whom or what`,
      nodeId: id,
    })
  if (nodeOverrides.some((node) => node.id === id)) refuse("Node override")
  const given = Object.hasOwn(inputOverrides, id) ? inputOverrides[id]! : {}
  if (Object.keys(given).length > 0) refuse("Input overrides of node")
  return problems
}

/** A node that calls a workflow in which a person is asked keeps calling it. */
const problemsOfCall = (
  { nodeId, ports }: Call,
  { inputOverrides, nodeOverrides, pinnedOutputs = {} }: Laid,
): ReadonlyArray<Problem> => {
  const given = Object.hasOwn(inputOverrides, nodeId) ? inputOverrides[nodeId]! : {}
  const refused = [
    ...(nodeOverrides.some(({ id }) => id === nodeId) ? ["Node override"] : []),
    ...ports
      .filter((port) => Object.hasOwn(given, port))
      .map((port) => `Input override ${quoted(port)} of node`),
    ...(Object.hasOwn(pinnedOutputs, nodeId) ? ["Pinned output of node"] : []),
  ]
  const why = "it calls a workflow that asks a person, which no start skips"
  return refused.map((what) => ({ message: `${what} ${quoted(nodeId)}: ${why}`, nodeId }))
}

/**
 * What stands against a start because its workflow asks people: itself, or by these calls of its
 * nodes.
 */
export const problemsOfApprovals = (
  drawing: Drawing,
  laid: Laid,
  singleNodeId: string | undefined,
  calls: ReadonlyArray<Call> = [],
): ReadonlyArray<Problem> => {
  const asked = drawing.nodes.filter(
    (node) => node.type === approvalType && !settingsOf(node).disabled,
  )
  const asking = [...asked.map(({ id }) => id), ...calls.map(({ nodeId }) => nodeId)]
  if (asking.length === 0) return []
  const problems = [
    ...asked.flatMap((node) => problemsOfAsking(node, laid)),
    ...calls.flatMap((call) => problemsOfCall(call, laid)),
  ]
  const behind = followersOf(asking, drawing)
  const follows = (id: string) => `it follows the approval ${quoted(behind.get(id)!)}`
  for (const id of Object.keys(laid.pinnedOutputs ?? {})) {
    if (!behind.has(id)) continue
    const message = `Pinned output of node ${quoted(id)}: ${follows(id)}, which no start skips`
    problems.push({ message, nodeId: id })
  }
  if (singleNodeId !== undefined && behind.has(singleNodeId)) {
    const message = `Node ${quoted(singleNodeId)} cannot run alone: ${follows(singleNodeId)}`
    problems.push({ message, nodeId: singleNodeId })
  }
  return problems
}
