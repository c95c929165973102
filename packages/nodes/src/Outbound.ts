/**
 * The guard for the calls of nodes: public addresses only, within the current limits.
 *
 * Guarantees: a process has at most `callsAtOnce`, `callsPerOrigin` and `callsPerAccount` calls in
 * progress; further calls wait in turn. Leaves out: deliveries of webhooks. They have their own
 * guard and limits, so calls and deliveries do not wait for each other.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { Egress } from "@millrace/egress/Egress"
import type { Exception } from "@millrace/egress/Policy"
import { openWeb } from "@millrace/egress/Policy"
import { Effect, Layer } from "effect"

/** The guard, with exceptions for addresses that are not public. */
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
