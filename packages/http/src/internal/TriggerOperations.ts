/**
 * The operations on the triggers of workflows.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import { WebhookSettings } from "@millrace/core/domain/InboundWebhook"
import { RunEndSettings } from "@millrace/core/domain/RunEndTrigger"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import { Timing } from "@millrace/core/domain/Trigger"
import { WebhookConfig } from "@millrace/core/domain/Webhook"
import type { AddressedWebhook } from "@millrace/core/engine/InboundWebhooks"
import { InboundWebhooks } from "@millrace/core/engine/InboundWebhooks"
import { RunEndTriggers, unknownWatch } from "@millrace/core/engine/RunEndTriggers"
import type { ShownSchedule } from "@millrace/core/engine/Triggers"
import { InvalidTrigger, Triggers } from "@millrace/core/engine/Triggers"
import { WebhookTests } from "@millrace/core/engine/WebhookTests"
import { Effect, Redacted, Schema } from "effect"
import { hookAddress, triggerAddress } from "../Addresses.ts"
import * as Form from "../Form.ts"
import type { Caller, OperationsOf } from "./Operation.ts"
import { seenBy } from "./SessionListing.ts"

/** Which trigger a call names. */
const keyOf = (
  accountId: AccountId,
  { id, triggerId }: { readonly id: string; readonly triggerId: string },
) => ({ accountId, workflowId: WorkflowId.make(id), id: TriggerId.make(triggerId) })

type AnyTrigger = ShownSchedule | InboundWebhook | RunEndTrigger

/** A trigger without the headers of its webhook, which may be secrets. */
const shownOf = <T extends Pick<AnyTrigger, "webhook">>(trigger: T) => {
  const { webhook } = trigger
  if (webhook === null) return { ...trigger, webhook }
  const { headers: _, origin: _origin, ...shown } = webhook
  return { ...trigger, webhook: shown }
}

/** An inbound webhook without what is for the engine only. */
const inboundOf = ({ addressHash: _, ...webhook }: InboundWebhook) => shownOf(webhook)

/** A trigger without what is for the engine only. */
const itemOf = (trigger: AnyTrigger) => {
  if (trigger.type === "schedule") return shownOf(trigger)
  return trigger.type === "run_end" ? shownOf(trigger) : inboundOf(trigger)
}

/** An inbound webhook with its address, which is shown once. */
const addressedOf = ({ token, webhook }: AddressedWebhook) => ({
  ...inboundOf(webhook),
  path: hookAddress(Redacted.value(token)),
})

const ofAll = ["values", "version", "enabled", "webhook"]
const namesOf = (fields: object) => Object.keys(fields).filter((name) => !ofAll.includes(name))

/** The names of the fields that triggers of one type have, beside those of all. */
const fieldsOf = {
  schedule: [...namesOf(Timing.fields), "catchUp", "overlap", "jitterSeconds"],
  webhook: namesOf(WebhookSettings.fields),
  run_end: namesOf(RunEndSettings.fields),
}

/** What a refusal calls a trigger of a type. */
const nouns = { schedule: "a schedule", webhook: "a webhook", run_end: "a trigger by a run's end" }

/** Fails with fields that triggers of this type do not have. */
const checkFields = (payload: object, type: keyof typeof fieldsOf) => {
  const known = [...ofAll, ...fieldsOf[type]]
  const wrong = Object.keys(payload).filter((name) => !known.includes(name))
  const clauses = wrong.map((name) => `${name}: ${nouns[type]} has no such field`)
  return wrong.length === 0
    ? Effect.void
    : Effect.fail(new InvalidTrigger({ message: clauses.join("; ") }))
}

/** Reads what of a change has another form in each type of trigger. */
const ownOf = <A, I>(into: Schema.Codec<A, I>) => {
  const webhook = Schema.optionalKey(Schema.NullOr(WebhookConfig))
  const read = Form.reader(Schema.Struct({ into: Schema.optionalKey(into), webhook }), "body")
  return (change: { readonly into?: unknown; readonly webhook?: unknown }) =>
    Effect.fromResult(
      read({
        ...(change.into === undefined ? {} : { into: change.into }),
        ...(change.webhook === undefined ? {} : { webhook: change.webhook }),
      }),
    )
}
const ownOfWebhook = ownOf(WebhookSettings.fields.into)
const ownOfRunEnd = ownOf(RunEndSettings.fields.into)

