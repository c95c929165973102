/**
 * The versions of node types that the nodes of a run have: written down when it is started, so that
 * it keeps them whatever versions there are later.
 *
 * Guarantees: pure. Leaves out: built-in types, whose oldest version is never taken away.
 */
import { isJsonObject } from "../../domain/Json.ts"
import type { NodeType, NodeTypesByKey } from "../../domain/NodeType.ts"
import { builtinOrigin, typeOfNode } from "../../domain/NodeType.ts"
import type { Node } from "../../domain/Workflow.ts"
import { settingsOf } from "../../domain/Workflow.ts"

const ownTypeOf = (types: NodeTypesByKey, node: Node): NodeType | undefined => {
  const type = typeOfNode(types, node)
  return type?.origin === builtinOrigin ? undefined : type
}

const withVersion = (types: NodeTypesByKey, node: Node): Node => {
  const { data = {} } = node
  if (!isJsonObject(data) || settingsOf(node).version !== undefined) return node
  const type = ownTypeOf(types, node)
  return type === undefined ? node : { ...node, data: { ...data, version: type.version } }
}

/** The nodes, each with the version that it has now. A name of a version that is there stays. */
export const withVersions = (
  nodes: ReadonlyArray<Node>,
  types: NodeTypesByKey,
): ReadonlyArray<Node> => nodes.map((node) => withVersion(types, node))

/**
 * Which versions nodes of one drawing have that {@link withVersions} has given, as a text: one
 * drawing with one text has the same versions. Short if all of them are the first ones.
 */
export const versionsText = (nodes: ReadonlyArray<Node>, types: NodeTypesByKey): string => {
  const own = nodes.flatMap((node) => {
    const type = ownTypeOf(types, node)
    return type === undefined ? [] : [type]
  })
  if (own.length === 0) return ""
  const byKey = Map.groupBy(own, ({ key }) => key)
  const later = [...byKey]
    .filter(([, found]) => found.some(({ version }) => version !== 1))
    .map(([key, found]) => `+${key}@${found.map(({ version }) => version).join(".")}`)
  return `+n${later.join("")}`
}
