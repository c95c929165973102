/**
 * The difference of two drawings: what one has and the other has not, and what both have and draw
 * otherwise.
 *
 * Guarantees: pure; linear in nodes and edges. Says of each change whether runs differ by it, by
 * the rule that reruns have (`Drawn.ts`).
 */
import { isJsonObject } from "../../domain/Json.ts"
import type { Edge, Node, Workflow } from "../../domain/Workflow.ts"
import { parentOf } from "../../domain/Workflow.ts"
import { contentOf, textOf, wireOf } from "./Drawn.ts"

/** A node or an edge that both drawings have. */
export interface ChangedItem {
  readonly id: string
  /** What of it differs: `type`, `position`, `data.mode`, `data.inputs.url`. */
  readonly keys: ReadonlyArray<string>
  /** False if it only looks otherwise. */
  readonly affectsRuns: boolean
}

/** Nodes, or edges, of two drawings. */
export interface ItemDifference {
  readonly added: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
  readonly changed: ReadonlyArray<ChangedItem>
}

/** What of a workflow can differ. */
export type DrawnContent = Pick<
  Workflow,
  "name" | "description" | "thumbnailUrl" | "nodes" | "edges" | "settings"
>

/** What makes one content of a workflow another one. */
export interface Difference {
  /** Differing properties of the workflow itself: `name`, `settings.onFailure`. */
  readonly fields: ReadonlyArray<string>
  readonly nodes: ItemDifference
  /** An edge that only comes at another place among those into a node is changed in no key. */
  readonly edges: ItemDifference
}

/** The paths at which two objects differ. Below the names in `deep`, each key has a path. */
const pathsOf = (
  left: object,
  right: object,
  deep: ReadonlyArray<string>,
  prefix = "",
): ReadonlyArray<string> => {
  const [before, after] = [left, right] as Array<Readonly<Record<string, unknown>>>
  const keys = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...keys].flatMap((key) => {
    const [one, other] = [before![key], after![key]]
    if (one === other || textOf(one) === textOf(other)) return []
    const path = `${prefix}${key}`
    const isDeep = deep.includes(path) && isJsonObject(one) && isJsonObject(other)
    return isDeep ? pathsOf(one, other, deep, `${path}.`) : [path]
  })
}

type Item = Node | Edge

const differenceOfItems = <A extends Item>(
  before: ReadonlyArray<A>,
  after: ReadonlyArray<A>,
  affectsRuns: (one: A, other: A) => boolean,
): ItemDifference => {
  const [had, has] = [before, after].map((all) => new Map(all.map((each) => [each.id, each])))
  return {
    added: after.flatMap(({ id }) => (had!.has(id) ? [] : [id])),
    removed: before.flatMap(({ id }) => (has!.has(id) ? [] : [id])),
    changed: after.flatMap((other) => {
      const one = had!.get(other.id)
      if (one === undefined) return []
      const keys = pathsOf(one, other, ["data", "data.inputs"])
      const affects = affectsRuns(one, other)
      return keys.length === 0 && !affects ? [] : [{ id: other.id, keys, affectsRuns: affects }]
    }),
  }
}

/** The edges that end at each node, in their order. */
const idsByTarget = (edges: ReadonlyArray<Edge>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const all = new Map<string, Array<string>>()
  for (const { id, target } of edges) {
    const ids = all.get(target)
    if (ids === undefined) all.set(target, [id])
    else ids.push(id)
  }
  return all
}

/** Nodes at which the same edges end, in another order. */
const reorderedTargets = (before: ReadonlyArray<Edge>, after: ReadonlyArray<Edge>) => {
  const known = idsByTarget(before)
  const reordered = new Set<string>()
  for (const [target, ids] of idsByTarget(after)) {
    const were = known.get(target) ?? []
    const isSameOrder = textOf(were) === textOf(ids)
    if (!isSameOrder && textOf(were.toSorted()) === textOf(ids.toSorted())) reordered.add(target)
  }
  return reordered
}

/** What distinguishes `after` from `before`. */
export const differenceOf = (before: DrawnContent, after: DrawnContent): Difference => {
  const { edges: edgesBefore, nodes: nodesBefore, ...fieldsBefore } = before
  const { edges: edgesAfter, nodes: nodesAfter, ...fieldsAfter } = after
  const reordered = reorderedTargets(edgesBefore, edgesAfter)
  return {
    fields: pathsOf(fieldsBefore, fieldsAfter, ["settings"]),
    nodes: differenceOfItems(
      nodesBefore,
      nodesAfter,
      (one, other) => contentOf(one) !== contentOf(other) || parentOf(one) !== parentOf(other),
    ),
    edges: differenceOfItems(
      edgesBefore,
      edgesAfter,
      (one, other) => wireOf(one) !== wireOf(other) || reordered.has(other.target),
    ),
  }
}
