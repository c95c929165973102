/**
 * What the engine refuses, as facts: each is one sentence for the caller and changes nothing.
 */
import { Schema } from "effect"
import { toNumber } from "../domain/Credits.ts"
import { messagesPerRun } from "../domain/Limits.ts"
import { plain } from "../domain/Quote.ts"

/** The account has no such workflow. */
export class WorkflowNotFound extends Schema.TaggedError<WorkflowNotFound>()("WorkflowNotFound", {
  workflowId: Schema.String,
}) {
  override get message(): string {
    return `Workflow ${plain(this.workflowId)} does not exist`
  }
}

/** The account has no such run. */
export class RunNotFound extends Schema.TaggedError<RunNotFound>()("RunNotFound", {
  runId: Schema.String,
}) {
  override get message(): string {
    return `Run ${plain(this.runId)} does not exist`
  }
}

/** There is no open run of this identifier that has lost owners. */
export class NotInQuarantine extends Schema.TaggedError<NotInQuarantine>()("NotInQuarantine", {
  runId: Schema.String,
}) {
  override get message(): string {
    return `Run ${plain(this.runId)} is not in quarantine: it has made progress, ended or never was`
  }
}

/** How many problems one sentence names; the rest are counted. */
export const problemsShown = 20

/** A graph, or the values for one, cannot be accepted. Each problem is a sentence of its own. */
export class InvalidGraph extends Schema.TaggedError<InvalidGraph>()("InvalidGraph", {
  problems: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const shown = this.problems.slice(0, problemsShown).join("; ")
    const more = this.problems.length - problemsShown
    return more > 0 ? `${shown}; and ${more} more` : shown
  }
}

/** The workflow's revision is not the one the caller had seen. */
export class RevisionMismatch extends Schema.TaggedError<RevisionMismatch>()("RevisionMismatch", {
  workflowId: Schema.String,
  revision: Schema.Int,
}) {
  override get message(): string {
    return `Workflow ${this.workflowId} was changed meanwhile; it is at revision ${this.revision}`
  }
}

/** The workflow is being changed by so many at once that this change did not get its step. */
export class TooManyChanges extends Schema.TaggedError<TooManyChanges>()("TooManyChanges", {
  workflowId: Schema.String,
}) {
  override get message(): string {
    return `Workflow ${this.workflowId} is being changed by too many at once; try again`
  }
}

/** A start allows its run to cost less than it is expected to. */
export class BeyondMaxCredits extends Schema.TaggedError<BeyondMaxCredits>()("BeyondMaxCredits", {
  required: Schema.Int,
  maxCredits: Schema.Int,
}) {
  override get message(): string {
    const [required, most] = [toNumber(this.required), toNumber(this.maxCredits)]
    return `The run requires ${required} credits, and its maxCredits is ${most}`
  }
}

/** The webhook of a start cannot be used. The sentence names the field. */
export class InvalidWebhook extends Schema.TaggedError<InvalidWebhook>()("InvalidWebhook", {
  message: Schema.String,
}) {}

/** There is no such delivery, or it is not kept any more. */
export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", {
  deliveryId: Schema.String,
}) {
  override get message(): string {
    return `Delivery ${plain(this.deliveryId)} does not exist`
  }
}

/** The name of a start was given to another request before. */
export class IdempotencyKeyTaken extends Schema.TaggedError<IdempotencyKeyTaken>()(
  "IdempotencyKeyTaken",
  {
    runId: Schema.String,
  },
) {
  override get message(): string {
    return "The idempotency key was used for another start before"
  }
}

/** A message cannot be sent to any run. */
export class InvalidMessage extends Schema.TaggedError<InvalidMessage>()("InvalidMessage", {
  problem: Schema.String,
}) {
  override get message(): string {
    return `The message was not sent: ${this.problem}`
  }
}

/** The run has as many messages that no node has taken as it may have. */
export class InboxFull extends Schema.TaggedError<InboxFull>()("InboxFull", {
  runId: Schema.String,
}) {
  override get message(): string {
    const what = `Run ${this.runId} has ${messagesPerRun} messages that no node has taken`
    return `${what}; send this one again once a node has taken one`
  }
}

/** A run that has ended can neither be canceled nor sent a message. */
export class RunEnded extends Schema.TaggedError<RunEnded>()("RunEnded", {
  runId: Schema.String,
  status: Schema.String,
}) {
  override get message(): string {
    return `Run ${this.runId} has already ended: ${this.status}`
  }
}
