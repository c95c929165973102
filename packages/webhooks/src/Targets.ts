/**
 * Judges where a run wants its events sent, by the guard that will send them.
 *
 * Guarantees: what is refused here would be refused then. Leaves out: the reverse; a name may lead
 * elsewhere by then.
 */
import { webhookUrlLength } from "@millrace/core/domain/Limits"
import { CurrentWebhookTargets } from "@millrace/core/ports/WebhookTargets"
import { Egress } from "@millrace/egress/Egress"
import { Effect, Layer } from "effect"
import * as CustomHeaders from "./internal/CustomHeaders.ts"

const clause = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1)

/** The judge, over the guard that deliveries go through. */
export const layer: Layer.Layer<never, never, Egress> = Layer.effect(
  CurrentWebhookTargets,
  Effect.map(Egress, (egress) => ({
    accept: Effect.fnUntraced(function* ({ headers, url }) {
      if (url.length > webhookUrlLength) {
        return yield* Effect.fail(`webhook.url: is longer than ${webhookUrlLength} characters`)
      }
      // A URL is read without them, so it would not be the address that was given.
      if (/\p{Cc}/u.test(url)) return yield* Effect.fail("webhook.url: has control characters")
      yield* Effect.mapError(egress.judge(url), ({ message }) => `webhook.url: ${clause(message)}`)
      const problem = CustomHeaders.problemOf(headers)
      if (problem !== undefined) return yield* Effect.fail(`webhook.headers: ${problem}`)
      const { href, origin } = new URL(url)
      return { url: href, origin }
    }),
  })),
)
