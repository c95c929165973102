/**
 * Two people have changed one document: what comes of both.
 *
 * Guarantees: pure. Whatever only one of them has changed stays, down to the single input of a
 * node. Whatever both have changed otherwise, or one changed and the other removed, is a conflict,
 * and a choice decides it; without one, it is as I have it. Nodes that both added under one id are
 * two nodes: mine gets another id. The result is never a cycle, and has no edge without its nodes;
 * a node that one has put into a loop stays where it is when the other has removed the loop.
 * Leaves out: the order of nodes and edges, which is theirs.
 */
import { labelOf } from "./internal/ChangedField.ts"
import { closesCycle, wayBetween } from "./internal/Cycle.ts"
import type { DocumentEdge, DocumentNode, WorkflowDocument } from "./Document.ts"
import { isRecord, isSame, own, withoutLooseEdges } from "./Document.ts"
import { hasCycle } from "./DocumentCheck.ts"
import type { RenamedElements } from "./ElementId.ts"
import { freeName, renamedDocument } from "./ElementId.ts"
import { withoutLooseParents } from "./internal/Parents.ts"

/** What one of the two has to say. */
export type MergeChoice = "mine" | "theirs"

/** Choices by the ids of conflicts. */
export type MergeChoices = Readonly<Record<string, MergeChoice | undefined>>

/** Something on which two people do not agree. */
export interface MergeConflict {
  /** The same for the same disagreement, each time that it is looked for. */
  readonly id: string
  readonly kind: "node" | "edge" | "document"
  /** The id of the node or the edge; empty for the document. */
  readonly elementId: string
  /** The name of the node, or the ends of the edge. */
  readonly label: string
  /** The field, such as `["data", "inputs", "url"]`; empty for the element as a whole. */
  readonly path: ReadonlyArray<string>
  /** `cycle`: each edge is right by itself, but together they run in a circle. */
  readonly reason: "changed" | "removed" | "cycle"
  /** `undefined` where it is not there. */
  readonly base: unknown
  readonly mine: unknown
  readonly theirs: unknown
}

/** What comes of two documents. */
export interface Merge {
  readonly merged: WorkflowDocument
  /** The disagreements without a choice. */
  readonly conflicts: ReadonlyArray<MergeConflict>
  /** New ids of mine, where theirs has the old ones for something else. */
  readonly renamed: RenamedElements
}

/** What else decides a merge. */
export interface MergeOptions {
  readonly choices?: MergeChoices | undefined
  /**
   * What I have sent without learning whether it was stored. Where theirs is this, nobody else has
   * changed anything.
   */
  readonly sent?: WorkflowDocument | undefined
}

/** Three versions of a value, and the one that was sent. */
interface Versions<A> {
  readonly base: A | undefined
  readonly mine: A | undefined
  readonly theirs: A | undefined
  readonly sent: A | undefined
  readonly wasSent: boolean
}

/** Where a value stands. */
type Place = Pick<MergeConflict, "kind" | "elementId" | "label" | "path">

const conflictId = ({ elementId, kind, path }: Place): string =>
  JSON.stringify([kind, elementId, ...path])

/** One merge. Mutable. */
class Merging {
  readonly conflicts: Array<MergeConflict> = []
  readonly #choices: MergeChoices

  constructor(choices: MergeChoices) {
    this.#choices = choices
  }

