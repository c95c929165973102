/**
 * The values that the end of a run brings to the run that follows it. Pure.
 */
import type { Json, JsonObject } from "../../domain/Json.ts"
import type { Run } from "../../domain/Run.ts"
import type { RunEndTrigger } from "../../domain/RunEndTrigger.ts"
import { format } from "../../domain/Timestamp.ts"
import type { RequestField } from "../../graph/Request.ts"
import { below } from "./WebhookRequest.ts"

/** What is known of a run that has ended. What it has not, such as an error, is absent. */
const factsOf = (run: Run): JsonObject => {
  const { error, finishedAt, id: runId, output, status, workflowId, workflowName } = run
  return {
    runId,
    workflowId,
    workflowName,
    status,
    ...(error === null ? {} : { errorMessage: error }),
    ...(finishedAt === null ? {} : { finishedAt: format(finishedAt) }),
    ...(output === null ? {} : { output }),
  }
}

/**
 * The values of the run that a trigger starts after a run: those of the trigger, and over them
 * facts about the run that has ended. `into` maps fields to facts. Without it, each field of the
 * workflow gets the fact of its name; if the workflow declares no fields, there are all facts. A
 * fact that is unknown is absent.
 */
export const valuesAfter = (
  { into, values }: Pick<RunEndTrigger, "into" | "values">,
  fields: ReadonlyArray<RequestField>,
  run: Run,
): JsonObject => {
  const facts = factsOf(run)
  const names = fields.length === 0 ? Object.keys(facts) : fields.map(({ name }) => name)
  const places = into === null ? names.map((name) => [name, name] as const) : Object.entries(into)
  const brought = places.flatMap(([name, place]): ReadonlyArray<readonly [string, Json]> => {
    const value = below(facts, place.split("."))
    return value === undefined ? [] : [[name, value]]
  })
  return { ...values, ...Object.fromEntries(brought) }
}
