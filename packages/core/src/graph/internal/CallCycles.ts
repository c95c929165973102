/**
 * Workflows that call each other without an end.
 *
 * Guarantees: pure; what is named here never ends, unless something fails. Leaves out: calls in
 * branches and in loops, and workflows whose ids are computed; the depth of a tree bounds those.
 */
import { Result } from "effect"
import type { NodeTypesByKey } from "../../domain/NodeType.ts"
import { quoted } from "../../domain/Quote.ts"
import type { CalledWorkflow, CalledWorkflows } from "../../domain/Run.ts"
import type { Graph, GraphNode } from "../Graph.ts"
import type { Call } from "./CalledWorkflows.ts"
import { callOnceOf, callsIn } from "./CalledWorkflows.ts"
import type { Problem } from "./Problem.ts"
import { problemOfNode } from "./Problem.ts"
import { fieldsOf } from "./RequestFields.ts"

/** What a run is in any case given at an output of a node that completes. */
const isCertain = ({ ports, settings, type }: GraphNode, output: string): boolean => {
  if (ports.outputs.get(output)?.required === true) return true
  if (type.role !== "request") return false
  return fieldsOf(settings).some(
    ({ default: fallback, name, required }) =>
      name === output && (required || fallback !== undefined),
  )
}

/** The calls of a graph that a run makes in any case, unless something fails before. */
const certainCalls = (graph: Graph): ReadonlyArray<Call> => {
  const { edgeOutput, edgeSource, inEdges, inStart, nodes } = graph
  const executes = new Uint8Array(nodes.length)
  return nodes.flatMap((node) => {
    const { isUnused, index, settings } = node
    if (isUnused || settings.disabled) return []
    const isReached = inEdges.subarray(inStart[index], inStart[index + 1]).every((edge) => {
      const source = edgeSource[edge]!
      return executes[source] === 1 && isCertain(nodes[source]!, edgeOutput[edge]!)
    })
    executes[index] = isReached ? 1 : 0
    const call = isReached ? callOnceOf(node) : undefined
    return call === undefined ? [] : [call]
  })
}

/** True if one of these workflows may come to be called by itself. */
const hasCycle = (workflows: CalledWorkflows, types: NodeTypesByKey): boolean => {
  const left = new Map(
    Object.entries(workflows).map(([id, { nodes }]) => [
      id,
      new Set(callsIn(nodes, {}, types).map(({ key }) => key)),
    ]),
  )
  // Without cycles, there is always one left that calls nothing that is left.
  let count = -1
  while (left.size !== count) {
    count = left.size
    for (const [id, called] of left) {
      if (![...called].some((each) => left.has(each))) left.delete(id)
    }
  }
  return left.size > 0
}

/**
 * Says of each node that a run executes in any case, and that begins a cycle of calls, that the
 * run would not end. `compile` makes the graphs of the workflows.
 */
export const problemsOfCycles = (
  graph: Graph,
  workflows: CalledWorkflows,
  types: NodeTypesByKey,
  compile: (id: string, workflow: CalledWorkflow) => Result.Result<Graph, unknown>,
): ReadonlyArray<Problem> => {
  if (!hasCycle(workflows, types)) return []
  const known = new Map<string, ReadonlyArray<Call>>()
  const callsOf = (id: string): ReadonlyArray<Call> => {
    const before = known.get(id)
    if (before !== undefined) return before
    const workflow = Object.hasOwn(workflows, id) ? workflows[id] : undefined
    const compiled = workflow === undefined ? undefined : compile(id, workflow)
    // A workflow with problems starts nothing.
    const calls =
      compiled !== undefined && Result.isSuccess(compiled) ? certainCalls(compiled.success) : []
    known.set(id, calls)
    return calls
  }
  const ending = new Set<string>()
  const cycleFrom = (path: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
    const last = path.at(-1)!
    if (ending.has(last)) return undefined
    for (const { key } of callsOf(last)) {
      const longer = [...path, key]
      const found = path.includes(key) ? longer : cycleFrom(longer)
      if (found !== undefined) return found
    }
    ending.add(last)
    return undefined
  }
  return certainCalls(graph).flatMap(({ key, nodeId, port }) => {
    const cycle = cycleFrom([key])
    if (cycle === undefined) return []
    const path = cycle.map(quoted).join(" calls ")
    const reason = `its run would never end: ${path}, without a condition; call it in a branch`
    return [problemOfNode(nodeId, reason, { port })]
  })
}
