/**
 * Which span of a trace is the run itself, so that the spans of its nodes are below it.
 */
import { Context, type Tracer } from "effect"

/** An annotation of the span of a run: the identifiers that it has in its trace. */
export const RunSpan = Context.Reference<Tracer.ExternalSpan | undefined>(
  "@millrace/host/RunSpan",
  { defaultValue: () => undefined },
)
