/**
 * Nodes that a start replaces for one run.
 *
 * Guarantees: the number, the ids and the order of the nodes stay. Leaves out: whether the result
 * makes sense, which `Graph.compile` says.
 */
import { Result } from "effect"
import { quoted } from "../../domain/Quote.ts"
import type { Node } from "../../domain/Workflow.ts"
import type { Problem } from "./Problem.ts"

/**
 * The nodes with whole nodes replaced by id (specification 4.5, `nodeOverrides`). Fails with every
 * override of an unknown node, and every node that is overridden twice.
 */
export const withNodeOverrides = (
  nodes: ReadonlyArray<Node>,
  overrides: ReadonlyArray<Node>,
): Result.Result<ReadonlyArray<Node>, ReadonlyArray<Problem>> => {
  if (overrides.length === 0) return Result.succeed(nodes)
  const known = new Set(nodes.map(({ id }) => id))
  const byId = new Map<string, Node>()
  const twice = new Set<string>()
  for (const node of overrides) {
    if (byId.has(node.id)) twice.add(node.id)
    byId.set(node.id, node)
  }
  const problems: Array<Problem> = []
  const refuse = (nodeId: string, why: string) =>
    problems.push({ message: `Node override ${quoted(nodeId)}: ${why}`, nodeId })
  for (const id of byId.keys()) {
    if (!known.has(id)) refuse(id, "the workflow has no such node")
    if (twice.has(id)) refuse(id, "the node is overridden more than once")
  }
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed(
    nodes.map((node) => {
      const given = byId.get(node.id)
      // Where a node lies says what executes it, which no override changes.
      if (given === undefined || node.parentId === undefined) return given ?? node
      return { ...given, parentId: node.parentId }
    }),
  )
}
