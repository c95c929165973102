/**
 * Inbound webhooks: makes their addresses, judges what is sent there, and starts runs.
 *
 * Guarantees: only the call that makes an address returns it. An address that is wrong and one that
 * is switched off cost the same read and have the same answer. A run gets no header that carries
 * credentials. Requests with the same value of the header that the owner names start one run.
 * Leaves out: HTTP, reading bodies, and schedules.
 */
import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import { Digest } from "effect/crypto"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import { TriggerId } from "../domain/Id.ts"
import type { InboundWebhook, WebhookSettings } from "../domain/InboundWebhook.ts"
import { addressPrefix } from "../domain/InboundWebhook.ts"
import { triggerWriteAttempts } from "../domain/Limits.ts"
import type { WebhookConfig } from "../domain/Webhook.ts"
import { StorageError } from "../ports/StorageError.ts"
import type { TooManyTriggers, TriggerKey } from "../ports/TriggerStore.ts"
import { TriggerStore } from "../ports/TriggerStore.ts"
import type { Vault } from "../ports/Vault.ts"
import type { WebhookTargets } from "../ports/WebhookTargets.ts"
import { WorkflowStore } from "../ports/WorkflowStore.ts"
import { requestFieldsOf } from "../graph/internal/RequestFields.ts"
import { CurrentSecrets } from "./CurrentSecrets.ts"
import { Ids } from "./Ids.ts"
import { knownVersion, takenWorkflow } from "./internal/TakenWorkflow.ts"
import { atAddress, hashOf, newAddress } from "./internal/WebhookAddress.ts"
import type { WebhookBody, WebhookRequest } from "./internal/WebhookRequest.ts"
import { nameOf, valuesOf } from "./internal/WebhookRequest.ts"
import { problemOfSecret, problemsOf, withChange } from "./internal/WebhookForm.ts"
import * as WebhookSignature from "./internal/WebhookSignature.ts"
import { NodeTypes } from "./NodeTypes.ts"
import type { IdempotencyKeyTaken, InvalidWebhook, VersionNotFound } from "./Refusals.ts"
import { WorkflowNotFound } from "./Refusals.ts"
import type { StartedOnce, StartRefusal } from "./Runs.ts"
import { Runs } from "./Runs.ts"
import { InvalidTrigger, TriggerNotFound } from "./Triggers.ts"
import { makeAdmit, webhookWith } from "./Webhooks.ts"

export type { TextParts, WebhookBody, WebhookRequest } from "./internal/WebhookRequest.ts"
export { isFromNetworks } from "./internal/WebhookForm.ts"

/** The fields to set of an inbound webhook. */
export type WebhookChange = {
  readonly [K in keyof WebhookSettings]?: WebhookSettings[K] | undefined
} & {
  /** The webhook of its runs. */
  readonly webhook?: WebhookConfig | null | undefined
}

/** A webhook with the part of its address that nobody can guess. */
export interface AddressedWebhook {
  readonly webhook: InboundWebhook
  readonly token: Redacted.Redacted
}

/** Why a webhook is not accepted. */
type Unacceptable =
  | InvalidTrigger
  | InvalidWebhook
  | WorkflowNotFound
  | VersionNotFound
  | StorageError

