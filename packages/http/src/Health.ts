/**
 * Whether the process lives and whether it can work, for whatever watches it. No key needed.
 *
 * Guarantees: an answer within a second, whatever the store does. Leaves out: what a process that
 * cannot work does about it.
 */
import { secretOf } from "@millrace/core/domain/ApiKey"
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { Keys } from "@millrace/core/engine/Keys"
import { problemOfClock, StoreClock } from "@millrace/core/engine/StoreClock"
import { limited } from "@millrace/core/engine/StoreDeadline"
import { Unsupported } from "@millrace/core/ports/StoreManifest"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { healthPath, readyPath } from "./Addresses.ts"
import { answerOf, logStorage, ShuttingDown } from "./Errors.ts"

/**
 * True once the process is about to stop and wants no more requests, though it answers them still.
 * By default never; whoever stops servers provides it.
 */
export const IsDraining = Context.Reference<() => boolean>("@millrace/http/IsDraining", {
  defaultValue: () => () => false,
})

/** How long the store may take to answer, to count as reachable. */
const reachableMillis = 1_000

const ok = HttpServerResponse.jsonUnsafe({ status: "ok" })

/** A server that can work, and what its operator should know all the same. */
const readyWith = (warning: string | undefined) =>
  warning === undefined ? ok : HttpServerResponse.jsonUnsafe({ status: "ok", warnings: [warning] })

/** Nobody's account, and nobody's key: asking with them finds nothing and changes nothing. */
const nobody = AccountId.make("acc_nobody")
const nothing = WorkflowId.make("wf_nothing")
const noKey = Redacted.make(secretOf(new Uint8Array(32), "mr_"))

const ready = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const store = yield* WorkflowStore
    const keys = yield* Keys
    const isDraining = yield* IsDraining
    const { aheadMillis } = yield* StoreClock
    // Admission is what every request begins with, and a store that only reads refuses it.
    const admission = Effect.catchTag(keys.admit(noKey), "StorageError", (error) =>
      error.cause instanceof Unsupported ? Effect.void : Effect.fail(error),
    )
    const reach = Effect.andThen(admission, store.find(nobody, nothing)).pipe(
      limited("Health.ready", reachableMillis),
      Effect.map(() => readyWith(problemOfClock(aheadMillis()))),
      Effect.catch((error) => Effect.as(logStorage(error), answerOf(error, 503))),
    )
    const draining = answerOf(new ShuttingDown(), 503)
    const probe = Effect.suspend(() => (isDraining() ? Effect.succeed(draining) : reach))
    yield* router.add("GET", readyPath, probe)
  }),
)

/**
 * `/healthz`: 200 as long as the process answers. `/readyz`: 200 while the process can work; 503
 * with the reason while the store does not answer, and once the process is about to stop. A machine
 * whose clock is off by more than two seconds can work: `warnings` of a 200 says so.
 */
export const layer: Layer.Layer<
  never,
  never,
  HttpRouter.HttpRouter | Keys | WorkflowStore | StoreClock
> = Layer.mergeAll(HttpRouter.add("GET", healthPath, ok), ready)
