/**
 * What one step of editing changes: of each element what it was and what it is.
 *
 * Guarantees: `applied(before, difference(before, after))` is `after`, and applying the inverse to
 * that is `before`, whatever the two hold. A change names fields, so applied to a document that
 * somebody else has changed besides, it leaves their fields alone. Pure.
 */
import type { DocumentEdge, DocumentNode, WorkflowDocument } from "./Document.ts"
import { isRecord, isSame, own, withoutLooseEdges } from "./Document.ts"
import { hasCycle } from "./DocumentCheck.ts"
import { closesCycle } from "./internal/Cycle.ts"
import { withoutLooseParents } from "./internal/Parents.ts"

/** An element and its place in the array. */
export interface PlacedElement<A> {
  readonly value: A
  readonly at: number
}

/** An element before and after; `undefined` where it is not there. */
export interface ElementChange<A> {
  readonly id: string
  readonly before: PlacedElement<A> | undefined
  readonly after: PlacedElement<A> | undefined
}

/** A field of the document beside nodes and edges. */
export interface FieldChange {
  readonly name: "name" | "description" | "settings"
  readonly before: unknown
  readonly after: unknown
}

/** What has changed. Plain JSON. */
export interface Change {
  readonly nodes: ReadonlyArray<ElementChange<DocumentNode>>
  readonly edges: ReadonlyArray<ElementChange<DocumentEdge>>
  readonly fields: ReadonlyArray<FieldChange>
}

/** Nothing. */
export const emptyChange: Change = { nodes: [], edges: [], fields: [] }

/** True for a change that changes nothing. */
export const isEmpty = ({ edges, fields, nodes }: Change): boolean =>
  nodes.length === 0 && edges.length === 0 && fields.length === 0

type Element = DocumentNode | DocumentEdge

const placed = <A extends Element>(all: ReadonlyArray<A>) =>
  new Map(all.map((value, at) => [value.id, { value, at }]))

/** An element whose place among the others changes is removed and added. */
const differenceOf = <A extends Element>(
  before: ReadonlyArray<A>,
  after: ReadonlyArray<A>,
): ReadonlyArray<ElementChange<A>> => {
  if (before === after) return []
  const [old, now] = [placed(before), placed(after)]
  const stayed = before.filter(({ id }) => now.has(id)).map(({ id }) => id)
  const order = after.filter(({ id }) => old.has(id)).map(({ id }) => id)
  const isOrdered = stayed.every((id, at) => id === order[at])
  const gone = before.flatMap(({ id }) =>
    isOrdered && now.has(id) ? [] : [{ id, before: old.get(id), after: undefined }],
  )
  const came = after.flatMap(({ id }) =>
    isOrdered && old.has(id) ? [] : [{ id, before: undefined, after: now.get(id) }],
  )
  const mended = isOrdered
    ? stayed.flatMap((id) => {
        const [was, is] = [old.get(id)!, now.get(id)!]
        return isSame(was.value, is.value) ? [] : [{ id, before: was, after: is }]
      })
    : []
  return [...gone, ...mended, ...came]
}

const fieldNames = ["name", "description", "settings"] as const

/** What makes the second document of the first one. */
export const difference = (before: WorkflowDocument, after: WorkflowDocument): Change => ({
  nodes: differenceOf(before.nodes, after.nodes),
  edges: differenceOf(before.edges, after.edges),
  fields: fieldNames.flatMap((name) =>
    isSame(before[name], after[name]) ? [] : [{ name, before: before[name], after: after[name] }],
  ),
})

/**
 * `current` with the change from `before` to `after`, field by field. Fields that did not change
 * keep their value; of the others `after` wins.
 */
const patched = (current: unknown, before: unknown, after: unknown): unknown => {
  if (current === before || !isRecord(current) || !isRecord(before) || !isRecord(after))
    return after
  const result = new Map<string, unknown>(Object.entries(current))
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [own(before, name), own(after, name)]
    if (isSame(was, is)) continue
    if (is === undefined) result.delete(name)
    else result.set(name, patched(own(current, name), was, is))
  }
  return Object.fromEntries(result)
}

const withElements = <A extends Element>(
  all: ReadonlyArray<A>,
  changes: ReadonlyArray<ElementChange<A>>,
): ReadonlyArray<A> => {
  if (changes.length === 0) return all
  const gone = new Set(changes.flatMap(({ after, id }) => (after === undefined ? [id] : [])))
  const mended = new Map(
    changes.flatMap(({ after, before, id }) =>
      after === undefined || before === undefined ? [] : [[id, { before, after }]],
    ),
  )
  const kept = all
    .filter(({ id }) => !gone.has(id))
    .map((each) => {
      const change = mended.get(each.id)
      return change === undefined
        ? each
        : (patched(each, change.before.value, change.after.value) as A)
    })
  const known = new Set(kept.map(({ id }) => id))
  const came = changes
    .flatMap(({ after, before, id }) =>
      before === undefined && after !== undefined && !known.has(id) ? [after] : [],
    )
    .toSorted((left, right) => left.at - right.at)
  return inserted(kept, came)
}

/** In time linear in both; `came` is sorted by place. */
const inserted = <A>(
  kept: ReadonlyArray<A>,
  came: ReadonlyArray<PlacedElement<A>>,
): ReadonlyArray<A> => {
  const result: Array<A> = []
  let next = 0
  for (const { at, value } of came) {
    while (result.length < at && next < kept.length) result.push(kept[next++]!)
    result.push(value)
  }
  return [...result, ...kept.slice(next)]
}

/** Without what a change does to edges that close a cycle with those of somebody else. */
const withoutCycles = (
  document: WorkflowDocument,
  next: WorkflowDocument,
  change: Change,
): WorkflowDocument => {
  if (change.edges.length === 0 || !hasCycle(next) || hasCycle(document)) return next
  const changed = new Set(change.edges.map(({ id }) => id))
  const known = new Map(document.edges.map((edge) => [edge.id, edge]))
  let sound = next.edges.filter(({ id }) => !changed.has(id))
  const edges = next.edges.flatMap((edge) => {
    if (!changed.has(edge.id)) return [edge]
    const possible = [edge, known.get(edge.id)].find(
      (each) => each !== undefined && !closesCycle(sound, each),
    )
    if (possible === undefined) return []
    sound = [...sound, possible]
    return [possible]
  })
  return { ...next, edges }
}

/**
 * The document after a change. Edges whose nodes somebody else has removed meanwhile go along, and
 * so do those that would close a cycle now; nodes whose parent is gone lie in what was around it.
 * What is gone altogether is not changed.
 */
export const applied = (document: WorkflowDocument, change: Change): WorkflowDocument => {
  if (isEmpty(change)) return document
  const fields = Object.fromEntries(
    change.fields.map(({ after, before, name }) => [name, patched(document[name], before, after)]),
  )
  const next: WorkflowDocument = {
    ...document,
    ...fields,
    nodes: withElements(document.nodes, change.nodes),
    edges: withElements(document.edges, change.edges),
  }
  return withoutCycles(document, withoutLooseParents(withoutLooseEdges(next), document), change)
}

const swapped = <A>({ after, before, id }: ElementChange<A>): ElementChange<A> => ({
  id,
  before: after,
  after: before,
})

/** The change that takes a change back. */
export const inverse = ({ edges, fields, nodes }: Change): Change => ({
  nodes: nodes.map(swapped),
  edges: edges.map(swapped),
  fields: fields.map(({ after, before, name }) => ({ name, before: after, after: before })),
})
