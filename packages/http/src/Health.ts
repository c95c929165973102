/**
 * Tells load balancers and supervisors whether the process lives, and whether it can work. It needs
 * no key.
 *
 * Guarantees: an answer within a second, even if the store does not answer.
 */
import { secretOf } from "@millrace/core/domain/ApiKey"
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { Keys } from "@millrace/core/engine/Keys"
import { problemOfClock, StoreClock } from "@millrace/core/engine/StoreClock"
import { limited } from "@millrace/core/engine/StoreDeadline"
import { Unsupported } from "@millrace/core/ports/StoreManifest"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Context, Effect, Layer, Redacted } from "effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { healthPath, readyPath } from "./Addresses.ts"
import { answerOf, logStorage, ShuttingDown } from "./Errors.ts"

/**
 * True if the process is about to stop: it still answers requests, but wants no further ones. Never
 * true by default; a server that can stop provides it.
 */
export const IsDraining = Context.Reference<() => boolean>("@millrace/http/IsDraining", {
  defaultValue: () => () => false,
})

/** A store that takes longer to answer counts as unreachable. */
const reachableMillis = 1_000

const ok = HttpServerResponse.jsonUnsafe({ status: "ok" })

/** The answer of a server that can work, with a warning for its operator. */
const readyWith = (warning: string | undefined) =>
  warning === undefined ? ok : HttpServerResponse.jsonUnsafe({ status: "ok", warnings: [warning] })

/** An account, a workflow and a key that do not exist. Looking for them changes nothing. */
const nobody = AccountId.make("acc_nobody")
const nothing = WorkflowId.make("wf_nothing")
const noKey = Redacted.make(secretOf(new Uint8Array(32), "mr_"))

/** Asks the store what every request asks. Fails if there is no answer within a second. */
export const reachStore = Effect.gen(function* () {
  const store = yield* WorkflowStore
  const keys = yield* Keys
  // Every request begins with an admission. A database that is read-only fails in it.
  const admission = Effect.catchTag(keys.admit(noKey), "StorageError", (error) =>
    error.cause instanceof Unsupported ? Effect.void : Effect.fail(error),
  )
  yield* Effect.andThen(admission, store.find(nobody, nothing)).pipe(
    limited("Health.ready", reachableMillis),
  )
})

const ready = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const context = yield* Effect.context<Keys | WorkflowStore>()
    const isDraining = yield* IsDraining
    const { aheadMillis } = yield* StoreClock
    const reach = Effect.provideContext(reachStore, context).pipe(
      Effect.map(() => readyWith(problemOfClock(aheadMillis()))),
      Effect.catch((error) => Effect.as(logStorage(error), answerOf(error))),
    )
    const draining = answerOf(new ShuttingDown())
    const probe = Effect.suspend(() => (isDraining() ? Effect.succeed(draining) : reach))
    yield* router.add("GET", readyPath, probe)
  }),
)

/**
 * `/healthz`: 200 as long as the process answers. `/readyz`: 200 while the process can work; 503
 * with the reason while the store does not answer, and when the process is about to stop. If the
 * machine's clock is wrong by more than two seconds, the process can work, and `warnings` says so.
 */
export const layer: Layer.Layer<
  never,
  never,
  HttpRouter.HttpRouter | Keys | WorkflowStore | StoreClock
> = Layer.mergeAll(HttpRouter.add("GET", healthPath, ok), ready)
