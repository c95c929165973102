/**
 * The admin operations on runs in quarantine, which are runs that have lost owners.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import { described, titled } from "./Words.ts"
import { EndedRun, QuarantinedRuns, ReleasedRun } from "../AdminQuarantineWire.ts"
import { IdParams } from "../Text.ts"
import { NotFound } from "../WireError.ts"

const list = described(
  "List runs in quarantine",
  "Open runs of all accounts, oldest first, that lost a process while one of their nodes was in " +
    "progress: the process died, or the run blocked it. Runs with one loss are executed a few at " +
    "a time, runs with more losses alone. After five losses a run is given up. A run that makes " +
    "progress leaves the quarantine.",
  HttpApiEndpoint.get("list", "/quarantine", { success: QuarantinedRuns }),
)

const release = described(
  "Release a run from quarantine",
  "Its losses are forgotten, and it is executed like any other run.",
  HttpApiEndpoint.post("release", "/quarantine/:id/release", {
    params: IdParams,
    success: ReleasedRun,
    error: NotFound,
  }),
)

const end = described(
  "End a run in quarantine",
  "Its status becomes FAILED at once, and its error says what had happened to it.",
  HttpApiEndpoint.post("end", "/quarantine/:id/end", {
    params: IdParams,
    success: EndedRun,
    error: NotFound,
  }),
)

/** `/quarantine`. */
export class AdminQuarantineApi extends HttpApiGroup.make("quarantine")
  .add(list, release, end)
  .annotateMerge(titled("Quarantine", "Runs that have lost the processes that executed them.")) {}
