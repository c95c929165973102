/**
 * Workflows: a named graph of nodes and edges that a user drew (specification 2.1 to 2.3).
 *
 * Guarantees: `data` of a node, and what an editor adds to nodes and edges, come back as they were
 * given; of `data` the engine reads only the keys that {@link settingsOf} names. Leaves out:
 * validating the graph; `graph/` does that.
 */
import { Option, Schema, SchemaGetter } from "effect"
import { AccountId, WorkflowId } from "./Id.ts"
import type { JsonObject } from "./Json.ts"
import { isJsonObject, Json } from "./Json.ts"
import {
  concurrencyKeyLength,
  mostConcurrency,
  thumbnailDataLength,
  thumbnailUrlLength,
  workflowDescriptionLength,
  workflowNameLength,
} from "./Limits.ts"
import { isAtMost } from "./TextLength.ts"
import { Timestamp } from "./Timestamp.ts"

/** A point on the canvas, in pixels. */
export const Position = Schema.Struct({ x: Schema.Finite, y: Schema.Finite })
export type Position = typeof Position.Type

/** What the engine knows of a node (specification 2.2). Its `data` is opaque. */
export const Node = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  position: Position,
  data: Schema.optionalKey(Json),
  /** The id of the node in which it is drawn. Anything but a text counts as absent. */
  parentId: Schema.optionalKey(Json),
})
export type Node = typeof Node.Type

/** The id of the node in which a node is drawn; `undefined` for none. */
export const parentOf = ({ parentId }: Pick<Node, "parentId">): string | undefined =>
  typeof parentId === "string" && parentId !== "" ? parentId : undefined

/**
 * What the engine knows of an edge (specification 2.3). An absent or empty handle is the type's
 * default port.
 */
export const Edge = Schema.Struct({
  id: Schema.String,
  source: Schema.String,
  target: Schema.String,
  sourceHandle: Schema.optionalKey(Schema.String),
  targetHandle: Schema.optionalKey(Schema.String),
})
export type Edge = typeof Edge.Type

/** The fields that an editor adds to those of a node or an edge, such as `width` or `label`. */
const added = (known: object) =>
  Schema.Record(
    Schema.String.check(
      Schema.makeFilter((name) => !Object.hasOwn(known, name) && name !== "__proto__"),
    ),
    Json,
  )

/** A node as drawn: what an editor has added comes back as it was given. */
export const DrawnNode = Schema.StructWithRest(Node, [added(Node.fields)]).annotate({
  identifier: "Node",
})
export interface DrawnNode extends Schema.Schema.Type<typeof DrawnNode> {}

/** An edge as it is stored, with what an editor has added. */
export const StoredEdge = Schema.StructWithRest(Edge, [added(Edge.fields)]).annotate({
  identifier: "Edge",
})
export interface StoredEdge extends Schema.Schema.Type<typeof StoredEdge> {}

/** A handle as editors save it: `null` is none. */
const DrawnHandle = Schema.optionalKey(Schema.NullOr(Schema.String)).pipe(
  Schema.decodeTo(Schema.optionalKey(Schema.String), {
    decode: SchemaGetter.transformOptional((handle: Option.Option<string | null>) =>
      Option.filter(handle, (each) => each !== null),
    ),
    encode: SchemaGetter.passthroughSupertype(),
  }),
)

/** A {@link StoredEdge} as editors save it: a handle that is `null` is read as an absent one. */
export const DrawnEdge = Schema.StructWithRest(
  Schema.Struct({ ...Edge.fields, sourceHandle: DrawnHandle, targetHandle: DrawnHandle }),
  [added(Edge.fields)],
).annotate({ identifier: "DrawnEdge" })

