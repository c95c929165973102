/**
 * Webhooks in stores that are open here: what a server would do, done by a command.
 *
 * Guarantees: nothing is sent; what is due is sent by the servers on the same data, or by the next
 * one. Leaves out: opening the stores.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import { Ids } from "@millrace/core/engine/Ids"
import { overlapMillis, Webhooks } from "@millrace/core/engine/Webhooks"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { webhookGuard } from "@millrace/host/Host"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import * as Targets from "@millrace/webhooks/Targets"
import type { Redacted, Scope } from "effect"
import { Context, Effect, Layer, Option } from "effect"
import type { LocalTarget } from "../config/ConfigTarget.ts"
import * as MasterKey from "../serve/MasterKey.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import type { WebhookAdmin } from "./WebhookAdmin.ts"

const refused = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, reason: "failed" })

const noKey =
  "MILLRACE_MASTER_KEY: expected the key that the servers of this database have: it opens secrets"

/** The key of a folder is in it; that of a database comes from whoever operates it. */
const masterKeyOf = (
  target: LocalTarget,
): Effect.Effect<Redacted.Redacted | undefined, CommandFailed> =>
  target._tag === "Folder"
    ? MasterKey.ensure({ ...target.hooks, data: target.data, memory: false })
    : Effect.succeed(target.hooks.masterKey ?? undefined)

/** Opens the webhook tasks over stores, for as long as the scope lasts. */
export const open = Effect.fnUntraced(function* (
  stores: Context.Context<Stores>,
  target: LocalTarget,
): Effect.fn.Return<WebhookAdmin, CommandFailed, Scope.Scope> {
  const key = yield* masterKeyOf(target)
  const vault = key === undefined ? Layer.empty : MasterVault.layer(key)
  const context = yield* Layer.build(
    Webhooks.layer.pipe(
      Layer.provide([Ids.layer, Layer.succeedContext(stores)]),
      Layer.provide([Layer.provide(Targets.layer, webhookGuard(target.hooks.egressAllow)), vault]),
    ),
  )
  const webhooks = Context.get(context, Webhooks)
  const store = Context.get(stores, WebhookStore)
  const run = Effect.mapError(refused)
  const needKey = key === undefined ? Effect.fail(refused({ message: noKey })) : Effect.void
  return {
    listDeliveries: ({ account, ...filter }) =>
      run(Effect.map(store.list({ account: account ?? null, ...filter }), ({ items }) => items)),
    showDelivery: Effect.fnUntraced(function* (id) {
      const found = yield* run(store.find(null, id))
      if (Option.isSome(found)) return found.value
      return yield* refused({ message: `Delivery ${id} does not exist` })
    }),
    resend: (id) => run(webhooks.redeliver(null, id)),
    resendFailed: (account, since) => run(store.redeliverFailed(account ?? null, since)),
    sendTest: (account, what) =>
      Effect.andThen(
        needKey,
        Effect.map(run(webhooks.test(account, what)), ({ id }) => id),
      ),
    secrets: (account) => Effect.andThen(needKey, run(webhooks.secrets(account))),
    rotateSecret: (account, seconds) => {
      const overlap = seconds === undefined ? overlapMillis : seconds * 1_000
      return Effect.andThen(needKey, run(webhooks.rotate(account, overlap)))
    },
  }
})
