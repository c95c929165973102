/**
 * Identifiers: a typed prefix and the text of a UUID, at most 64 characters, opaque to clients.
 *
 * Leaves out: making them. That needs randomness and time and is the engine's `Ids` service.
 */
import * as Schema from "effect/Schema"

/** The prefix of each kind of identifier that we make. */
export const prefixes = {
  account: "acc",
  workflow: "wf",
  run: "run",
  execution: "exe",
  key: "key",
  message: "msg",
  operation: "deed",
  secret: "sec",
  session: "ses",
  trigger: "trg",
  value: "val",
} as const

/** A kind of identifier that we make. */
export type IdKind = keyof typeof prefixes

const Text = Schema.NonEmptyString

/** Who owns workflows, runs and keys. Every store method that touches a tenant's data takes one. */
export const AccountId = Text.pipe(Schema.brand("AccountId"))
export type AccountId = typeof AccountId.Type

/** A stored workflow. */
export const WorkflowId = Text.pipe(Schema.brand("WorkflowId"))
export type WorkflowId = typeof WorkflowId.Type

/** One run of a workflow. */
export const RunId = Text.pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type

/** An API key; never its secret. */
export const KeyId = Text.pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/** A session; never its token. */
export const SessionId = Text.pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** What starts runs of a workflow by itself. */
export const TriggerId = Text.pipe(Schema.brand("TriggerId"))
export type TriggerId = typeof TriggerId.Type

/** A delivery of one event; receivers know it as `webhook-id`. */
export const DeliveryId = Text.pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

/** A process that executes runs. */
export const RunnerId = Text.pipe(Schema.brand("RunnerId"))
export type RunnerId = typeof RunnerId.Type
