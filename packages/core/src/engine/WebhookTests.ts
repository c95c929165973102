/**
 * Tests of inbound webhooks: makes test addresses, and says what a request would start.
 *
 * Guarantees: only the call that makes a test address returns it. A test starts no run and takes no
 * idempotency key. Leaves out: HTTP, and judging senders, which {@link InboundWebhooks} does.
 */
import { Clock, Context, Effect, Layer, Option, type Redacted } from "effect"
import { Digest } from "effect/crypto"
import type { InboundWebhook } from "../domain/InboundWebhook.ts"
import type { JsonObject } from "../domain/Json.ts"
import { handlerMessageLength, keptRequestLength, webhookTestMillis } from "../domain/Limits.ts"
import { firstOf } from "../domain/Quote.ts"
import type { ReceivedRequest, WebhookTest } from "../domain/WebhookTest.ts"
import { keptBody, keptHeaders, keptValues, testPrefix } from "../domain/WebhookTest.ts"
import type { StorageError } from "../ports/StorageError.ts"
import type { TriggerKey } from "../ports/TriggerStore.ts"
import { TriggerStore } from "../ports/TriggerStore.ts"
import { WorkflowStore } from "../ports/WorkflowStore.ts"
import { requestFieldsOf } from "../graph/internal/RequestFields.ts"
import { Ids } from "./Ids.ts"
import { takenWorkflow } from "./internal/TakenWorkflow.ts"
import { atAddress, newAddress } from "./internal/WebhookAddress.ts"
import type { WebhookBody, WebhookRequest } from "./internal/WebhookRequest.ts"
import { valuesOf } from "./internal/WebhookRequest.ts"
import { NodeTypes } from "./NodeTypes.ts"
import type { VersionNotFound, WorkflowNotFound } from "./Refusals.ts"
import { InvalidGraph } from "./Refusals.ts"
import { Runs } from "./Runs.ts"
import { TriggerNotFound } from "./Triggers.ts"

/** A test with the part of its address that nobody can guess. */
export interface AddressedTest extends WebhookTest {
  readonly token: Redacted.Redacted
}

/** A request as it came. */
export interface Arrival extends Pick<WebhookRequest, "headers" | "method"> {
  readonly query: string
  /** The bytes of a sender that showed who it is. */
  readonly body?: Uint8Array | undefined
}

/** What would have become of a request. */
export type TestResult = { readonly values: JsonObject } | { readonly refused: string }

export class WebhookTests extends Context.Service<
  WebhookTests,
  {
    /** Gives a webhook a new test address for an hour. What an earlier one has got is forgotten. */
    readonly begin: (
      key: TriggerKey,
    ) => Effect.Effect<AddressedTest, TriggerNotFound | StorageError>
    /** Takes the test address away, and forgets what arrived there. */
    readonly end: (key: TriggerKey) => Effect.Effect<void, TriggerNotFound | StorageError>
    /** What arrived at the test address. */
    readonly get: (key: TriggerKey) => Effect.Effect<WebhookTest, TriggerNotFound | StorageError>
    /** The webhook of a test address, also one that is switched off. None: it has expired. */
    readonly find: (
      token: Redacted.Redacted,
    ) => Effect.Effect<Option.Option<InboundWebhook>, StorageError>
    /**
     * The values of the run that a request would start. `undefined`: the body has no fields, and
     * the webhook does not say where it goes.
     */
    readonly valuesOf: (
      webhook: InboundWebhook,
      request: WebhookRequest,
      body: WebhookBody,
    ) => Effect.Effect<
      JsonObject | undefined,
      InvalidGraph | WorkflowNotFound | VersionNotFound | StorageError
    >
    /** Keeps a request for the owner, and forgets all but the last twenty. */
    readonly note: (
      webhook: InboundWebhook,
      request: Arrival,
      result: TestResult,
    ) => Effect.Effect<void, StorageError>
  }
>()("@millrace/core/engine/WebhookTests") {
  static readonly layer: Layer.Layer<
    WebhookTests,
    never,
    TriggerStore | WorkflowStore | Runs | NodeTypes | Ids | Digest.Digest
  > = Layer.effect(
    WebhookTests,
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
  digest: Digest.Digest,
})
type Services = Effect.Success<typeof servicesOf>

const unknown = ({ id }: TriggerKey) => new TriggerNotFound({ triggerId: id })

const begin = (services: Services): WebhookTests["Service"]["begin"] =>
  Effect.fn("WebhookTests.begin")(function* (key) {
    const { addressHash, token } = yield* newAddress(services, testPrefix)
    const expiresAt = yield* services.store.beginTest(key, addressHash, webhookTestMillis)
    if (Option.isNone(expiresAt)) return yield* unknown(key)
    return { token, expiresAt: expiresAt.value, requests: [] }
  })

const valuesFor = (services: Services): WebhookTests["Service"]["valuesOf"] =>
  Effect.fn("WebhookTests.valuesOf")(function* (webhook, request, body) {
    const { accountId, workflowId } = webhook
    const version = webhook.version ?? undefined
    const taken = yield* takenWorkflow(services.workflows, accountId, { workflowId, version })
    const fields = requestFieldsOf(taken.nodes, services.types.all())
    const values = valuesOf(webhook, fields, request, body)
    if (values === undefined) return undefined
    const { problems } = yield* services.runs.validate(accountId, { workflowId, version, values })
    if (problems.length === 0) return values
    return yield* new InvalidGraph({ problems: problems.map(({ message }) => message) })
  })

const make = Effect.map(servicesOf, (services) => {
  const { clock, digest, store } = services
  return WebhookTests.of({
    begin: begin(services),
    end: Effect.fn("WebhookTests.end")(function* (key) {
      if (!(yield* store.endTest(key))) return yield* unknown(key)
    }),
    get: Effect.fn("WebhookTests.get")(function* (key) {
      const found = yield* store.findTest(key)
      return Option.isSome(found) ? found.value : yield* unknown(key)
    }),
    find: (token) => atAddress(digest, token, store.findByTestAddress),
    valuesOf: valuesFor(services),
    note: Effect.fn("WebhookTests.note")(({ id }, { body, headers, method, query }, result) => {
      const isRefused = "refused" in result
      const request: ReceivedRequest = {
        at: clock.currentTimeMillisUnsafe(),
        method,
        query: query.slice(0, keptRequestLength),
        headers: keptHeaders(headers),
        body: body === undefined ? null : keptBody(body),
        values: isRefused ? null : keptValues(result.values),
        refused: isRefused ? firstOf(result.refused, handlerMessageLength) : null,
      }
      return store.noteRequest(id, request)
    }),
  })
})
