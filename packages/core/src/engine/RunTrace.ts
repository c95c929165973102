/**
 * The trace of a run: all that tracing sees of a run is in one trace, whatever process it is from.
 *
 * Guarantees: identifiers follow from that of the run alone. Leaves out: spans.
 */
import { Tracer } from "effect"

/**
 * The span of a run, above those of its nodes: its trace has the id of the run without the prefix
 * and the dashes, and the span the last 16 digits of it. `undefined` where a run's id is not one of
 * 32 digits.
 */
export const traceOf = (runId: string): Tracer.ExternalSpan | undefined => {
  const traceId = runId.slice(runId.indexOf("_") + 1).replaceAll("-", "")
  if (!/^[0-9a-f]{32}$/.test(traceId)) return undefined
  return Tracer.externalSpan({ traceId, spanId: traceId.slice(16) })
}
