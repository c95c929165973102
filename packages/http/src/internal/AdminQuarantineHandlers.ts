/**
 * The operations of operators on runs in quarantine.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import type { QuarantinedRun } from "@millrace/api/AdminQuarantineWire"
import { RunId } from "@millrace/core/domain/Id"
import { Quarantine } from "@millrace/core/engine/Quarantine"
import type { Suspect } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { refuse } from "../Errors.ts"
import type { ById } from "./AdminCall.ts"

/** A run in quarantine as it is shown. */
const shown = ({ holder, record }: Suspect): QuarantinedRun => {
  const { accountId, createdAt, id, losses, status, workflowId, workflowName } = record.run
  return {
    runId: id,
    accountId,
    workflowId,
    workflowName,
    status,
    createdAt,
    holder,
    losses: losses.map((loss) => ({
      runner: loss.runner,
      lostAt: loss.lostAt,
      cause: loss.cause,
      millis: loss.cause === "blocked" ? loss.millis : null,
      nodes: loss.nodes.map((place) => record.definition.nodes[place]?.id ?? String(place)),
    })),
  }
}

/** The handlers of the group `quarantine`. */
export const layer = HttpApiBuilder.group(
  AdminApi,
  "quarantine",
  Effect.fnUntraced(function* (handlers) {
    const quarantine = yield* Quarantine
    return handlers
      .handle("list", () =>
        Effect.map(Effect.catch(quarantine.list, refuse), (all) => ({ items: all.map(shown) })),
      )
      .handle("release", ({ params }: ById) => {
        const runId = RunId.make(params.id)
        return Effect.as(Effect.catch(quarantine.release(runId), refuse), { runId })
      })
      .handle("end", ({ params }: ById) =>
        Effect.map(
          Effect.catch(quarantine.end(RunId.make(params.id)), refuse),
          ({ error, id, status }) => ({ runId: id, status, error }),
        ),
      )
  }),
)
