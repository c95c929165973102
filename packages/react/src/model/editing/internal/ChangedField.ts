/**
 * A change as somebody reads it: field by field.
 *
 * Guarantees: pure; each field once, in the order of the document. Leaves out: words.
 */
import type { Change, ElementChange } from "../Change.ts"
import type { DocumentEdge, DocumentNode } from "../Document.ts"
import { dataOf, isRecord, isSame, own } from "../Document.ts"

/** A field with what it was and what it is; `undefined` where it is not there. */
export interface ChangedField {
  /** Such as `["data", "inputs", "url"]`. */
  readonly path: ReadonlyArray<string>
  readonly before: unknown
  readonly after: unknown
}

/** An element that was added, removed or changed. */
export interface ChangedElement {
  readonly kind: "node" | "edge" | "document"
  readonly id: string
  readonly how: "added" | "removed" | "changed"
  /** The name of a node. */
  readonly label: string
  readonly source: string
  readonly target: string
  /** Of what was changed; empty for what was added or removed. */
  readonly fields: ReadonlyArray<ChangedField>
}

const levelsShown = 3

const fieldsBetween = (
  before: unknown,
  after: unknown,
  path: ReadonlyArray<string>,
): ReadonlyArray<ChangedField> => {
  if (isSame(before, after)) return []
  const isLeaf = path.length >= levelsShown || path[0] === "position" || path[0] === "settings"
  if (isLeaf || !isRecord(before) || !isRecord(after)) return [{ path, before, after }]
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
    fieldsBetween(own(before, name), own(after, name), [...path, name]),
  )
}

const howOf = <A>({ after, before }: ElementChange<A>): ChangedElement["how"] =>
  before === undefined ? "added" : after === undefined ? "removed" : "changed"

/** The name of a node that its user gave, or its id. */
export const labelOf = (node: Pick<DocumentNode, "id" | "data">): string => {
  const { label } = dataOf(node)
  return typeof label === "string" && label.trim() !== "" ? label : node.id
}

const ofNode = (change: ElementChange<DocumentNode>): ChangedElement => {
  const { after, before, id } = change
  const node = (after ?? before)!.value
  const how = howOf(change)
  const fields = how === "changed" ? fieldsBetween(before!.value, after!.value, []) : []
  return { kind: "node", id, how, label: labelOf(node), source: "", target: "", fields }
}

const ofEdge = (change: ElementChange<DocumentEdge>): ChangedElement => {
  const { after, before, id } = change
  const { source, target } = (after ?? before)!.value
  const how = howOf(change)
  const fields = how === "changed" ? fieldsBetween(before!.value, after!.value, []) : []
  return { kind: "edge", id, how, label: "", source, target, fields }
}

/** What a change changes. An element that only changes its place in the order is left out. */
export const changedElements = ({
  edges,
  fields,
  nodes,
}: Change): ReadonlyArray<ChangedElement> => {
  const ofDocument = fields.flatMap(({ after, before, name }) =>
    fieldsBetween(before, after, [name]),
  )
  const document: ChangedElement = {
    kind: "document",
    id: "",
    how: "changed",
    label: "",
    source: "",
    target: "",
    fields: ofDocument,
  }
  return [
    ...(ofDocument.length === 0 ? [] : [document]),
    ...inPlace(nodes).map(ofNode),
    ...inPlace(edges).map(ofEdge),
  ]
}

/** An element that is removed and added has been moved. */
const inPlace = <A>(changes: ReadonlyArray<ElementChange<A>>): ReadonlyArray<ElementChange<A>> => {
  const added = new Map(
    changes.flatMap((change) => (change.before === undefined ? [[change.id, change]] : [])),
  )
  const removed = new Map(
    changes.flatMap((change) => (change.after === undefined ? [[change.id, change]] : [])),
  )
  return changes.flatMap((change) => {
    const { id } = change
    const [came, gone] = [added.get(id), removed.get(id)]
    if (came === undefined || gone === undefined) return [change]
    const isMoved = isSame(came.after?.value, gone.before?.value)
    return isMoved || change === came ? [] : [{ id, before: gone.before, after: came.after }]
  })
}
