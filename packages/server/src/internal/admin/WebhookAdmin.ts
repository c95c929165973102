/**
 * The deliveries and signing secrets that a command works on, wherever they are.
 *
 * Guarantees: whatever cannot be done is refused in one sentence. Leaves out: where that is, and
 * what is printed.
 */
import type { DeliveryItem, DeliveryRecord, DeliveryState } from "@millrace/core/domain/Delivery"
import type { AccountId, DeliveryId, RunId } from "@millrace/core/domain/Id"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { WebhookConfig } from "@millrace/core/domain/Webhook"
import type { SigningSecret } from "@millrace/core/engine/Webhooks"
import type { Effect } from "effect"
import type { CommandFailed } from "../../CommandFailed.ts"

/** Which deliveries to show: the newest of them. */
export interface DeliveryFilter {
  readonly account: AccountId | undefined
  readonly runId: RunId | undefined
  readonly state: DeliveryState | undefined
  /** At most 50. */
  readonly limit: number
}

/** What can be done with webhooks. */
export interface WebhookAdmin {
  readonly listDeliveries: (
    filter: DeliveryFilter,
  ) => Effect.Effect<ReadonlyArray<DeliveryItem>, CommandFailed>
  readonly showDelivery: (id: DeliveryId) => Effect.Effect<DeliveryRecord, CommandFailed>
  readonly resend: (id: DeliveryId) => Effect.Effect<DeliveryItem, CommandFailed>
  /** How many there were; of all accounts where none is named. */
  readonly resendFailed: (
    account: AccountId | undefined,
    since: Timestamp,
  ) => Effect.Effect<number, CommandFailed>
  /** Returns the delivery's identifier. */
  readonly sendTest: (
    account: AccountId,
    target: Pick<WebhookConfig, "url" | "headers">,
  ) => Effect.Effect<DeliveryId, CommandFailed>
  readonly secrets: (
    account: AccountId,
  ) => Effect.Effect<ReadonlyArray<SigningSecret>, CommandFailed>
  /** The others go on signing for so long; as long as usual where nothing is said. */
  readonly rotateSecret: (
    account: AccountId,
    overlapSeconds: number | undefined,
  ) => Effect.Effect<ReadonlyArray<SigningSecret>, CommandFailed>
}
