/**
 * The port that judges the address of a webhook when a run is started.
 *
 * Guarantees: none about the future. A host name may resolve to another address later, so each
 * delivery is judged again. Leaves out: the rules, which are those of the egress guard.
 */
import { Context, Effect, Layer } from "effect"

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

export class WebhookTargets extends Context.Service<
  WebhookTargets,
  {
    /** Accepts a target, or fails with one sentence that begins with the field's name. */
    readonly accept: (target: WebhookTarget) => Effect.Effect<Accepted, string>
  }
>()("@millrace/core/ports/WebhookTargets") {
  /** Accepts nothing. The sentence says why, and what to do. */
  static readonly layerRefusing = (sentence: string): Layer.Layer<WebhookTargets> =>
    Layer.succeed(WebhookTargets, { accept: () => Effect.fail(sentence) })
}
