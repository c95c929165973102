/**
 * Workflows as promises.
 */
import type { Transport, WireWorkflowEvent } from "../Transport.ts"
import type * as RunWire from "../RunWire.ts"
import type { EvaluateText, TextValue, ValidateWorkflow, Validation } from "../ValidationWire.ts"
import type * as Wire from "../WorkflowWire.ts"
import type { CallOptions } from "./Ask.ts"
import { checkFields, checkId, makeAsk } from "./Ask.ts"
import type { Given } from "./Given.ts"
import type { Listing, PageQuery } from "./Pages.ts"
import { makeListing } from "./Pages.ts"
import type { WorkflowVersions } from "./PromiseVersions.ts"
import { makeVersions } from "./PromiseVersions.ts"
import type { TaggedWorkflow, UpdateOptions, Workflow } from "./TaggedWorkflow.ts"
import { watch } from "./Watching.ts"

export type { TaggedWorkflow, UpdateOptions, Workflow } from "./TaggedWorkflow.ts"

/** A workflow in a listing. It has the number of nodes in place of nodes and edges. */
export type WorkflowItem = typeof Wire.WorkflowItem.Encoded

/** The content of a workflow. Only the name is required. A builder makes such a document. */
export type WorkflowDocument = Given<typeof Wire.CreateWorkflow.Encoded>

/** The fields to set of a workflow. `nodes` and `edges` replace the whole array. */
export type WorkflowChange = Given<typeof Wire.UpdateWorkflow.Encoded>

/** The node to add with `addNode` (specification 4.4). */
export type NewNode = Given<typeof Wire.AddNode.Encoded>

/** The node that `addNode` has added (specification 2.7). */
export type AddedNode = typeof Wire.AddedNode.Encoded

/** What a validation lays over the workflow, as a start would, and a draft to judge instead. */
export type WorkflowOverlay = Given<typeof ValidateWorkflow.Encoded>

/** The problems that a start would report, and what is known of each node. */
export type WorkflowValidation = typeof Validation.Encoded

/** A text with expressions, and the run and node at which it is computed. */
export type TextToEvaluate = Given<typeof EvaluateText.Encoded>

/** What it gives, or why it gives nothing. */
export type EvaluatedText = typeof TextValue.Encoded

/**
 * An item of a watched workflow. `presence`: who has it open. `revision`: what is stored, and which
 * session has saved it, if that is known.
 */
export type WorkflowEvent = WireWorkflowEvent

/** Which workflows to list, and what of each. */
export interface WorkflowQuery extends PageQuery {
  /** A part of the name, in any case. */
  readonly search?: string
  /** With the last run, and the number of runs and of failures of seven days. */
  readonly activity?: boolean
  /** With the places of the nodes and the edges, for a small picture. */
  readonly view?: "outline"
}

/** A signal to the run of a workflow that waits for this correlation. */
export type CorrelatedSignal = Given<typeof RunWire.SendWorkflowSignal.Encoded>

/** A signal that was sent, and the run that has it; `null` while it is kept. */
export type SentWorkflowSignal = typeof RunWire.SentWorkflowSignal.Encoded

/** How to send a signal to a workflow. */
export interface WorkflowSignalOptions extends CallOptions {
  /** A key for this signal. Sending to the workflow with it again sends nothing, for seven days. */
  readonly idempotencyKey?: string
}

