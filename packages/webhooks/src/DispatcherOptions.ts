/**
 * How a dispatcher works, as data: the schedule of attempts and its own bounds.
 */
import type { DeliverySchedule } from "@millrace/core/domain/DeliverySchedule"
import { defaultSchedule } from "@millrace/core/domain/DeliverySchedule"
import { defaultLimits } from "@millrace/core/domain/Limits"
import { Context } from "effect"
import type { PartitionBounds } from "./internal/Partitions.ts"

/** How a dispatcher works. */
export interface DispatcherOptions extends PartitionBounds {
  readonly schedule: DeliverySchedule
  /** For one attempt as a whole. */
  readonly timeoutMillis: number
  /**
   * From when on another dispatcher may take what was claimed and not recorded. Longer than an
   * attempt may begin late, take, and be recorded.
   */
  readonly visibilityMillis: number
  /** An attempt that could not begin within this time of its claim is not made. */
  readonly freshMillis: number
  /** How often it looks for what is due. */
  readonly pollMillis: number
  /** How long attempts in progress may go on once it was told to stop. */
  readonly graceMillis: number
  /** How long what has ended is kept with its log. */
  readonly keptMillis: number
}

/** What holds where nothing else is said. */
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
  pollMillis: 1_000,
  graceMillis: 10_000,
  keptMillis: defaultSchedule.lifeMillis,
}

/** The options in force; override with `Layer.succeed`. */
export const CurrentDispatcherOptions = Context.Reference<DispatcherOptions>(
  "@millrace/webhooks/DispatcherOptions",
  { defaultValue: () => defaultOptions },
)