export class InboundWebhooks extends Context.Service<
  InboundWebhooks,
  {
    /** Stores a new webhook, with a new address. */
    readonly create: (
      account: AccountId,
      workflowId: WorkflowId,
      settings: WebhookChange,
    ) => Effect.Effect<AddressedWebhook, Unacceptable | TooManyTriggers>
    /** Sets the given fields. The address stays. */
    readonly update: (
      key: TriggerKey,
      change: WebhookChange,
    ) => Effect.Effect<InboundWebhook, Unacceptable | TriggerNotFound>
    /** Gives it a new address. The old one is nothing any more. */
    readonly readdress: (
      key: TriggerKey,
    ) => Effect.Effect<AddressedWebhook, TriggerNotFound | StorageError>
    /** The webhook of an address. None: there is none, or it is switched off. */
    readonly find: (
      token: Redacted.Redacted,
    ) => Effect.Effect<Option.Option<InboundWebhook>, StorageError>
    /** True if the request comes from the webhook's sender. */
    readonly verify: (
      webhook: InboundWebhook,
      request: WebhookRequest,
    ) => Effect.Effect<boolean, StorageError>
    /**
     * Starts the run of a request, or finds the run that an earlier request like it has started.
     * `undefined`: the body has no fields, and the webhook does not say where it goes.
     */
    readonly start: (
      webhook: InboundWebhook,
      request: WebhookRequest,
      body: WebhookBody,
    ) => Effect.Effect<StartedOnce | undefined, StartRefusal | IdempotencyKeyTaken | StorageError>
  }
>()("@millrace/core/engine/InboundWebhooks") {
  static readonly layer: Layer.Layer<
    InboundWebhooks,
    never,
    TriggerStore | WorkflowStore | Runs | NodeTypes | Ids | Digest.Digest | WebhookTargets | Vault
  > = Layer.effect(
    InboundWebhooks,
    Effect.suspend(() => make),
  )
}

const servicesOf = Effect.all({
  store: TriggerStore,
  workflows: WorkflowStore,
  runs: Runs,
  types: NodeTypes,
  ids: Ids,
  clock: Clock.Clock,
  secrets: CurrentSecrets,
  digest: Digest.Digest,
  admit: makeAdmit,
  isFromSender: WebhookSignature.make,
})
type Services = Effect.Success<typeof servicesOf>

/** The secret of the webhook's check; `undefined`: the account has it no more, or it has none. */
const secretFor = Effect.fnUntraced(function* (
  { secrets }: Services,
  { accountId, verify }: Pick<InboundWebhook, "accountId" | "verify">,
  isUsed: boolean,
) {
  if (verify.type === "none") return undefined
  const names = [verify.secret]
  const [found] = yield* secrets.open(accountId, names, isUsed ? names : [])
  return found?.value
})

/** Fails with everything that stands against these settings. */
const check = Effect.fnUntraced(function* (
  services: Services,
  accountId: AccountId,
  workflowId: WorkflowId,
  settings: WebhookSettings,
) {
  const { verify, version } = settings
  const problems = problemsOf(settings)
  if (problems.length === 0 && verify.type !== "none") {
    const secret = yield* Effect.catchTag(
      secretFor(services, { accountId, verify }, false),
      "VaultClosed",
      ({ message }) => new InvalidTrigger({ message: `verify.secret: ${message}` }),
    )
    problems.push(...problemOfSecret(verify, secret))
  }
  if (problems.length > 0) return yield* new InvalidTrigger({ message: problems.join("; ") })
  yield* knownVersion(services.workflows, accountId, workflowId, version)
})

const create = (services: Services): InboundWebhooks["Service"]["create"] =>
  Effect.fn("InboundWebhooks.create")(function* (accountId, workflowId, change) {
    const { admit, clock, ids, store } = services
    const settings = withChange(undefined, change)
    yield* check(services, accountId, workflowId, settings)
    const ofRuns = yield* webhookWith(admit, accountId, null, change.webhook)
    const now = clock.currentTimeMillisUnsafe()
    const { addressHash, token } = yield* newAddress(services, addressPrefix)
    const webhook: InboundWebhook = {
      id: TriggerId.make(yield* ids.make("trigger")),
      accountId,
      workflowId,
      type: "webhook",
      ...settings,
      webhook: ofRuns,
      addressHash,
      createdAt: now,
      updatedAt: now,
      fence: 0,
    }
    if (!(yield* store.insert(webhook))) return yield* new WorkflowNotFound({ workflowId })
    return { webhook, token }
  })

