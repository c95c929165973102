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
 * The values of a run that follows: the facts at the places that the trigger names, or else those
 * whose names the workflow declares as fields; all of them, if it declares none. A fact that the
 * run has not is absent here.
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
