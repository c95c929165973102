/**
 * The delay node: passes its input on later, after seconds or after months.
 *
 * Guarantees: it passes its input on once, at its time or when a process runs again, even if
 * processes stopped meanwhile. While it waits, it uses no slot and no memory. Leaves out:
 * repeating.
 */
import { Json } from "@millrace/core/domain/Json"
import type { KnownInputs } from "@millrace/core/domain/NodeType"
import { durationProblem, millisOf } from "@millrace/core/domain/NodePolicy"
import { timeOf } from "@millrace/core/domain/Timestamp"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Clock, Effect, Schema } from "effect"
import { checked, issue } from "./internal/Checked.ts"

/** How long to wait: milliseconds, or text such as `10 minutes`. */
type Duration = number | string

const problemsOfWait = (value: unknown) => {
  const problem = durationProblem(value, 0)
  return problem === undefined ? [] : issue(problem)
}

const problemsOfTime = (value: unknown) =>
  typeof value === "string" && timeOf(value) !== undefined
    ? []
    : issue("expected an ISO 8601 time such as 2026-01-31T09:30:00Z")

/** An input for a length of time. */
export const wait = (description: string) =>
  checked<Duration>(problemsOfWait, {
    description,
    jsonSchema: { anyOf: [{ type: "number", minimum: 0 }, { type: "string" }] },
  })

const time = checked<string>(problemsOfTime, {
  description: "When to go on, as an ISO 8601 time; a time that has passed does not wait.",
  jsonSchema: { type: "string", format: "date-time" },
})

const dueOf = (given: Duration | undefined, until: string | undefined, now: number) => {
  if ((given === undefined) === (until === undefined)) return undefined
  return until === undefined ? now + millisOf(given)! : timeOf(until)
}

const ambiguous = "a delay needs either for or until, and not both"

/** What is known to be wrong before the node executes. */
const problemsOfInputs = ({ mayHave, values }: KnownInputs) => {
  const hasNone = !mayHave("for") && !mayHave("until")
  const hasBoth = values["for"] !== undefined && values["until"] !== undefined
  return hasNone || hasBoth ? [["for", ambiguous] as const] : []
}

/** `delay`: passes its input on after `for`, or at `until`. */
export const delay = define({
  key: "delay",
  effects: "reads",
  name: "Delay",
  description: "Waits for a while, or until a time, and passes its input on.",
  category: "flow",
  icon: "timer",
  inputs: {
    input: Schema.optionalKey(Json.annotate({ description: "What is passed on." })),
    for: Schema.optionalKey(
      wait("How long to wait: milliseconds, or text such as `10 minutes`; at most a year."),
    ),
    until: Schema.optionalKey(time),
  },
  outputs: { output: Json.annotate({ description: "The input, when the time has come." }) },
  problemsOfInputs,
  example: { inputs: { input: "later", for: 0 }, outputs: { output: "later" } },
  run: ({ for: given, input = null, until }) =>
    Effect.gen(function* () {
      const node = yield* CurrentNode
      const now = yield* Clock.currentTimeMillis
      // The time is decided once. A restart does not make the wait longer.
      const due = typeof node.resumed === "number" ? node.resumed : dueOf(given, until, now)
      if (due === undefined) {
        return yield* new NodeError({ message: ambiguous, retryable: false })
      }
      if (node.resumed === undefined && due > now) return yield* node.suspend({ until: due }, due)
      return { output: input }
    }),
})
