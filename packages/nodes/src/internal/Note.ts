/**
 * The note: a text on the canvas for people.
 *
 * Guarantees: it is never executed, costs nothing and stops no start, whatever edges it has.
 */
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"

/** `note`: says something to whoever looks at the drawing. */
export const note = define({
  key: "note",
  effects: "none",
  name: "Note",
  description: "A text for people. It is never executed, and edges to and from it mean nothing.",
  category: "flow",
  icon: "sticky-note",
  role: "note",
  inputs: {
    text: Schema.optionalKey(Schema.String.annotate({ description: "What it says." })),
  },
  raw: { text: () => [] },
  outputs: {},
  example: { inputs: { text: "Fetches the orders of the day." }, outputs: {} },
  run: () => Effect.succeed({}),
})
