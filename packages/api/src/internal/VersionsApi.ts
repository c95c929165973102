/**
 * The operations on published versions of workflows. They extend the specification.
 */
import { Schema } from "effect"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import { PageQuery, pageOf } from "../PageQuery.ts"
import { IdParams } from "../Text.ts"
import {
  DifferenceQuery,
  keptVersions,
  PublishWorkflow,
  Version,
  VersionDifference,
  VersionItem,
  VersionParams,
} from "../VersionWire.ts"
import { bodyErrors, Conflict, BadRequest, NotFound, PreconditionFailed } from "../WireError.ts"
import { Workflow } from "../WorkflowWire.ts"
import { described } from "./Words.ts"

const ifMatch = Schema.Struct({
  "if-match": Schema.optionalKey(
    Schema.String.annotate({ description: "The `ETag` that the workflow must have." }),
  ),
})

const publish = described(
  "Publish a workflow",
  "Makes a version of the workflow as it is stored. Starts, triggers and children take it from " +
    "now on, and changes of the workflow do not reach them, until it is published again. What a " +
    "start would refuse, but for values, is refused. A workflow that is the newest version makes " +
    `no new one, and \`note\` is ignored. ${keptVersions}`,
  HttpApiEndpoint.post("publish", "/:id/publish", {
    params: IdParams,
    headers: ifMatch,
    payload: PublishWorkflow,
    success: VersionItem,
    error: [...bodyErrors, NotFound, PreconditionFailed],
  }),
)

const unpublish = described(
  "Unpublish a workflow",
  "Starts take the workflow as it is stored again. The versions stay.",
  HttpApiEndpoint.post("unpublish", "/:id/unpublish", {
    params: IdParams,
    success: Workflow,
    error: NotFound,
  }),
)

const versions = described(
  "List versions",
  "Newest first, without their content.",
  HttpApiEndpoint.get("versions", "/:id/versions", {
    params: IdParams,
    query: PageQuery.mapFields(({ search: _, ...paging }) => paging),
    success: pageOf(VersionItem),
    error: [NotFound, BadRequest],
  }),
)

const version = described(
  "Read a version",
  "With its content.",
  HttpApiEndpoint.get("version", "/:id/versions/:version", {
    params: VersionParams,
    success: Version,
    error: NotFound,
  }),
)

const restore = described(
  "Restore a version",
  "The workflow gets the content of the version, as by a change. What is published stays.",
  HttpApiEndpoint.post("restore", "/:id/versions/:version/restore", {
    params: VersionParams,
    headers: ifMatch,
    success: Workflow,
    error: [BadRequest, NotFound, Conflict, PreconditionFailed],
  }),
)

const difference = described(
  "Compare a version",
  "What distinguishes the workflow as it is stored, or another version, from the version.",
  HttpApiEndpoint.get("difference", "/:id/versions/:version/difference", {
    params: VersionParams,
    query: DifferenceQuery,
    success: VersionDifference,
    error: NotFound,
  }),
)

/** The endpoints on versions of the group `workflows`. */
export const versionEndpoints = [
  publish,
  unpublish,
  versions,
  version,
  restore,
  difference,
] as const
