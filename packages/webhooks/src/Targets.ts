/**
 * Checks the address and the headers of a webhook when a run starts, by the rules of the egress
 * guard that will send the deliveries.
 *
 * Guarantees: the guard would also refuse to send to an address that is refused here. Leaves out:
 * the reverse, because the address of a host name may change before the delivery.
 */
import { webhookUrlLength } from "@millrace/core/domain/Limits"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import { Egress } from "@millrace/egress/Egress"
import { Effect, Layer } from "effect"
import * as CustomHeaders from "./internal/CustomHeaders.ts"

const clause = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1)

/** The check, by the egress guard that sends deliveries. */
export const layer: Layer.Layer<WebhookTargets, never, Egress> = Layer.effect(
  WebhookTargets,
  Effect.map(Egress, (egress) => ({
    accept: Effect.fnUntraced(function* ({ headers, url }) {
      if (url.length > webhookUrlLength) {
        return yield* Effect.fail(`webhook.url: is longer than ${webhookUrlLength} characters`)
      }
      // A parser drops control characters, so the delivery would go to another address.
      if (/\p{Cc}/u.test(url)) return yield* Effect.fail("webhook.url: has control characters")
      yield* Effect.mapError(egress.judge(url), ({ message }) => `webhook.url: ${clause(message)}`)
      const problem = CustomHeaders.problemOf(headers)
      if (problem !== undefined) return yield* Effect.fail(`webhook.headers: ${problem}`)
      const { href, origin } = new URL(url)
      return { url: href, origin }
    }),
  })),
)
