/**
 * The versions of node types: which one a node has, and which one new nodes get.
 *
 * Guarantees: a node has the version that it names, and else the oldest, as on the server. New
 * nodes get the latest. Leaves out: whether a server knows a version; it says so when it validates.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"

/** What says of which type and version a node is. */
export interface TypedNode {
  readonly type: string
  readonly data?: unknown
}

type Versioned = Pick<NodeTypeItem, "key" | "version">

const versionIn = ({ data }: TypedNode): unknown =>
  (data as { readonly version?: unknown } | null | undefined)?.version

/** The versions of a type, the oldest first. */
export const versionsOf = <T extends Versioned>(
  nodeTypes: ReadonlyArray<T>,
  key: string,
): ReadonlyArray<T> => nodeTypes.filter((type) => type.key === key)

const chosen = <T extends Versioned>(
  versions: ReadonlyArray<T>,
  node: TypedNode,
): T | undefined => {
  if (versions.length < 2) return versions[0]
  const version = versionIn(node)
  return versions.find((type) => type.version === version) ?? versions[0]
}

/** The type of a node, in its version. */
export const typeOf = <T extends Versioned>(
  nodeTypes: ReadonlyArray<T>,
  node: TypedNode,
): T | undefined => chosen(versionsOf(nodeTypes, node.type), node)

/** The same for many nodes. */
export const typesOf = <T extends Versioned>(
  nodeTypes: ReadonlyArray<T>,
): ((node: TypedNode) => T | undefined) => {
  const byKey = Map.groupBy(nodeTypes, ({ key }) => key)
  return (node) => chosen(byKey.get(node.type) ?? [], node)
}

/** The types of which new nodes can be added: the latest version of each that is in use. */
export const offeredTypes = (
  nodeTypes: ReadonlyArray<NodeTypeItem>,
): ReadonlyArray<NodeTypeItem> => {
  const inUse = nodeTypes.filter(({ deprecated }) => (deprecated ?? null) === null)
  return [...Map.groupBy(inUse, ({ key }) => key).values()].map((versions) => versions.at(-1)!)
}

/** The data of a new node: it names its version where there are others. */
export const dataOfNew = (
  nodeTypes: ReadonlyArray<Versioned>,
  { key, version }: Versioned,
): { readonly version?: number } => (versionsOf(nodeTypes, key).length < 2 ? {} : { version })
