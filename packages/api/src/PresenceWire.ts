/**
 * The stream of a workflow: who has it open, and which revision is stored.
 *
 * Guarantees: nothing by which a session could be used or named is in it. Leaves out: what was
 * changed; read the workflow for that.
 */
import { peopleListed } from "@millrace/core/domain/Limits"
import { Role } from "@millrace/core/domain/Session"
import { Schema } from "effect"
import { object } from "./internal/Words.ts"

const name = Schema.NullOr(Schema.String).annotate({
  description: "What the application calls the person; `null` where it says none.",
})

const isSelf = Schema.Boolean.annotate({ description: "True for the session that asks." })

/** Somebody who has a workflow open, in one tab or in several. */
export const Person = object("Person", {
  name,
  role: Role,
  tabs: Schema.Int.annotate({ description: "How many streams of it the session holds open." }),
  isSelf,
})
export type Person = typeof Person.Type

/** Who has a workflow open. */
export const Presence = object("Presence", {
  people: Schema.Array(Person).annotate({
    description: `At most ${peopleListed}: the session that asks first, then by name.`,
  }),
  more: Schema.Int.annotate({ description: "How many others there are." }),
})
export type Presence = typeof Presence.Type

/** The revision that is stored. */
export const StoredRevision = object("StoredRevision", {
  etag: Schema.String.annotate({ description: "The `ETag` of the workflow." }),
  savedBy: Schema.NullOr(object("Saver", { name, role: Role, isSelf })).annotate({
    description:
      "The session that has saved it; `null` where this is not known: before the stream began, " +
      "with an API key, on another server.",
  }),
})
export type StoredRevision = typeof StoredRevision.Type

/** One item of the stream of a workflow. */
export const WorkflowEvent = Schema.Union([
  Schema.Struct({
    event: Schema.Literal("presence"),
    data: Schema.fromJsonString(Presence),
  }),
  Schema.Struct({
    event: Schema.Literal("revision"),
    data: Schema.fromJsonString(StoredRevision),
  }),
])
export type WorkflowEvent = typeof WorkflowEvent.Type