/** What an editor has added to a node or an edge; `undefined` if that is nothing. */
export const addedTo = (drawn: Node | Edge, known: object): JsonObject | undefined => {
  const entries = Object.entries(drawn).filter(([name]) => !Object.hasOwn(known, name))
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** The same nodes or edges, without what an editor has added. */
const bare = <A extends Node | Edge>(all: ReadonlyArray<A>, known: object): ReadonlyArray<A> =>
  all.every((each) => addedTo(each, known) === undefined)
    ? all
    : all.map((each) => {
        const entries = Object.entries(each).filter(([name]) => Object.hasOwn(known, name))
        return Object.fromEntries(entries) as unknown as A
      })

/** What a run knows of nodes. */
export const bareNodes = (nodes: ReadonlyArray<Node>): ReadonlyArray<Node> =>
  bare(nodes, Node.fields)

/** What a run knows of edges. */
export const bareEdges = (edges: ReadonlyArray<Edge>): ReadonlyArray<Edge> =>
  bare(edges, Edge.fields)

/** A workflow's name: 1 to 120 characters (code points). */
export const WorkflowName = Schema.String.check(Schema.isMinLength(1), isAtMost(workflowNameLength))

/** A workflow's description: at most 5,000 characters (code points), or `null`. */
export const WorkflowDescription = Schema.NullOr(
  Schema.String.check(isAtMost(workflowDescriptionLength)),
)

/** The beginning of a `data:` URL of a picture. SVG is refused, because it can contain scripts. */
const pictureHead = /^data:image\/(?:png|jpeg|webp);base64,/i
const base64 = /^(?:[a-z\d+/]{4})*(?:[a-z\d+/]{2}==|[a-z\d+/]{3}=)?$/i

const isPictureData = (text: string): boolean => {
  const head = pictureHead.exec(text)?.[0]
  return head !== undefined && base64.test(text.slice(head.length))
}

const isPicture = (text: string): boolean => {
  if (/^data:/i.test(text)) return text.length <= thumbnailDataLength && isPictureData(text)
  return text.length <= thumbnailUrlLength && /^https?:/i.test(text) && URL.canParse(text)
}

/**
 * The address of a picture, or `null`: http or https, at most 2,048 characters, never fetched; or
 * the picture itself as `data:image/png;base64,...` (or `jpeg`, `webp`), at most 32,768 characters.
 */
export const ThumbnailUrl = Schema.NullOr(
  Schema.String.annotate({
    description:
      `An http(s) URL of at most ${thumbnailUrlLength} characters, or a PNG, JPEG or WebP ` +
      `picture as a base64 data: URL of at most ${thumbnailDataLength}.`,
  }).check(
    isAtMost(thumbnailDataLength),
    Schema.makeFilter(isPicture, {
      expected:
        `an http(s) URL of at most ${thumbnailUrlLength} characters, or data:image/png, jpeg or ` +
        `webp;base64 of at most ${thumbnailDataLength}`,
      format: "uri",
    }),
  ),
)

/** What makes a concurrency key: a text, with `{{ values.name }}` for what a run is given. */
export const ConcurrencyKey = Schema.String.check(
  Schema.isMinLength(1),
  isAtMost(concurrencyKeyLength),
)

/**
 * The settings of all runs of a workflow. `onFailure` says what happens to the other nodes when one
 * has failed: they go on (`continue`, the default), no further node is started (`stop`), or nodes
 * in progress are interrupted as well (`abort`). `timeoutMillis` is how long a run may take from
 * its start before it fails; absent: no bound. Of the runs with the same `concurrencyKey`, as many
 * as `concurrency` are at work at once, 1 by default; the others wait in order.
 */
export const WorkflowSettings = Schema.Struct({
  onFailure: Schema.optionalKey(Schema.Literals(["continue", "stop", "abort"])),
  timeoutMillis: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  concurrencyKey: Schema.optionalKey(ConcurrencyKey),
  concurrency: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostConcurrency })),
  ),
}).annotate({ identifier: "WorkflowSettings", closed: true })
export type WorkflowSettings = typeof WorkflowSettings.Type

/**
 * A stored workflow. `revision` rises by one whenever the stored content changes. Only a published
 * version of a workflow has a `version`, its number: then the content is that of the revision.
 */
export const Workflow = Schema.Struct({
  id: WorkflowId,
  accountId: AccountId,
  name: WorkflowName,
  description: WorkflowDescription,
  thumbnailUrl: ThumbnailUrl,
  nodes: Schema.Array(DrawnNode),
  edges: Schema.Array(StoredEdge),
  settings: WorkflowSettings,
  revision: Schema.Int,
  version: Schema.optionalKey(Schema.Int),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}).annotate({ identifier: "StoredWorkflow" })
// An interface has a name in the declarations of whatever mentions it.
export interface Workflow extends Schema.Schema.Type<typeof Workflow> {}

/** A workflow in a listing: the number of its nodes in place of nodes and edges. */
export interface WorkflowSummary extends Omit<Workflow, "nodes" | "edges" | "settings"> {
  readonly nodeCount: number
}

/** The content of a workflow that a client may set. */
export interface WorkflowContent {
  readonly name: string
  readonly description: string | null
  readonly thumbnailUrl: string | null
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
  /** Absent for all defaults. */
  readonly settings?: WorkflowSettings | undefined
}

/** The keys of a node's `data` that the engine reads; everything else there is the client's. */
export const dataKeys = [
  "inputs",
  "mode",
  "version",
  "label",
  "disabled",
  "retry",
  "timeout",
  "onError",
  "default",
] as const

/** What the engine reads of a node's `data`, but for its policy. */
export interface NodeSettings {
  /** Literal values by input port. */
  readonly inputs: JsonObject
  /** The mode, if the node's type has modes. */
  readonly mode: string | undefined
  /** The version of the type for which the node was drawn. */
  readonly version: number | undefined
  /** The name a user gave to the node. */
  readonly label: string | undefined
  /** True if the node must not execute. */
  readonly disabled: boolean
}

const noInputs: JsonObject = {}

/** Reads a node's settings from its opaque `data`. A key of the wrong type counts as absent. */
export const settingsOf = (node: Node): NodeSettings => {
  const data = isJsonObject(node.data) ? node.data : noInputs
  return {
    inputs: isJsonObject(data["inputs"]) ? data["inputs"] : noInputs,
    mode: typeof data["mode"] === "string" ? data["mode"] : undefined,
    version: typeof data["version"] === "number" ? data["version"] : undefined,
    label: typeof data["label"] === "string" ? data["label"] : undefined,
    disabled: data["disabled"] === true,
  }
}
