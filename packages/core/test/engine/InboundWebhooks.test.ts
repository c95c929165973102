/**
 * Inbound webhooks: whom they take for their sender when the secret cannot be read, and what is
 * refused of their settings.
 *
 * Leaves out: signatures, bodies and answers; tests over a real server have those.
 */
import { withoutWebhooks } from "@millrace/core/engine/Engine"
import { CurrentSecrets } from "@millrace/core/engine/CurrentSecrets"
import { InboundWebhooks } from "@millrace/core/engine/InboundWebhooks"
import type { WebhookRequest } from "@millrace/core/engine/InboundWebhooks"
import { Triggers } from "@millrace/core/engine/Triggers"
import { AccountId, TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import { triggerWriteAttempts } from "@millrace/core/domain/Limits"
import { StorageError } from "@millrace/core/ports/StorageError"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { VaultClosed } from "@millrace/core/ports/Vault"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { account, digest, engine, node, save } from "./TestEngine.ts"

/** What becomes of a secret when it is read, and of a trigger when it is replaced. */
const trouble: {
  secret: "there" | "gone" | "closed" | "lost"
  changes: number
} = { secret: "there", changes: 0 }

const lost = new StorageError({ operation: "SecretStore.find", cause: new Error("lost") })
const closed = new VaultClosed({ message: "There is no key to keep secrets with" })

const secrets = Layer.succeed(CurrentSecrets, {
  names: () => Effect.succeed([]),
  open: (_, names) =>
    Effect.gen(function* () {
      if (trouble.secret === "lost") return yield* lost
      if (trouble.secret === "closed") return yield* closed
      const found = trouble.secret === "gone" ? [] : names
      const value = Redacted.make("the value")
      return found.map((name) => ({ name, hosts: [], value }))
    }),
})

/** The store, in front of which somebody else changes a trigger so many times. */
const contested = Layer.effect(
  TriggerStore,
  Effect.map(TriggerStore, (store) => ({
    ...store,
    replace: (trigger) =>
      Effect.suspend(() => {
        trouble.changes -= 1
        return trouble.changes < 0 ? store.replace(trigger) : Effect.succeed(false)
      }),
  })),
)

const at = Effect.provide(
  Layer.mergeAll(InboundWebhooks.layer, Triggers.layer).pipe(
    Layer.provide([secrets, digest, withoutWebhooks()]),
    Layer.provideMerge(contested),
    Layer.provideMerge(engine()),
  ),
)

const verify = { type: "bearer" as const, secret: "TOKEN" }

/** An inbound webhook with a bearer token, and what is known of it. */
const scene = Effect.gen(function* () {
  Object.assign(trouble, { secret: "there", changes: 0 })
  const { id: workflowId } = yield* save([node("a", "pass")])
  const webhooks = yield* InboundWebhooks
  const { webhook } = yield* webhooks.create(account, workflowId, { verify })
  return { webhooks, webhook, workflowId }
})

const requestWith = (authorization: string): WebhookRequest => ({
  method: "POST",
  headers: { authorization },
  query: {},
  body: new Uint8Array(),
})

describe("InboundWebhooks.verify", () => {
  it.effect("takes nobody for its sender where the secret is gone, or cannot be opened", () =>
    Effect.gen(function* () {
      const { webhook, webhooks } = yield* scene
      const right = requestWith("Bearer the value")
      assert.isTrue(yield* webhooks.verify(webhook, right))
      assert.isFalse(yield* webhooks.verify(webhook, requestWith("Bearer another")))
      for (const secret of ["gone", "closed"] as const) {
        trouble.secret = secret
        assert.isFalse(yield* webhooks.verify(webhook, right), secret)
        assert.isFalse(yield* webhooks.verify(webhook, requestWith("Bearer undefined")), secret)
      }
    }).pipe(at),
  )

  it.effect("fails where the store does not answer, so that the sender tries again", () =>
    Effect.gen(function* () {
      const { webhook, webhooks } = yield* scene
      trouble.secret = "lost"
      const asked = webhooks.verify(webhook, requestWith("Bearer the value"))
      assert.strictEqual(yield* Effect.flip(asked), lost)
    }).pipe(at),
  )
})

describe("InboundWebhooks.create and update", () => {
  it.effect("refuse a check whose secret cannot be read, and say why", () =>
    Effect.gen(function* () {
      const { webhook, webhooks, workflowId } = yield* scene
      for (const [secret, words] of [
        ["gone", 'verify.secret: the account has no secret "TOKEN"'],
        ["closed", "verify.secret: There is no key to keep secrets with"],
      ] as const) {
        trouble.secret = secret
        for (const refusal of [
          Effect.flip(webhooks.create(account, workflowId, { verify })),
          Effect.flip(webhooks.update(webhook, { respond: "output" })),
        ]) {
          const refused = yield* refusal
          assert.deepInclude(refused, { _tag: "InvalidTrigger", message: words })
        }
        // Without a check there is no secret to read.
        yield* webhooks.create(account, workflowId, {})
      }
      const stored = yield* TriggerStore.use(({ list }) => list(account, workflowId))
      assert.lengthOf(stored, 3)
      assert.deepInclude(stored[0], { respond: "at_once" })
    }).pipe(at),
  )

  it.effect("know no workflow and no trigger of another account, and no schedule", () =>
    Effect.gen(function* () {
      const { webhook, webhooks, workflowId } = yield* scene
      const none = WorkflowId.make("wf_none")
      const unknown = yield* Effect.flip(webhooks.create(account, none, {}))
      assert.deepInclude(unknown, { _tag: "WorkflowNotFound", workflowId: none })
      const { create } = yield* Triggers
      const schedule = yield* create(account, workflowId, { everySeconds: 60 })
      for (const key of [
        { ...webhook, accountId: AccountId.make("acc_stranger") },
        { ...webhook, id: TriggerId.make("trg_none") },
        schedule,
      ]) {
        for (const asked of [
          Effect.asVoid(webhooks.update(key, { enabled: false })),
          Effect.asVoid(webhooks.readdress(key)),
        ]) {
          const refused = yield* Effect.flip(asked)
          assert.deepInclude(refused, { _tag: "TriggerNotFound", triggerId: key.id })
        }
      }
    }).pipe(at),
  )

  it.effect("change a webhook that others change meanwhile, and give up where that goes on", () =>
    Effect.gen(function* () {
      const { webhook, webhooks } = yield* scene
      trouble.changes = triggerWriteAttempts - 1
      const changed = yield* webhooks.update(webhook, { respond: "output" })
      assert.strictEqual(changed.respond, "output")
      trouble.changes = 1_000
      const failed = yield* Effect.flip(webhooks.update(webhook, { respond: "at_once" }))
      assert.deepInclude(failed, { _tag: "StorageError", operation: "TriggerStore.replace" })
      assert.strictEqual(trouble.changes, 1_000 - triggerWriteAttempts)
    }).pipe(at),
  )
})
