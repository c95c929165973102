/**
 * The operations on workflows (specification 4.1 to 4.4, and the extensions).
 */
import { Schema } from "effect"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { versionEndpoints } from "./VersionsApi.ts"
import { described, titled } from "./Words.ts"
import { pageOf, WorkflowQuery } from "../PageQuery.ts"
import { WorkflowEvent } from "../PresenceWire.ts"
import { SendWorkflowSignal, SentWorkflowSignal } from "../RunWire.ts"
import { IdParams, SignalKeyText, SignalParams } from "../Text.ts"
import { EvaluateText, TextValue, ValidateWorkflow, Validation } from "../ValidationWire.ts"
import {
  BadRequest,
  bodyErrors,
  Conflict,
  NotFound,
  PayloadTooLarge,
  PreconditionFailed,
  UnsupportedMediaType,
} from "../WireError.ts"
import {
  AddedNode,
  AddNode,
  CreateWorkflow,
  UpdateWorkflow,
  Workflow,
  WorkflowItem,
} from "../WorkflowWire.ts"

const list = described(
  "List workflows",
  "Newest first, without nodes and edges. `search` is a part of the name in any case. `activity` " +
    "and `view` add to the items; a cursor does not keep them.",
  HttpApiEndpoint.get("list", "/", { query: WorkflowQuery, success: pageOf(WorkflowItem) }),
)

const create = described(
  "Create a workflow",
  "Accepts drafts: unknown node types and missing inputs are found when a run is started. " +
    "The answer has a `Location` and an `ETag`.",
  HttpApiEndpoint.post("create", "/", {
    payload: CreateWorkflow,
    success: Workflow.pipe(HttpApiSchema.status(201)),
    error: bodyErrors,
  }),
)

const get = described(
  "Read a workflow",
  "The answer's `ETag` is the revision; give it as `If-Match` with a change.",
  HttpApiEndpoint.get("get", "/:id", { params: IdParams, success: Workflow, error: NotFound }),
)

const update = described(
  "Change a workflow",
  "Sets the fields that are given; `nodes` and `edges` replace the whole array. An empty " +
    "body changes nothing. Without `If-Match` the last write wins. Changes of one workflow at " +
    "once are made in turn; 409 if there are too many.",
  HttpApiEndpoint.patch("update", "/:id", {
    params: IdParams,
    headers: Schema.Struct({
      "if-match": Schema.optionalKey(
        Schema.String.annotate({ description: "The `ETag` that the change is based on." }),
      ),
    }),
    payload: UpdateWorkflow,
    success: Workflow,
    error: [
      BadRequest,
      NotFound,
      Conflict,
      PreconditionFailed,
      PayloadTooLarge,
      UnsupportedMediaType,
    ],
  }),
)

const remove = described(
  "Delete a workflow",
  "Its runs stay and go on.",
  HttpApiEndpoint.delete("remove", "/:id", {
    params: IdParams,
    success: HttpApiSchema.NoContent,
    error: NotFound,
  }),
)

const duplicate = described(
  "Duplicate a workflow",
  "The same content under a new id; ` (copy)` is added to the name.",
  HttpApiEndpoint.post("duplicate", "/:id/duplicate", {
    params: IdParams,
    success: Workflow.pipe(HttpApiSchema.status(201)),
    error: NotFound,
  }),
)

const addNode = described(
  "Add a node",
  "Places the node by `position`, or by `column` and `row`, or one column right of the last.",
  HttpApiEndpoint.post("addNode", "/:id/nodes", {
    params: IdParams,
    payload: AddNode,
    success: AddedNode.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const validate = described(
  "Validate a workflow",
  "What a start with this body would say, problem by problem, and what is known of each node. " +
    "With `nodes` or `edges` a draft is judged. Starts and stores nothing.",
  HttpApiEndpoint.post("validate", "/:id/validate", {
    params: IdParams,
    payload: ValidateWorkflow,
    success: Validation,
    error: [...bodyErrors, NotFound],
  }),
)

const evaluate = described(
  "Compute an expression",
  "Computes a text with expressions as if it stood at a node of a run of the workflow.",
  HttpApiEndpoint.post("evaluate", "/:id/evaluate", {
    params: IdParams,
    payload: EvaluateText,
    success: TextValue,
    error: [...bodyErrors, NotFound],
  }),
)

const signal = described(
  "Send a signal to the run that waits for it",
  "A node `wait_signal` of this name and correlation takes it, of the run of this workflow that " +
    "has waited longest, and whose filter it passes; else the first one that begins to wait, " +
    "within seven days. The answer says which run has it. Each signal goes to one run. Where a " +
    "workflow has 1,000 signals for which no run waits, the signal is refused. Under an " +
    "`Idempotency-Key` one signal is sent to the workflow within seven days, however often the " +
    "request is repeated; the first one counts.",
  HttpApiEndpoint.post("signal", "/:id/signals/:name", {
    params: SignalParams,
    headers: Schema.Struct({ "idempotency-key": Schema.optionalKey(SignalKeyText) }),
    payload: SendWorkflowSignal,
    success: SentWorkflowSignal.pipe(HttpApiSchema.status(202)),
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const live = described(
  "Watch a workflow",
  "Server-sent events for whoever has the workflow open: a `presence` with the sessions that " +
    "hold this stream, and a `revision` with the `ETag` that is stored; one of each at first, " +
    "and again whenever it changes. Presence is that of one server process: what is saved " +
    "through another one is told within ten seconds, and who is there is not. A request with an " +
    "API key is told, and is nobody who is present. The stream ends after ten minutes, when the " +
    "server stops, and when the workflow is deleted.",
  HttpApiEndpoint.get("live", "/:id/live", {
    params: IdParams,
    success: HttpApiSchema.StreamSse({ events: WorkflowEvent }),
    error: NotFound,
  }),
)

/** `/workflows`. */
export class WorkflowsApi extends HttpApiGroup.make("workflows")
  .add(list, create, get, update, remove, duplicate, addNode, validate, evaluate, signal, live)
  .add(...versionEndpoints)
  .prefix("/workflows")
  .annotateMerge(titled("Workflows", "Graphs of nodes joined by edges.")) {}
