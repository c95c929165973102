/**
 * Whether the process lives and whether it can work, for whatever watches it. No key needed.
 */
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { healthPath, readyPath } from "./Addresses.ts"
import { answerOf, logStorage } from "./Errors.ts"

const ok = HttpServerResponse.jsonUnsafe({ status: "ok" })

/** Nobody's account: asking for something of it costs one look-up and finds nothing. */
const nobody = AccountId.make("acc_nobody")
const nothing = WorkflowId.make("wf_nothing")

const ready = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const store = yield* WorkflowStore
    const probe = store.find(nobody, nothing).pipe(
      Effect.as(ok),
      Effect.catch((error) => Effect.as(logStorage(error), answerOf(error, 503))),
    )
    yield* router.add("GET", readyPath, probe)
  }),
)

/** `/healthz`: 200 as long as the process answers. `/readyz`: 503 while the store does not. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | WorkflowStore> =
  Layer.mergeAll(HttpRouter.add("GET", healthPath, ok), ready)
