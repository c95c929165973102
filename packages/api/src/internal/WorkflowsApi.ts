/**
 * The operations on workflows (specification 4.1 to 4.4, and the extensions).
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PageQuery, pageOf } from "../PageQuery.ts"
import { IdParams } from "../Text.ts"
import { ValidateWorkflow, Validation } from "../ValidationWire.ts"
import {
  BadRequest,
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

const list = HttpApiEndpoint.get("list", "/", {
  query: PageQuery,
  success: pageOf(WorkflowItem),
}).annotateMerge(
  OpenApi.annotations({
    summary: "List workflows",
    description:
      "Newest first, without nodes and edges. `search` is a part of the name in any case.",
  }),
)

const create = HttpApiEndpoint.post("create", "/", {
  payload: CreateWorkflow,
  success: Workflow.pipe(HttpApiSchema.status(201)),
  error: [BadRequest, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Create a workflow",
    description:
      "Accepts drafts: unknown node types and missing inputs are found when a run is started. " +
      "The answer has a `Location` and an `ETag`.",
  }),
)

const get = HttpApiEndpoint.get("get", "/:id", {
  params: IdParams,
  success: Workflow,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Read a workflow",
    description: "The answer's `ETag` is the revision; give it as `If-Match` with a change.",
  }),
)

const update = HttpApiEndpoint.patch("update", "/:id", {
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
}).annotateMerge(
  OpenApi.annotations({
    summary: "Change a workflow",
    description:
      "Sets the fields that are given; `nodes` and `edges` replace the whole array. An empty " +
      "body changes nothing. Without `If-Match` the last write wins. Changes of one workflow at " +
      "once are made in turn; 409 if there are too many.",
  }),
)

const remove = HttpApiEndpoint.delete("remove", "/:id", {
  params: IdParams,
  success: HttpApiSchema.NoContent,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Delete a workflow",
    description: "Its runs stay and go on.",
  }),
)

const duplicate = HttpApiEndpoint.post("duplicate", "/:id/duplicate", {
  params: IdParams,
  success: Workflow.pipe(HttpApiSchema.status(201)),
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Duplicate a workflow",
    description: "The same content under a new id; ` (copy)` is added to the name.",
  }),
)

const addNode = HttpApiEndpoint.post("addNode", "/:id/nodes", {
  params: IdParams,
  payload: AddNode,
  success: AddedNode.pipe(HttpApiSchema.status(201)),
  error: [BadRequest, NotFound, Conflict, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Add a node",
    description:
      "Places the node by `position`, or by `column` and `row`, or one column right of the last.",
  }),
)

const validate = HttpApiEndpoint.post("validate", "/:id/validate", {
  params: IdParams,
  payload: ValidateWorkflow,
  success: Validation,
  error: [BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Validate a workflow",
    description:
      "What a start with this body would say, problem by problem. Starts and stores nothing.",
  }),
)

/** `/workflows`. */
export class WorkflowsApi extends HttpApiGroup.make("workflows")
  .add(list, create, get, update, remove, duplicate, addNode, validate)
  .prefix("/workflows")
  .annotateMerge(
    OpenApi.annotations({
      title: "Workflows",
      description: "Graphs of nodes joined by edges.",
    }),
  ) {}