/** Replaces a webhook by what follows from it, however often others change it meanwhile. */
const change = Effect.fnUntraced(function* <E>(
  { clock, store }: Services,
  key: TriggerKey,
  next: (webhook: InboundWebhook) => Effect.Effect<InboundWebhook, E>,
) {
  for (let attempt = 0; attempt < triggerWriteAttempts; attempt++) {
    const found = Option.getOrUndefined(yield* store.find(key))
    if (found?.type !== "webhook") return yield* new TriggerNotFound({ triggerId: key.id })
    const updatedAt = clock.currentTimeMillisUnsafe()
    const changed = { ...(yield* next(found)), updatedAt }
    if (yield* store.replace(changed)) return changed
  }
  const cause = new Error(`trigger ${key.id} is changed too often`)
  return yield* new StorageError({ operation: "TriggerStore.replace", cause })
})

const update = (services: Services): InboundWebhooks["Service"]["update"] =>
  Effect.fn("InboundWebhooks.update")((key, wanted) =>
    change(
      services,
      key,
      Effect.fnUntraced(function* (known) {
        const settings = withChange(known, wanted)
        const { accountId, workflowId } = key
        yield* check(services, accountId, workflowId, settings)
        const { admit } = services
        const webhook = yield* webhookWith(admit, accountId, known.webhook, wanted.webhook)
        return { ...known, ...settings, webhook }
      }),
    ),
  )

const readdress = (services: Services): InboundWebhooks["Service"]["readdress"] =>
  Effect.fn("InboundWebhooks.readdress")(function* (key) {
    const { addressHash, token } = yield* newAddress(services, addressPrefix)
    const webhook = yield* change(services, key, (each) => Effect.succeed({ ...each, addressHash }))
    return { webhook, token }
  })

const verify = (services: Services): InboundWebhooks["Service"]["verify"] =>
  Effect.fn("InboundWebhooks.verify")(function* (webhook, request) {
    if (webhook.verify.type === "none") return true
    const opened = yield* Effect.result(secretFor(services, webhook, true))
    if (opened._tag === "Failure") {
      if (opened.failure._tag === "StorageError") return yield* opened.failure
      yield* Effect.logWarning(`cannot check requests to ${webhook.id}`, opened.failure)
      return false
    }
    const secret = opened.success
    if (secret === undefined) {
      yield* Effect.logWarning(`cannot check requests to ${webhook.id}: its secret is gone`)
      return false
    }
    const now = services.clock.currentTimeMillisUnsafe()
    return yield* services.isFromSender(webhook.verify, Redacted.value(secret), request, now)
  })

const start = (services: Services): InboundWebhooks["Service"]["start"] =>
  Effect.fn("InboundWebhooks.start")(function* (webhook, request, body) {
    const { runs, workflows } = services
    const { accountId, id: triggerId, workflowId } = webhook
    const version = webhook.version ?? undefined
    const taken = yield* takenWorkflow(workflows, accountId, { workflowId, version })
    const values = valuesOf(
      webhook,
      requestFieldsOf(taken.nodes, services.types.all()),
      request,
      body,
    )
    if (values === undefined) return undefined
    const ofTrigger = { source: "webhook" as const, triggerId, admittedWebhook: webhook.webhook }
    const asked = { workflowId, version, values, ...ofTrigger }
    const told = nameOf(webhook, request, body)
    if (told === undefined) {
      return { runId: (yield* runs.start(accountId, asked)).id, isReplay: false }
    }
    const key = `webhook ${triggerId} ${yield* hashOf(services.digest, told)}`
    return yield* runs.startOnce(accountId, asked, { key, bodyHash: "webhook" })
  })

const make = Effect.map(servicesOf, (services) =>
  InboundWebhooks.of({
    create: create(services),
    update: update(services),
    readdress: readdress(services),
    find: (token) => atAddress(services.digest, token, services.store.findByAddress),
    verify: verify(services),
    start: start(services),
  }),
)
