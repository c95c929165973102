/**
 * Published versions of workflows on the wire. The workflow itself is the draft.
 */
import { lastVersionNumber, versionsPerWorkflow } from "@millrace/core/domain/Limits"
import {
  VersionChoice,
  VersionNote,
  VersionNumber,
  WorkflowVersion,
} from "@millrace/core/domain/WorkflowVersion"
import { Schema, Struct } from "effect"
import { body, object, optional } from "./internal/Words.ts"
import { integerText } from "./PageQuery.ts"
import { Identifier, isStorable } from "./Text.ts"

const stored = WorkflowVersion.fields

/** A version in a listing. */
export const VersionItem = object("VersionItem", {
  number: stored.number,
  publishedAt: stored.publishedAt,
  note: stored.note,
  revision: stored.revision.annotate({
    description: "The revision of the workflow that it was made of.",
  }),
  published: Schema.Boolean.annotate({
    description: "True for the version that starts take; at most one has it.",
  }),
})
export type VersionItem = typeof VersionItem.Type

/** A version with its content. */
export const Version = object("Version", {
  ...VersionItem.fields,
  ...Struct.pick(stored, ["name", "description", "thumbnailUrl", "nodes", "edges", "settings"]),
})
export interface Version extends Schema.Schema.Type<typeof Version> {}

/** Body of a publication. */
export const PublishWorkflow = body("PublishWorkflow", {
  note: optional(
    Schema.NullOr(VersionNote.check(isStorable)),
    "What is new, in your words: at most 500 characters.",
  ),
})
export type PublishWorkflow = typeof PublishWorkflow.Type

/** What a start, a trigger or a rerun may ask for. */
export const StartVersion = VersionChoice.annotate({
  description:
    "`draft`: the workflow as it is stored; or the number of a version. By default the published " +
    "version, or the draft if none is published; a node that runs alone is one of the draft.",
})

const numberText = integerText(1, lastVersionNumber)

/** Path parameters of a version. */
export const VersionParams = Schema.Struct({ id: Identifier, version: numberText })

/** What a version is compared with. */
export const DifferenceQuery = Schema.Struct({
  with: Schema.optionalKey(
    Schema.Union([Schema.Literal("draft"), numberText]).annotate({
      description: "`draft`, which is the default, or the number of a version.",
    }),
  ),
})

const ChangedItem = Schema.Struct({
  id: Schema.String,
  keys: Schema.Array(Schema.String).annotate({
    description: "What of it differs, such as `type`, `position`, `data.mode`, `data.inputs.url`.",
  }),
  affectsRuns: Schema.Boolean.annotate({
    description: "False if it only looks otherwise: another place or label.",
  }),
})

const ids = (description: string) => Schema.Array(Schema.String).annotate({ description })

const itemDifference = (what: string) =>
  Schema.Struct({
    added: ids(`Ids of ${what} that only the other one has.`),
    removed: ids(`Ids of ${what} that only the version has.`),
    changed: Schema.Array(ChangedItem),
  })

/** What distinguishes a version, or the draft, from a version. */
export const VersionDifference = object("VersionDifference", {
  version: VersionNumber,
  with: VersionChoice,
  fields: ids("What of the workflow itself differs, such as `name` or `settings.onFailure`."),
  nodes: itemDifference("nodes"),
  edges: itemDifference("edges"),
})
export type VersionDifference = typeof VersionDifference.Type

/** How many versions are kept, for the description of a publication. */
export const keptVersions = `The newest ${versionsPerWorkflow} versions are kept.`
