/**
 * The wait_signal node: waits until somebody sends the run a signal, for some time at most.
 *
 * Guarantees: a signal is taken by one node; one that came before the node began to wait counts.
 * While it waits, it uses no slot and no memory. What it puts out fits its schema. Leaves out:
 * judging who sends; whoever may send a signal to the run decides that.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject, Json } from "@millrace/core/domain/Json"
import { correlationLength, signalNameLength } from "@millrace/core/domain/Limits"
import { signalMessage } from "@millrace/core/domain/Message"
import { millisOf } from "@millrace/core/domain/NodePolicy"
import type { KnownInputs } from "@millrace/core/domain/NodeType"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Clock, Effect, Schema } from "effect"
import { wait } from "../Delay.ts"
import { checked } from "./Checked.ts"
import { failure } from "./HttpAnswer.ts"
import { problemOfValue, problemsOfSchema } from "./JsonSchema.ts"
import { RuleInput } from "../Rules.ts"

const Name = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(signalNameLength),
).annotate({
  description:
    "Signals of this name are taken; it is a part of the address to which they are sent.",
})

const Correlation = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(correlationLength),
).annotate({
  description:
    "Signals to the workflow with this correlation are taken, too, such as the number of an " +
    "order: whoever sends one need not know the run.",
})

/** What is wrong with a signal's payload, as a clause. */
const problemOf = (payload: Json, schema: JsonObject): string | undefined =>
  problemOfValue(payload, schema, "payload")

/** The signals that a node takes, if its name and its schema are sure. */
const signalsOf = ({ values: { name, schema } }: KnownInputs) =>
  typeof name === "string" && isJsonObject(schema)
    ? { name, problemOf: (payload: Json) => problemOf(payload, schema) }
    : undefined

/** `wait_signal`: puts out what a signal brings, or its input if none comes in time. */
export const waitSignal = define({
  key: "wait_signal",
  effects: "reads",
  name: "Wait for a signal",
  description:
    "Waits until a signal is sent to the run or its workflow, and puts out what it brings.",
  category: "flow",
  icon: "hourglass",
  waitsForSignal: true,
  signalsOf,
  inputs: {
    name: Name,
    input: Schema.optionalKey(
      Json.annotate({ description: "What leaves on `timeout`; so that an edge can end here." }),
    ),
    correlation: Schema.optionalKey(Correlation),
    filter: Schema.optionalKey(
      RuleInput.annotate({
        description:
          "A rule for the payload, as that of a condition. A signal that it refuses is left to " +
          "another node or run.",
      }),
    ),
    schema: Schema.optionalKey(
      checked<JsonObject>(problemsOfSchema, {
        description: "A JSON Schema of the payload. A signal that does not fit is refused.",
        jsonSchema: { type: "object" },
      }),
    ),
    timeout: Schema.optionalKey(
      wait("How long to wait at most, as `for` of a delay; without it, until a signal comes."),
    ),
  },
  outputs: {
    payload: Schema.optionalKey(Json.annotate({ description: "What the signal brought." })),
    timeout: Schema.optionalKey(
      Json.annotate({ description: "The input, when the time is over and no signal has come." }),
    ),
  },
  example: {
    inputs: { name: "approved", timeout: "3 days" },
    outputs: { payload: { by: "ada" } },
  },
  run: ({ correlation, filter, input = null, name, schema = {}, timeout }) =>
    Effect.gen(function* () {
      const node = yield* CurrentNode
      if (node.message !== undefined) {
        const { payload } = node.message
        const clause = problemOf(payload, schema)
        if (clause === undefined) return { payload }
        return yield* failure(`The signal "${name}" does not fit: ${clause}`, false)
      }
      if (node.resumed !== undefined) return { timeout: input }
      const now = yield* Clock.currentTimeMillis
      const until = timeout === undefined ? {} : { until: now + millisOf(timeout)! }
      const which = {
        ...(correlation === undefined ? {} : { correlation }),
        ...(filter === undefined ? {} : { filter: filter as JsonObject }),
      }
      return yield* node.suspend({ for: signalMessage(name), ...which, ...until }, null)
    }),
})