/** The workflow that a trigger would watch. One that a session does not see does not exist. */
const watchedBy = (session: Caller["session"], watch: string) => {
  const workflowId = WorkflowId.make(watch)
  return seenBy(session)?.includes(workflowId) === false
    ? Effect.fail(unknownWatch(workflowId))
    : Effect.succeed(workflowId)
}

/** The operations of the group `triggers`. */
export const make = Effect.gen(function* () {
  const triggers = yield* Triggers
  const webhooks = yield* InboundWebhooks
  const runEnds = yield* RunEndTriggers
  const tests = yield* WebhookTests
  return {
    list: ({ account, params }) =>
      Effect.map(triggers.list(account, WorkflowId.make(params.id)), (items) => ({
        value: { items: items.map((each) => itemOf(each as AnyTrigger)) },
      })),
    create: Effect.fnUntraced(function* ({ account, params, payload, session }) {
      const id = WorkflowId.make(params.id)
      if (payload.type === "webhook") {
        const made = yield* webhooks.create(account, id, payload)
        return { value: addressedOf(made), location: triggerAddress(made.webhook) }
      }
      if (payload.type === "run_end") {
        const watch = yield* watchedBy(session, payload.watch)
        const made = yield* runEnds.create(account, id, { ...payload, watch })
        return { value: shownOf(made), location: triggerAddress(made) }
      }
      const { type: _, ...settings } = payload
      const made = yield* triggers.create(account, id, settings)
      return { value: shownOf(made), location: triggerAddress(made) }
    }),
    get: ({ account, params }) =>
      Effect.map(triggers.get(keyOf(account, params)), (found) => ({ value: itemOf(found) })),
    update: Effect.fnUntraced(function* ({ account, params, payload, session }) {
      const key = keyOf(account, params)
      const known = yield* triggers.get(key)
      yield* checkFields(payload, known.type)
      const { into: _, watch: named, ...change } = payload
      if (known.type === "schedule") {
        return { value: shownOf(yield* triggers.update(key, change)) }
      }
      if (known.type === "webhook") {
        const { webhook: _webhook, ...rest } = change
        const own = yield* ownOfWebhook(payload)
        return { value: itemOf(yield* webhooks.update(key, { ...rest, ...own })) }
      }
      const { webhook: _webhook, ...rest } = change
      const own = yield* ownOfRunEnd(payload)
      // Nobody has facts brought of runs that they do not see.
      const isSwitch = Object.keys(payload).every((name) => name === "enabled")
      const watch = isSwitch ? undefined : yield* watchedBy(session, named ?? known.watch)
      return { value: shownOf(yield* runEnds.update(key, { ...rest, ...own, watch })) }
    }),
    readdress: ({ account, params }) =>
      Effect.map(webhooks.readdress(keyOf(account, params)), (made) => ({
        value: addressedOf(made),
      })),
    beginTest: ({ account, params }) =>
      Effect.map(tests.begin(keyOf(account, params)), ({ token, ...test }) => ({
        value: { ...test, path: hookAddress(Redacted.value(token)) },
      })),
    readTest: ({ account, params }) =>
      Effect.map(tests.get(keyOf(account, params)), (value) => ({ value })),
    endTest: ({ account, params }) =>
      Effect.map(tests.end(keyOf(account, params)), (value) => ({ value })),
    remove: ({ account, params }) =>
      Effect.map(triggers.remove(keyOf(account, params)), (value) => ({ value })),
    paused: ({ account }) =>
      Effect.map(triggers.pausedAt(account), (pausedAt) => ({ value: { pausedAt } })),
    pause: ({ account }) =>
      Effect.map(triggers.pause(account), (pausedAt) => ({ value: { pausedAt } })),
    resume: ({ account }) => Effect.as(triggers.resume(account), { value: { pausedAt: null } }),
  } satisfies OperationsOf<"triggers">
})
