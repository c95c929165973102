/**
 * The guard for calls that nodes make: the open web, within the limits in force.
 *
 * Guarantees: at most `callsAtOnce`, `callsPerOrigin` and `callsPerAccount` calls are under way in
 * one process; more of them wait in turn. Leaves out: deliveries of webhooks, which have a guard
 * and bounds of their own, so that neither waits for the other.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { Egress } from "@millrace/egress/Egress"
import type { Exception } from "@millrace/egress/Policy"
import { openWeb } from "@millrace/egress/Policy"
import { Effect, Layer } from "effect"

/** The guard with these exceptions for what is not public. */
export const layer = (allow: ReadonlyArray<Exception> = []): Layer.Layer<Egress> =>
  Layer.unwrap(
    Effect.map(CurrentLimits, (limits) =>
      Egress.layer({
        ...openWeb,
        allow,
        calls: {
          atOnce: limits.callsAtOnce,
          perOrigin: limits.callsPerOrigin,
          perAccount: limits.callsPerAccount,
          waitingPerAccount: limits.callsWaitingPerAccount,
        },
      }),
    ),
  )
