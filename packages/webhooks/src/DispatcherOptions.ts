/**
 * The settings of a dispatcher: the schedule of attempts, timeouts and bounds.
 */
import type { DeliverySchedule } from "@millrace/core/domain/DeliverySchedule"
import { defaultSchedule } from "@millrace/core/domain/DeliverySchedule"
import { defaultLimits } from "@millrace/core/domain/Limits"
import { Context } from "effect"
import type { PartitionBounds } from "./internal/Partitions.ts"

/** The settings of a dispatcher. Times are in milliseconds. */
export interface DispatcherOptions extends PartitionBounds {
  readonly schedule: DeliverySchedule
  /** The timeout of one attempt: connect, headers and body together. */
  readonly timeoutMillis: number
  /**
   * How long a claim holds. After that, another dispatcher may claim the delivery if no outcome has
   * been recorded. It must be longer than `freshMillis` and `timeoutMillis` together, and leave
   * time for the record.
   */
  readonly visibilityMillis: number
  /** How long after its claim an attempt may begin. A later one is given back. */
  readonly freshMillis: number
  /**
   * How often the dispatcher asks the store for deliveries that are due. It needs no poll for those
   * of its own process and their retries.
   */
  readonly pollMillis: number
  /** How long attempts in progress may go on after the dispatcher was told to stop. */
  readonly graceMillis: number
  /** How long a delivery that has ended is kept, with its log. */
  readonly keptMillis: number
}

/** The default settings. */
export const defaultOptions: DispatcherOptions = {
  schedule: defaultSchedule,
  atOnce: defaultLimits.deliveriesAtOnce,
  perOrigin: defaultLimits.deliveriesPerOrigin,
  perAccount: defaultLimits.deliveriesPerAccount,
  prefetchPerOrigin: 64,
  quickMillis: 50,
  timeoutMillis: 30_000,
  visibilityMillis: 45_000,
  freshMillis: 5_000,
  pollMillis: 2_000,
  graceMillis: 10_000,
  keptMillis: defaultSchedule.lifeMillis,
}

/** The current settings; override them with `Layer.succeed`. */
export const CurrentDispatcherOptions = Context.Reference<DispatcherOptions>(
  "@millrace/webhooks/DispatcherOptions",
  { defaultValue: () => defaultOptions },
)