  /** The choice for a disagreement; without one it is kept as a conflict, and mine stands. */
  choose(place: Place, reason: MergeConflict["reason"], values: ThreeValues): MergeChoice {
    const id = conflictId(place)
    const choice = Object.hasOwn(this.#choices, id) ? this.#choices[id] : undefined
    if (choice !== undefined) return choice
    this.conflicts.push({ ...place, id, reason, ...values })
    return "mine"
  }

  /** A value as a whole. */
  value(place: Place, versions: Versions<unknown>): unknown {
    const known = settled(versions)
    const { base, mine, theirs } = known
    if (isSame(mine, theirs) || isUntouched(known)) return theirs
    if (isSame(theirs, base)) return mine
    const reason = mine === undefined || theirs === undefined ? "removed" : "changed"
    return this.choose(place, reason, { base, mine, theirs }) === "mine" ? mine : theirs
  }

  /** A record, key by key. `inside` says which keys are records to go into. */
  record(place: Place, versions: Versions<unknown>, inside: Inside): unknown {
    const { base, mine, sent, theirs } = versions
    if (!isRecord(mine) || !isRecord(theirs)) return this.value(place, versions)
    const names = new Set([...Object.keys(theirs), ...Object.keys(mine)])
    const entries = [...names].flatMap((name) => {
      const part: Versions<unknown> = {
        base: partOf(base, name),
        mine: own(mine, name),
        theirs: own(theirs, name),
        sent: partOf(sent, name),
        wasSent: versions.wasSent,
      }
      const at = { ...place, path: [...place.path, name] }
      const deeper = own(inside, name) as Inside | undefined
      const value = deeper === undefined ? this.value(at, part) : this.record(at, part, deeper)
      return value === undefined ? [] : [[name, value] as const]
    })
    return Object.fromEntries(entries)
  }
}

type ThreeValues = Pick<MergeConflict, "base" | "mine" | "theirs">

/** Keys whose values are merged key by key. */
interface Inside {
  readonly [key: string]: Inside | undefined
}

const insideOfNode: Inside = { data: { inputs: {} } }

const partOf = (value: unknown, name: string): unknown =>
  isRecord(value) ? own(value, name) : undefined

/** What is theirs because I have sent it, is what both began with. */
const settled = <A>(versions: Versions<A>): Versions<A> =>
  versions.wasSent && isSame(versions.theirs, versions.sent)
    ? { ...versions, base: versions.theirs }
    : versions

/** True if I have left it alone. What I have sent and taken back since may have been stored. */
const isUntouched = ({ base, mine, sent, wasSent }: Versions<unknown>): boolean =>
  isSame(mine, base) && (!wasSent || isSame(sent, base))

type Element = DocumentNode | DocumentEdge

/** The versions of all elements by id, theirs first. */
const versionsOf = <A extends Element>(
  read: (document: WorkflowDocument) => ReadonlyArray<A>,
  { base, mine, sent, theirs }: Four,
): ReadonlyMap<string, Versions<A>> => {
  const byId = (document: WorkflowDocument | undefined) =>
    new Map((document === undefined ? [] : read(document)).map((each) => [each.id, each]))
  const [olds, mines, others, sents] = [byId(base), byId(mine), byId(theirs), byId(sent)]
  const wasSent = sent !== undefined
  return new Map(
    [...new Set([...others.keys(), ...mines.keys(), ...olds.keys()])].map((id) => [
      id,
      settled({
        base: olds.get(id),
        mine: mines.get(id),
        theirs: others.get(id),
        // Somebody else may have changed what I had added: that is what both began with, then.
        sent: sents.get(id),
        wasSent,
      }),
    ]),
  )
}

/** The documents of a merge. */
interface Four {
  readonly base: WorkflowDocument
  readonly mine: WorkflowDocument
  readonly theirs: WorkflowDocument
  readonly sent: WorkflowDocument | undefined
}

/** The nodes that one side has joined otherwise: the ends of edges that it added or changed. */
const joinedBy = (
  edges: ReadonlyMap<string, Versions<DocumentEdge>>,
  side: "mine" | "theirs",
): ReadonlySet<string> => {
  const joined = new Set<string>()
  for (const versions of edges.values()) {
    const edge = versions[side]
    if (edge === undefined || isSame(edge, versions.base)) continue
    joined.add(edge.source).add(edge.target)
    if (versions.base !== undefined) joined.add(versions.base.source).add(versions.base.target)
  }
  return joined
}

const isGone = <A>(versions: Versions<A>, side: "mine" | "theirs"): boolean =>
  versions[side] === undefined && versions.base !== undefined

/** Nodes after both have changed them, and those that a choice has brought back. */
const mergedNodes = (
  merging: Merging,
  four: Four,
  edges: ReadonlyMap<string, Versions<DocumentEdge>>,
) => {
  const joined = { mine: joinedBy(edges, "mine"), theirs: joinedBy(edges, "theirs") }
  const nodes = versionsOf(({ nodes: all }) => all, four)
  const kept = new Set<string>()
  const result = [...nodes].flatMap(([id, versions]): ReadonlyArray<DocumentNode> => {
    const { base, mine, theirs } = versions
    const left = mine ?? theirs
    if (left === undefined) return []
    const place: Place = { kind: "node", elementId: id, label: labelOf(left), path: [] }
    // The same object where nothing has to be merged, so that comparing with theirs is quick.
    if (theirs !== undefined && (isSame(mine, theirs) || isUntouched(versions))) return [theirs]
    if (mine !== undefined && isSame(theirs, base)) return [mine]
    if (mine !== undefined && theirs !== undefined)
      return [merging.record(place, versions, insideOfNode) as DocumentNode]
    const remover = isGone(versions, "mine") ? "mine" : isGone(versions, "theirs") ? "theirs" : ""
    if (remover === "") return [left]
    const keeper = remover === "mine" ? "theirs" : "mine"
    if (isSame(left, base) && !joined[keeper].has(id)) return []
    if (merging.choose(place, "removed", { base, mine, theirs }) === remover) return []
    kept.add(id)
    return [left]
  })
  return { nodes: result, kept, isGone: (id: string) => isNodeGone(nodes, id) }
}

const isNodeGone = (nodes: ReadonlyMap<string, Versions<DocumentNode>>, id: string): boolean => {
  const versions = nodes.get(id)
  return versions !== undefined && (isGone(versions, "mine") || isGone(versions, "theirs"))
}

const placeOfEdge = ({ id, source, target }: DocumentEdge): Place => ({
  kind: "edge",
  elementId: id,
  label: `${source} - ${target}`,
  path: [],
})

const mergedEdges = (
  merging: Merging,
  edges: ReadonlyMap<string, Versions<DocumentEdge>>,
  nodes: { readonly kept: ReadonlySet<string>; readonly isGone: (id: string) => boolean },
): ReadonlyArray<DocumentEdge> =>
  [...edges.values()].flatMap((versions): ReadonlyArray<DocumentEdge> => {
    const { base, mine, theirs } = versions
    const left = mine ?? theirs
    if (left === undefined) return []
    const isRemoved = mine === undefined || theirs === undefined
    const ends = [left, ...(base === undefined ? [] : [base])].flatMap((edge) => [
      edge.source,
      edge.target,
    ])
    // It went along with a node; what was chosen for the node decides.
    if (isRemoved && base !== undefined && ends.some(nodes.isGone))
      return ends.some((end) => nodes.kept.has(end)) || !isSame(left, base) ? [left] : []
    const edge = merging.value(placeOfEdge(left), versions) as DocumentEdge | undefined
    return edge === undefined ? [] : [edge]
  })

/** Without the edges that close a cycle with those of the other side. */
const withoutCycles = (
  merging: Merging,
  document: WorkflowDocument,
  { mine, theirs }: Four,
): WorkflowDocument => {
  if (!hasCycle(document)) return document
  const [mines, others] = [edgesById(mine), edgesById(theirs)]
  const isOf = (known: ReadonlyMap<string, DocumentEdge>, edge: DocumentEdge) =>
    isSame(edge, known.get(edge.id))
  const added = document.edges.filter((edge) => !isOf(others, edge))
  let edges = document.edges.filter((edge) => isOf(others, edge))
  for (const edge of added) {
    let way = wayBetween(edges, edge.target, edge.source)
    if (way !== undefined) {
      const place: Place = { ...placeOfEdge(edge), path: ["cycle"] }
      const values = {
        base: undefined,
        mine: edge,
        theirs: way.filter((each) => !isOf(mines, each)),
      }
      if (merging.choose(place, "cycle", values) === "theirs") {
        const other = others.get(edge.id)
        if (other !== undefined && !closesCycle(edges, other)) edges = [...edges, other]
        continue
      }
    }
    for (; way !== undefined; way = wayBetween(edges, edge.target, edge.source)) {
      const loser = way.find((each) => !isOf(mines, each)) ?? way[0]
      if (loser === undefined) break
      edges = edges.filter((each) => each !== loser)
    }
    if (way === undefined) edges = [...edges, edge]
  }
  const left = new Set(edges)
  const inOrder = document.edges.filter((edge) => left.delete(edge))
  return { ...document, edges: [...inOrder, ...left] }
}

const edgesById = ({ edges }: WorkflowDocument): ReadonlyMap<string, DocumentEdge> =>
  new Map(edges.map((edge) => [edge.id, edge]))

/** My document with other ids for what theirs has, too, though it is something else. */
const withOwnIds = ({ base, mine, sent, theirs }: Four) => {
  const known = new Set([...base.nodes, ...(sent?.nodes ?? [])].map(({ id }) => id))
  const others = new Map(theirs.nodes.map((node) => [node.id, node]))
  const taken = new Set([...known, ...others.keys(), ...mine.nodes.map(({ id }) => id)])
  const renamed = new Map<string, string>()
  for (const node of mine.nodes) {
    const other = others.get(node.id)
    if (known.has(node.id) || other === undefined || isSame(node, other)) continue
    const id = freeName(node.id, taken)
    taken.add(id)
    renamed.set(node.id, id)
  }
  const again = renamedDocument(mine, renamed)
  const knownEdges = new Set([...base.edges, ...(sent?.edges ?? [])].map(({ id }) => id))
  const otherEdges = new Map(theirs.edges.map((edge) => [edge.id, edge]))
  const takenEdges = new Set([
    ...knownEdges,
    ...otherEdges.keys(),
    ...again.edges.map(({ id }) => id),
  ])
  const renamedEdges = new Map<string, string>()
  const edges = again.edges.map((edge) => {
    const other = otherEdges.get(edge.id)
    if (knownEdges.has(edge.id) || other === undefined || isSame(edge, other)) return edge
    const id = freeName(edge.id, takenEdges)
    takenEdges.add(id)
    renamedEdges.set(edge.id, id)
    return { ...edge, id }
  })
  return { mine: { ...again, edges }, renamed: { nodes: renamed, edges: renamedEdges } }
}

/** What I have, where what I have sent is what theirs began with. */
const mergedFields = (merging: Merging, { base, mine, sent, theirs }: Four) => {
  const wasSent = sent !== undefined
  const place = (name: string): Place => ({
    kind: "document",
    elementId: "",
    label: "",
    path: [name],
  })
  const versions = (name: "name" | "description" | "settings"): Versions<unknown> => ({
    base: base[name],
    mine: mine[name],
    theirs: theirs[name],
    sent: sent?.[name],
    wasSent,
  })
  return {
    name: merging.value(place("name"), versions("name")) as string,
    description: merging.value(place("description"), versions("description")) as string | null,
    settings: merging.record(
      place("settings"),
      versions("settings"),
      {},
    ) as WorkflowDocument["settings"],
  }
}

/**
 * Merges two documents that began as one. With a choice for each conflict there is none left,
 * unless a choice leads to another one: ask again until there is none.
 */
export const mergeDocuments = (
  base: WorkflowDocument,
  mine: WorkflowDocument,
  theirs: WorkflowDocument,
  { choices = {}, sent }: MergeOptions = {},
): Merge => {
  const fresh = withOwnIds({ base, mine, theirs, sent })
  const four = { base, mine: fresh.mine, theirs, sent }
  const merging = new Merging(choices)
  const fields = mergedFields(merging, four)
  const edges = versionsOf(({ edges: all }) => all, four)
  const nodes = mergedNodes(merging, four, edges)
  const both = { ...fields, nodes: nodes.nodes, edges: mergedEdges(merging, edges, nodes) }
  const sound = withoutLooseParents(withoutLooseEdges(both), base)
  const merged = withoutCycles(merging, sound, four)
  return { merged, conflicts: merging.conflicts, renamed: fresh.renamed }
}
