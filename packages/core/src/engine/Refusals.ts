/**
 * The errors with which the engine refuses a call. Each is named after the fact and has one
 * sentence for the caller. A refused call has changed nothing.
 */
import { Schema } from "effect"
import { toNumber } from "../domain/Credits.ts"
import {
  messagesPerRun,
  problemsShown,
  signalsPerWorkflow,
  versionsPerWorkflow,
} from "../domain/Limits.ts"
import { plain } from "../domain/Quote.ts"

/** The account has no such workflow. */
export class WorkflowNotFound extends Schema.TaggedError<WorkflowNotFound>()("WorkflowNotFound", {
  workflowId: Schema.String,
}) {
  override get message(): string {
    return `Workflow ${plain(this.workflowId)} does not exist`
  }
}

/** The workflow has no version of this number, or has it no more. */
export class VersionNotFound extends Schema.TaggedError<VersionNotFound>()("VersionNotFound", {
  workflowId: Schema.String,
  number: Schema.Int,
}) {
  override get message(): string {
    const kept = `the newest ${versionsPerWorkflow} are kept`
    return `Workflow ${plain(this.workflowId)} has no version ${this.number}; ${kept}`
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

/** The run has no such node. */
export class NodeNotFound extends Schema.TaggedError<NodeNotFound>()("NodeNotFound", {
  runId: Schema.String,
  nodeId: Schema.String,
}) {
  override get message(): string {
    return `Run ${plain(this.runId)} has no node ${plain(this.nodeId)}`
  }
}

/** The run has no such value, or it is gone. */
export class ValueNotFound extends Schema.TaggedError<ValueNotFound>()("ValueNotFound", {
  runId: Schema.String,
  valueId: Schema.String,
}) {
  override get message(): string {
    return `Run ${plain(this.runId)} has no value ${plain(this.valueId)}`
  }
}

/** The run is unknown, has ended, or has no losses. */
export class NotInQuarantine extends Schema.TaggedError<NotInQuarantine>()("NotInQuarantine", {
  runId: Schema.String,
}) {
  override get message(): string {
    const why = "it has made progress, has ended, or never was in quarantine"
    return `Run ${plain(this.runId)} is not in quarantine: ${why}`
  }
}

/** A graph, or the values for it, cannot be accepted. Each problem is one sentence. */
export class InvalidGraph extends Schema.TaggedError<InvalidGraph>()("InvalidGraph", {
  problems: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const shown = this.problems.slice(0, problemsShown).join("; ")
    const more = this.problems.length - problemsShown
    return more > 0 ? `${shown}; and ${more} more` : shown
  }
}

/** The workflow's revision is not the one that the caller stated. */
export class RevisionMismatch extends Schema.TaggedError<RevisionMismatch>()("RevisionMismatch", {
  workflowId: Schema.String,
  revision: Schema.Int,
}) {
  override get message(): string {
    return `Workflow ${this.workflowId} was changed meanwhile; it is at revision ${this.revision}`
  }
}

/** Other changes of the workflow came first at every attempt, so this one was not made. */
export class TooManyChanges extends Schema.TaggedError<TooManyChanges>()("TooManyChanges", {
  workflowId: Schema.String,
}) {
  override get message(): string {
    return `Too many callers change workflow ${this.workflowId} at once; try again`
  }
}

/** The run's estimate is above the `maxCredits` of its start. Both in micro-credits. */
export class BeyondMaxCredits extends Schema.TaggedError<BeyondMaxCredits>()("BeyondMaxCredits", {
  required: Schema.Int,
  maxCredits: Schema.Int,
}) {
  override get message(): string {
    const [required, most] = [toNumber(this.required), toNumber(this.maxCredits)]
    return `The run requires ${required} credits, and its maxCredits is ${most}`
  }
}

/** A start that is not to wait would have to. */
export class RunsFull extends Schema.TaggedError<RunsFull>()("RunsFull", {
  /** Why, as a clause. */
  reason: Schema.String,
  retryAfterSeconds: Schema.Int,
}) {
  override get message(): string {
    return `The run would have to wait: ${this.reason}; start it again later, or let it wait`
  }
}

/** As many runs of the account wait as may. */
export class QueueFull extends Schema.TaggedError<QueueFull>()("QueueFull", {
  limit: Schema.Int,
  retryAfterSeconds: Schema.Int,
}) {
  override get message(): string {
    return `The account has ${this.limit} runs that wait, which is the limit; start this one later`
  }
}

/** The webhook of a start cannot be used. The message names the field. */
export class InvalidWebhook extends Schema.TaggedError<InvalidWebhook>()("InvalidWebhook", {
  message: Schema.String,
}) {}

/** The account has no such delivery, or the delivery was removed because it is old. */
export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", {
  deliveryId: Schema.String,
}) {
  override get message(): string {
    return `Delivery ${plain(this.deliveryId)} does not exist`
  }
}

/** The idempotency key of a start was used for a different start before, which made `runId`. */
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

/** The message is malformed: no run could take it. */
export class InvalidMessage extends Schema.TaggedError<InvalidMessage>()("InvalidMessage", {
  problem: Schema.String,
}) {
  override get message(): string {
    return `The message was not sent: ${this.problem}`
  }
}

/** The run's inbox is full. */
export class InboxFull extends Schema.TaggedError<InboxFull>()("InboxFull", {
  runId: Schema.String,
}) {
  override get message(): string {
    const what = `Run ${this.runId} has ${messagesPerRun} messages that no node has taken`
    return `${what}; send this one again once a node has taken one`
  }
}

/** Too many signals to the workflow wait for runs. */
export class SignalsFull extends Schema.TaggedError<SignalsFull>()("SignalsFull", {
  workflowId: Schema.String,
}) {
  override get message(): string {
    const what = `Workflow ${plain(this.workflowId)} has ${signalsPerWorkflow} signals`
    return `${what} that no run waits for; send this one again once a run has taken one`
  }
}

/** The run has no such node that asks a person. */
export class ApprovalNotFound extends Schema.TaggedError<ApprovalNotFound>()("ApprovalNotFound", {
  runId: Schema.String,
  nodeId: Schema.String,
}) {
  override get message(): string {
    return `Run ${plain(this.runId)} has no approval ${plain(this.nodeId)}`
  }
}

/** The approval waits for nobody, or not for whoever has this link. The message says why. */
export class ApprovalOver extends Schema.TaggedError<ApprovalOver>()("ApprovalOver", {
  message: Schema.String,
  /** How it was decided, if it was. */
  outcome: Schema.optionalKey(Schema.Literals(["approved", "rejected"])),
}) {}

/** A decision does not fit the form of its approval. The message names the field. */
export class InvalidDecision extends Schema.TaggedError<InvalidDecision>()("InvalidDecision", {
  message: Schema.String,
}) {}

/** The approval does not ask whoever decides, or lets them do no such thing. */
export class NotApprover extends Schema.TaggedError<NotApprover>()("NotApprover", {
  message: Schema.String,
}) {}

/** The run goes on, so there is nothing to take up again. */
export class RunOpen extends Schema.TaggedError<RunOpen>()("RunOpen", {
  runId: Schema.String,
}) {
  override get message(): string {
    return `Run ${plain(this.runId)} goes on; wait for its end, or cancel it`
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
