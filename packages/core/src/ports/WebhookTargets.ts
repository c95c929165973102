/**
 * The port that judges the address of a webhook when a run is started.
 *
 * Guarantees: none about the future. A host name may resolve to another address later, so each
 * delivery is judged again. Leaves out: the rules, which are those of the egress guard.
 */
import { Context, Effect } from "effect"

/** The address and the headers that a start asks for. */
export interface WebhookTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** An address that may be called as of now. */
export interface Accepted {
  /** The normalized address, which was judged. */
  readonly url: string
  /** Scheme, host and port. */
  readonly origin: string
}

/** Accepts a target, or fails with one sentence that begins with the field's name. */
export interface WebhookTargets {
  readonly accept: (target: WebhookTarget) => Effect.Effect<Accepted, string>
}

/** The judge in force. The default accepts nothing, because nothing delivers. */
export const CurrentWebhookTargets = Context.Reference<WebhookTargets>(
  "@millrace/core/ports/WebhookTargets",
  {
    defaultValue: () => ({
      accept: () => Effect.fail("webhook: this engine delivers no webhooks; start without one"),
    }),
  },
)
