/**
 * What a handler sees of its attempt: the service {@link CurrentNode}.
 *
 * Guarantees: a handler may take methods off the object. Nothing is made before a handler asks for
 * it, because there is one object for each attempt. Leaves out: calling the handler.
 */
import { Effect, Result } from "effect"
import { problemOfCorrelation } from "../../domain/WorkflowSignal.ts"
import type { Json } from "../../domain/Json.ts"
import { frozenCopy } from "../../domain/Json.ts"
import { childrenAtOnce, stateLength } from "../../domain/Limits.ts"
import { quoted } from "../../domain/Quote.ts"
import type { Wait } from "../../domain/Message.ts"
import { childMessage, problemOfName } from "../../domain/Message.ts"
import type { BodyRequest, ChildRun, CurrentNode, NodeError } from "../CurrentNode.ts"
import { Suspension } from "../CurrentNode.ts"
import { linkOf } from "./ApprovalTokens.ts"
import type { AttemptRequest } from "./AttemptRequest.ts"

type Service = CurrentNode["Service"]

/** What an attempt does for its handler. */
export interface ServingAttempt {
  readonly request: AttemptRequest
  /** True once the items that a loop has computed have to be stored before the next one. */
  readonly isTurnOver: boolean
  /** Prepares a run of the node's body, and computes it if it ends at once. */
  readonly startBody: (request: BodyRequest) => Effect.Effect<ChildRun, NodeError>
  readonly charge: (credits: number) => void
  readonly log: Service["log"]
  readonly watch: Service["watched"]
}

const problemOfWait = (wait: Wait): string | undefined => {
  const { correlation, filter, for: name, together, until } = wait
  const { length } = filter === undefined ? "" : JSON.stringify(filter)
  if (length > stateLength)
    return `its filter has ${length} characters; the limit is ${stateLength}`
  const problem = correlation === undefined ? undefined : problemOfCorrelation(correlation)
  if (problem !== undefined) return problem
  if (until !== undefined && !Number.isFinite(until)) return `${until} is no time`
  if (together === true && name !== childMessage) return "only ends of children come together"
  if (name !== undefined) return problemOfName(name)
  return until === undefined ? "it waits for nothing: it needs until, for, or both" : undefined
}

/** The state as it is kept: a frozen copy; or why it cannot be kept. */
const stateOf = (state: Json): Result.Result<Json, string> =>
  Result.flatMap(frozenCopy(state), ({ value }) => {
    const { length } = JSON.stringify(value)
    return length <= stateLength
      ? Result.succeed(value)
      : Result.fail(`its state has ${length} characters; the limit is ${stateLength}`)
  })

const problemOfStarts = (wait: Wait, starts: ReadonlyArray<ChildRun>): string | undefined => {
  const { length } = starts.filter(({ run }) => run.finishedAt === null)
  if (length > childrenAtOnce) return `it starts ${length} runs; the limit is ${childrenAtOnce}`
  const isHeard = length === 0 || wait.for === childMessage
  return isHeard ? undefined : `it starts runs and does not wait for ${quoted(childMessage)}`
}

/** Leaves a handler until later. */
const suspend: Service["suspend"] = (wait, state, starts = []) => {
  const problem = problemOfWait(wait) ?? problemOfStarts(wait, starts)
  const kept = problem === undefined ? stateOf(state) : Result.fail(problem)
  if (Result.isFailure(kept)) {
    return Effect.die(new Error(`cannot be suspended: ${kept.failure}`))
  }
  const until = wait.until === undefined ? undefined : Math.ceil(wait.until)
  return Effect.die(new Suspension({ ...wait, until }, kept.success, starts))
}

/** The node run of an attempt, as its handler sees it. */
export class AttemptNode implements Service {
  readonly #attempt: ServingAttempt

  constructor(attempt: ServingAttempt) {
    this.#attempt = attempt
  }

  get #request(): AttemptRequest {
    return this.#attempt.request
  }

  get accountId(): Service["accountId"] {
    return this.#request.run.accountId
  }

  get workflowId(): Service["workflowId"] {
    return this.#request.run.workflowId
  }

  get runId(): Service["runId"] {
    return this.#request.run.id
  }

  get nodeId(): string {
    return this.#request.node.id
  }

  get nodeType(): string {
    return this.#request.node.type.key
  }

  get mode(): string {
    const { settings, type } = this.#request.node
    return settings.mode ?? type.modes[0] ?? ""
  }

  get attempt(): number {
    return this.#request.started.attempt
  }

  get idempotencyKey(): string {
    return `${this.runId}:${this.nodeId}`
  }

  get values(): Service["values"] {
    return this.#request.run.values
  }

  get resumed(): Service["resumed"] {
    return this.#request.started.state
  }

  get message(): Service["message"] {
    return this.#request.message
  }

  get openChildren(): number {
    return this.#request.started.children?.length ?? 0
  }

  get isTurnOver(): boolean {
    return this.#attempt.isTurnOver
  }

  get hasBody(): boolean {
    return this.#request.loop !== undefined
  }

  get confined(): Service["confined"] {
    return this.#request.secrets?.confined ?? []
  }

  get watched(): Service["watched"] {
    return (call) => this.#attempt.watch(call)
  }

  get log(): Service["log"] {
    return (level, message, data) => this.#attempt.log(level, message, data)
  }

  get suspend(): Service["suspend"] {
    return suspend
  }

  get charge(): Service["charge"] {
    return (credits) => Effect.sync(() => this.#attempt.charge(credits))
  }

  get prepareChild(): Service["prepareChild"] {
    const { node, run, shared, workflows } = this.#request
    return (child) =>
      "body" in child
        ? this.#attempt.startBody(child)
        : shared.children.prepare(run, node.id, child, workflows)
  }

  get children(): Service["children"] {
    const { node, run, shared } = this.#request
    return (after) => shared.children.listed(run, node.id, after)
  }

  get outputOfChild(): Service["outputOfChild"] {
    return this.#request.shared.children.outputOf
  }

  get approvalLink(): Service["approvalLink"] {
    const { node, run, shared } = this.#request
    return (approver) => linkOf(shared.links, run, node.id, approver)
  }
}