/** The workflows of the account. An unknown id rejects with `WORKFLOW_NOT_FOUND`. */
export interface Workflows extends WorkflowVersions {
  /** Newest first. */
  list(query?: WorkflowQuery, options?: CallOptions): Listing<WorkflowItem>
  /** Stores a new workflow, also a draft. Rejects with `INVALID_GRAPH` if it cannot be a graph. */
  create(document: WorkflowDocument, options?: CallOptions): Promise<Workflow>
  get(id: string, options?: CallOptions): Promise<Workflow>
  /** As {@link get}, with the revision. */
  getTagged(id: string, options?: CallOptions): Promise<TaggedWorkflow>
  /** Sets the given fields. Rejects with `REVISION_MISMATCH` if `ifMatch` is outdated. */
  update(id: string, change: WorkflowChange, options?: UpdateOptions): Promise<Workflow>
  /** As {@link update}, with the new revision, for the next change. */
  updateTagged(id: string, change: WorkflowChange, options?: UpdateOptions): Promise<TaggedWorkflow>
  /** Deletes a workflow. Its runs stay and continue. */
  remove(id: string, options?: CallOptions): Promise<void>
  /** A new workflow with the same content, called `<name> (copy)`. */
  duplicate(id: string, options?: CallOptions): Promise<Workflow>
  /** Adds one node, placed by `position`, or by `column` and `row`, or after the last column. */
  addNode(id: string, node: NewNode, options?: CallOptions): Promise<AddedNode>
  /** Reports the problems that a start would report, and starts nothing. */
  validate(
    id: string,
    overlay?: WorkflowOverlay,
    options?: CallOptions,
  ): Promise<WorkflowValidation>
  /** Computes a text with expressions against a run of the workflow. Stores nothing. */
  evaluate(id: string, text: TextToEvaluate, options?: CallOptions): Promise<EvaluatedText>
  /**
   * Sends a signal to the run that waits for it: to the one of whose nodes `wait_signal` one has
   * waited longest for this name and correlation, or else to the first that begins to, within seven
   * days. Rejects with `SIGNALS_FULL` if the workflow has 1,000 signals for which no run waits.
   */
  signal(
    id: string,
    name: string,
    signal: CorrelatedSignal,
    options?: WorkflowSignalOptions,
  ): Promise<SentWorkflowSignal>
  /**
   * Who has the workflow open, and its revision; both at first and whenever they change. A session
   * that reads this is present. Goes on until the reader stops.
   */
  live(id: string, options?: CallOptions): AsyncIterable<WorkflowEvent>
}

/** The workflows that a transport reaches. */
export const makeWorkflows = (transport: Transport): Workflows => {
  const ask = makeAsk(transport)
  const list = makeListing<WorkflowItem, WorkflowQuery>(
    ask,
    "workflows.list",
    ["search"],
    ["activity", "view"],
  )
  const read = async (id: string, options?: CallOptions): Promise<TaggedWorkflow> => {
    const { body, etag = "" } = await ask("workflows.get", { id, options })
    return { workflow: body as Workflow, etag }
  }
  const update = async (
    id: string,
    body: WorkflowChange,
    options?: UpdateOptions,
  ): Promise<TaggedWorkflow> => {
    const headers = { "if-match": options?.ifMatch }
    const parts = { id, body, headers, options, known: ["ifMatch"] }
    const { body: stored, etag = "" } = await ask("workflows.update", parts)
    return { workflow: stored as Workflow, etag }
  }
  return {
    ...makeVersions(transport),
    list: (query = {}, options) => list(query, options),
    create: async (body, options) =>
      (await ask("workflows.create", { body, options })).body as Workflow,
    get: async (id, options) => (await read(id, options)).workflow,
    getTagged: read,
    update: async (id, change, options) => (await update(id, change, options)).workflow,
    updateTagged: update,
    remove: async (id, options) => void (await ask("workflows.remove", { id, options })),
    duplicate: async (id, options) =>
      (await ask("workflows.duplicate", { id, options })).body as Workflow,
    addNode: async (id, body, options) =>
      (await ask("workflows.addNode", { id, body, options })).body as AddedNode,
    validate: async (id, body = {}, options) =>
      (await ask("workflows.validate", { id, body, options })).body as WorkflowValidation,
    evaluate: async (id, body, options) =>
      (await ask("workflows.evaluate", { id, body, options })).body as EvaluatedText,
    signal: async (id, name, body, options) => {
      const headers = { "idempotency-key": options?.idempotencyKey }
      const parts = { id, name, body, headers, options, known: ["idempotencyKey"] }
      return (await ask("workflows.signal", parts)).body as SentWorkflowSignal
    },
    live: async function* (id, options = {}) {
      checkId(id)
      checkFields("options", options, ["signal"])
      const { signal } = options
      yield* watch(() => transport.liveWorkflow(id, signal), signal)
    },
  }
}
