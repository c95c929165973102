/**
 * Published versions of workflows. A workflow as it is stored and changed is its draft; publishing
 * keeps the draft's content under a number, and starts take the version that is published.
 *
 * Guarantees: what a version holds never changes. Leaves out: deciding when there is a new one.
 */
import { Schema, Struct } from "effect"
import { AccountId, WorkflowId } from "./Id.ts"
import { lastVersionNumber, versionNoteLength } from "./Limits.ts"
import { isAtMost } from "./TextLength.ts"
import { Timestamp } from "./Timestamp.ts"
import { Workflow } from "./Workflow.ts"

/** Why a version was published, in its author's words: at most 500 characters. */
export const VersionNote = Schema.String.check(isAtMost(versionNoteLength))

/** The number of a version: the versions of a workflow are numbered from 1. */
export const VersionNumber = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: lastVersionNumber }),
)

/** A version without its content. */
export const VersionHead = Schema.Struct({
  workflowId: WorkflowId,
  accountId: AccountId,
  number: VersionNumber,
  /** The revision of the draft that it was made of. */
  revision: Schema.Int,
  note: Schema.NullOr(VersionNote),
  publishedAt: Timestamp,
})
export type VersionHead = typeof VersionHead.Type

/** A version of a workflow. */
export const WorkflowVersion = Schema.Struct({
  ...VersionHead.fields,
  ...Struct.pick(Workflow.fields, [
    ...(["name", "description", "thumbnailUrl", "nodes", "edges", "settings"] as const),
  ]),
}).annotate({ identifier: "StoredVersion" })
export interface WorkflowVersion extends Schema.Schema.Type<typeof WorkflowVersion> {}

/** The versions that are kept of a workflow. */
export interface VersionList {
  /** The one that starts take; `null`: they take the draft. */
  readonly published: number | null
  /** The newest first. */
  readonly items: ReadonlyArray<VersionHead>
}

/** Which content of a workflow a start asks for: the draft, or the version of a number. */
export const VersionChoice = Schema.Union([Schema.Literal("draft"), VersionNumber])
export type VersionChoice = typeof VersionChoice.Type

/** What the runs of a trigger take; `null`: what a start takes that asks for nothing. */
export const TriggerVersion = Schema.NullOr(VersionChoice)

/** A version as a workflow that can be started: created, and changed last, when published. */
export const workflowOf = (version: WorkflowVersion): Workflow => {
  const { note: _, number, publishedAt, workflowId: id, ...rest } = version
  return { ...rest, id, version: number, createdAt: publishedAt, updatedAt: publishedAt }
}
