/**
 * Admitting requests: the key, its limits and the headers that tell of them (specification, parts 5
 * and 8).
 *
 * Guarantees: key and limits are one step of the store, taken before anything of the request but
 * its route is looked at; every answer that got so far carries the rate headers, errors included.
 */
import { Authorization, CurrentKey } from "@millrace/api/Authorization"
import type { Window } from "@millrace/core/domain/Quota"
import { Keys } from "@millrace/core/engine/Keys"
import { Effect, Layer } from "effect"
import { addHeaders, KeyRefused, LimitExceeded, refuse } from "./Errors.ts"

const rateHeaders = (window: Window) =>
  addHeaders({
    "x-ratelimit-remaining": String(window.remaining),
    "x-ratelimit-reset": String(window.resetAt),
  })

/** Admits by bearer key. */
export const layer: Layer.Layer<Authorization, never, Keys> = Layer.effect(
  Authorization,
  Effect.map(Keys, (keys) =>
    Authorization.of({
      apiKey: Effect.fnUntraced(function* (operation, { credential }) {
        const admission = yield* Effect.catch(keys.admit(credential), refuse)
        if (admission._tag === "Refused") return yield* refuse(new KeyRefused())
        yield* rateHeaders(admission.window)
        if (admission._tag === "Limited") {
          const retryAfterSeconds = Math.max(1, Math.ceil(admission.retryAfterMillis / 1_000))
          return yield* refuse(new LimitExceeded({ retryAfterSeconds }))
        }
        const { accountId, keyId } = admission
        return yield* Effect.provideService(operation, CurrentKey, { accountId, keyId })
      }),
    }),
  ),
)
