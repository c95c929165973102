/**
 * The deliveries and signing secrets of a running server, over its interface for operators.
 */
import type { SigningSecret as WireSecret } from "@millrace/api/AdminWebhookWire"
import { RotateSecret, TestEvent } from "@millrace/api/AdminWebhookWire"
import * as AdminClient from "@millrace/api/AdminClient"
import { Effect, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { check, given, runWith } from "./RemoteAdminTasks.ts"
import type { WebhookAdmin } from "./WebhookAdmin.ts"

const hidden = ({ items }: { readonly items: ReadonlyArray<WireSecret> }) =>
  items.map((each) => ({ ...each, secret: Redacted.make(each.secret) }))

/** Opens the webhook tasks of a server. Whether it answers is only known when it is asked. */
export const open = (url: string, token: Redacted.Redacted): Effect.Effect<WebhookAdmin> =>
  Effect.gen(function* () {
    const { webhooks } = yield* AdminClient.make({ baseUrl: url, token })
    const run = runWith(url)
    return {
      listDeliveries: ({ account, ...filter }) => {
        const query = given({ accountId: account, ...filter })
        return Effect.map(run(webhooks.list({ query })), ({ items }) => items)
      },
      showDelivery: (id) =>
        Effect.map(run(webhooks.get({ params: { id } })), ({ attemptLog, body, ...item }) => ({
          item,
          body,
          attempts: attemptLog,
        })),
      resend: (id) => run(webhooks.redeliver({ params: { id } })),
      resendFailed: (accountId, since) =>
        Effect.map(
          run(webhooks.redeliverFailed({ payload: given({ accountId, since }) })),
          ({ count }) => count,
        ),
      sendTest: (id, target) =>
        check(TestEvent, target, "webhook").pipe(
          Effect.andThen(run(webhooks.test({ params: { id }, payload: target }))),
          Effect.map((delivery) => delivery.id),
        ),
      secrets: (id) => Effect.map(run(webhooks.secrets({ params: { id } })), hidden),
      rotateSecret: (id, overlapSeconds) => {
        const payload = given({ overlapSeconds })
        return check(RotateSecret, payload, "secret").pipe(
          Effect.andThen(run(webhooks.rotate({ params: { id }, payload }))),
          Effect.map(hidden),
        )
      },
    } satisfies WebhookAdmin
  }).pipe(Effect.provide(FetchHttpClient.layer))
