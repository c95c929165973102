/**
 * What of a drawing the engine reads, as texts to compare: two nodes, or the edges that end at one,
 * with the same text are executed in the same way.
 *
 * Guarantees: where a node stands and what it is called make no difference, nor does the order in
 * which the keys of an object were written.
 */
import { isJsonObject } from "../../domain/Json.ts"
import { defaultInput, defaultOutput } from "../../domain/NodeType.ts"
import type { Edge, Node } from "../../domain/Workflow.ts"

/** The value with the keys of its objects in alphabetical order. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => [key, sorted(each)] as const)
  return Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)))
}

/** A value as a text to compare; `undefined` for none. */
export const textOf = (value: unknown): string | undefined => JSON.stringify(sorted(value))

/** What the engine reads of a node: without its place and its name. */
export const contentOf = ({ data, type }: Pick<Node, "data" | "type">): string => {
  const { label: _, ...rest } = isJsonObject(data) ? data : {}
  return textOf([type, isJsonObject(data) ? rest : data])!
}

/** What the engine reads of an edge. */
export const wireOf = ({ source, sourceHandle, target, targetHandle }: Edge): string =>
  JSON.stringify([source, sourceHandle || defaultOutput, target, targetHandle || defaultInput])

/** The edges that end at each node, in their order. */
export const arrivalsOf = (edges: ReadonlyArray<Edge>): ReadonlyMap<string, string> => {
  const all = new Map<string, string>()
  for (const edge of edges) {
    all.set(edge.target, `${all.get(edge.target) ?? ""}${wireOf(edge)}`)
  }
  return all
}
