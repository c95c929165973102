/**
 * The operations of operators on runs in quarantine: those that have lost owners.
 */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { EndedRun, QuarantinedRuns, ReleasedRun } from "../AdminQuarantineWire.ts"
import { IdParams } from "../Text.ts"
import { NotFound } from "../WireError.ts"

const list = HttpApiEndpoint.get("list", "/quarantine", {
  success: QuarantinedRuns,
}).annotateMerge(
  OpenApi.annotations({
    summary: "List runs in quarantine",
    description:
      "Open runs of all accounts whose processes have died while a node of theirs was in " +
      "progress, or were blocked by them; oldest first. Those that have lost one are executed a " +
      "few at a time, those that have lost more alone, and after five losses a run is given up. " +
      "A run that makes progress is no longer among them.",
  }),
)

const release = HttpApiEndpoint.post("release", "/quarantine/:id/release", {
  params: IdParams,
  success: ReleasedRun,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Release a run from quarantine",
    description: "Its losses are forgotten, and it is executed like any other run.",
  }),
)

const end = HttpApiEndpoint.post("end", "/quarantine/:id/end", {
  params: IdParams,
  success: EndedRun,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "End a run in quarantine",
    description: "It is FAILED at once, and its error says what had happened to it.",
  }),
)

/** `/quarantine`. */
export class AdminQuarantineApi extends HttpApiGroup.make("quarantine")
  .add(list, release, end)
  .annotateMerge(
    OpenApi.annotations({
      title: "Quarantine",
      description: "Runs that have lost the processes that executed them.",
    }),
  ) {}
