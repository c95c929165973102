/**
 * Whether an address may be called: asked when a run is started, long before anything is sent.
 *
 * Guarantees: none about the future; a name may lead elsewhere by the time of a delivery, and is
 * judged again then. Leaves out: the rules, which belong to whoever does the calling.
 */
import { Context, Effect } from "effect"

/** Where requests are to go, and the headers that a stranger wants them to have. */
export interface Target {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** An address that may be called, as far as can be told now. */
export interface Accepted {
  /** In the one spelling that was judged. */
  readonly url: string
  /** Scheme, host and port. */
  readonly origin: string
}

/** Judges a target: accepts it, or fails with one sentence that begins with the field. */
export interface WebhookTargets {
  readonly accept: (target: Target) => Effect.Effect<Accepted, string>
}

/** The judge in force; one that accepts nothing where nobody delivers. */
export const CurrentWebhookTargets = Context.Reference<WebhookTargets>(
  "@millrace/core/ports/WebhookTargets",
  {
    defaultValue: () => ({
      accept: () => Effect.fail("webhook: this engine delivers no webhooks; start without one"),
    }),
  },
)
