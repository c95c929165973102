/**
 * Node types in use on the wire of the admin interface.
 */
import { TypeUser as Stored } from "@millrace/core/domain/TypeUse"
import { Schema } from "effect"
import { itemsOf, object } from "./internal/Words.ts"

/** A workflow that uses a type. */
export const TypeUser = object("TypeUser", Stored.fields)

const Count = Schema.Int

/** A version of a node type, and where nodes of it are. */
export const TypeInUse = object("TypeInUse", {
  type: Schema.String.annotate({ description: "The key of the type." }),
  version: Schema.NullOr(Schema.Finite).annotate({
    description: "null: of nodes that name no version, and whose type the server does not have.",
  }),
  isKnown: Schema.Boolean.annotate({
    description: "True if the server that answers has this version.",
  }),
  origin: Schema.NullOr(Schema.String).annotate({
    description: "Where it comes from: built-in, or a module; null if that is not known.",
  }),
  deprecated: Schema.NullOr(Schema.String).annotate({
    description: "What to use in its place, if it is not to be used any more; else null.",
  }),
  drafts: Count.annotate({ description: "How many workflows have it as they are drawn." }),
  published: Count.annotate({ description: "How many published versions of workflows have it." }),
  openRuns: Count.annotate({
    description: "How many open runs have it, also in a workflow that their nodes may call.",
  }),
  workflows: Schema.Array(TypeUser).annotate({
    description: "The first ten workflows that have it, by account and id.",
  }),
})
export type TypeInUse = typeof TypeInUse.Type

/** All versions of node types that the server has or that are in use, by type. */
export const TypesInUse = itemsOf("TypesInUse", TypeInUse)
