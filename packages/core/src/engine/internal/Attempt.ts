/**
 * One attempt of one node: calls the handler, captures its log and charges, and turns whatever
 * happens into an {@link AttemptOutcome}. A handler cannot fail, crash or confuse anything beyond
 * its own node run.
 *
 * Guarantees: an output is plain JSON within the size limit, on declared ports only, and frozen, so
 * that no handler can change what another one sees. Leaves out: what the outcome means for the run.
 */
import type { Clock } from "effect"
import { Cause, Context, Effect, Exit, Option, Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import { fromNumber, isAmount } from "../../domain/Credits.ts"
import { problemOfCorrelation } from "../../domain/WorkflowSignal.ts"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { frozenCopy } from "../../domain/Json.ts"
import type { Limits } from "../../domain/Limits.ts"
import { childrenAtOnce, stateLength } from "../../domain/Limits.ts"
import type { Ports } from "../../domain/NodeType.ts"
import { quoted } from "../../domain/Quote.ts"
import type { CalledWorkflows, LogLine, PinnedOutputs, Run } from "../../domain/Run.ts"
import type { Message, Wait } from "../../domain/Message.ts"
import { childMessage, problemOfName } from "../../domain/Message.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { GraphNode } from "../../graph/Graph.ts"
import type { BodyRequest, ChildRun } from "../CurrentNode.ts"
import { CurrentNode, isNodeError, NodeError, Suspension } from "../CurrentNode.ts"
import { sentenceOf } from "../NodeDefinition.ts"
import { NodeLog } from "./NodeLog.ts"
import type { Executable } from "../NodeTypes.ts"
import type { Evaluator } from "../../ports/Evaluator.ts"
import { copyOutput, checkOutput, problemOfSize, without } from "./Output.ts"
import type { OutputCopy } from "./Output.ts"
import { linkOf, type ApprovalLinks } from "./ApprovalTokens.ts"
import type { BodyRun, ChildSource, Loop } from "./ChildSource.ts"
import { queuedOf } from "./ChildSource.ts"
import type { Given, NoInputs, Scripts } from "./Inputs.ts"
import type { RunSecrets } from "./RunSecrets.ts"
import type { Ready } from "./RunState.ts"
import type { RunValues } from "./RunValues.ts"
import { mostBytesPerCharacter } from "./RunValues.ts"
import { Turn } from "./Turn.ts"

/** What every end of an attempt tells. */
interface Ended {
  readonly index: number
  readonly attempt: number
  readonly logs: ReadonlyArray<LogLine> | null
  /** What the handler charged; `null` when it charged nothing itself. */
  readonly charged: MicroCredits | null
  readonly at: Timestamp
  /** What its node's expressions gave; absent without expressions, and while there is none. */
  readonly given?: Given | undefined
}

/** An attempt that failed, and what that says about another one. */
export interface FailedAttempt extends Ended {
  readonly _tag: "Failed"
  readonly error: string
  /** False where another attempt would fail alike. */
  readonly retryable: boolean
  /** The handler's own wish for the wait before the next attempt. */
  readonly retryAfterMillis: number | undefined
}

interface CompletedAttempt extends Ended {
  readonly _tag: "Completed"
  readonly output: JsonObject
}

/** How an attempt ended: with an output, with an error, or suspended until something is there. */
export type AttemptOutcome =
  | CompletedAttempt
  | (Ended & Pick<Suspension, "wait" | "state" | "starts"> & { readonly _tag: "Suspended" })
  | FailedAttempt

/** What an attempt needs to know. */
export interface AttemptRequest {
  readonly run: Run
  readonly node: GraphNode
  readonly executable: Executable<unknown>
  readonly attempt: number
  readonly inputs: JsonObject
  readonly given: Ready["given"]
  readonly evaluator: Evaluator
  readonly children: ChildSource
  /** The body of the node, if it is a loop with one, and what that uses of other nodes. */
  readonly loop: Loop | undefined
  /** Computes a run of that body, if it ends at once. */
  readonly computeBody: (child: BodyRun) => ChildRun | undefined
  /** The workflows that the run's graph calls. */
  readonly workflows: CalledWorkflows | undefined
  /** How the node comes by links for people; `undefined` if nobody makes any. */
  readonly links: ApprovalLinks | undefined
  /** The secrets of the run; `undefined` if its graph names none. */
  readonly secrets: RunSecrets | undefined
  /** The large values of the run; `undefined` if they are kept nowhere. */
  readonly values: RunValues | undefined
  /** What the attempt left behind when it suspended itself. */
  readonly state: Json | undefined
  /** The message that ended its wait. */
  readonly message: Message | undefined
  /** Its children of whose ends it has not heard. */
  readonly openChildren: number
  /** What earlier attempts of the node have logged. */
  readonly earlier: ReadonlyArray<LogLine> | null
  readonly limits: Limits
  readonly watched: CurrentNode["Service"]["watched"]
}

/** Why an attempt failed, as its node run and its policy need to know. */
type Failure = Pick<FailedAttempt, "error" | "retryable" | "retryAfterMillis">

const failureOf = (cause: Cause.Cause<unknown>): Failure => {
  if (Cause.hasInterruptsOnly(cause)) {
    return { error: "the handler interrupted itself", retryable: true, retryAfterMillis: undefined }
  }
  const error = Option.getOrElse(Cause.findErrorOption(cause), () => Cause.squash(cause))
  const own = isNodeError(error) ? error : undefined
  return {
    error: sentenceOf(error),
    retryable: own?.retryable ?? true,
    retryAfterMillis: own?.retryAfterMillis,
  }
}

const suspensionOf = (cause: Cause.Cause<unknown>): Suspension | undefined => {
  const defect = Option.getOrUndefined(Cause.findDefect(cause).pipe(Result.getSuccess))
  return defect instanceof Suspension ? defect : undefined
}

/** A refused output: the same handler would put out the same again. */
const refused = (ended: Ended, error: string): FailedAttempt => {
  const failure = { error, retryable: false, retryAfterMillis: undefined }
  return { _tag: "Failed", ...ended, ...failure }
}

/** What a handler's end means, before anybody asks what that means for the run. */
const outcomeOf = (
  exit: Exit.Exit<JsonObject, unknown>,
  ports: Ports,
  limits: Limits,
  ended: Ended,
): AttemptOutcome => {
  if (Exit.isSuccess(exit)) {
    const checked = checkOutput(ports, exit.value, limits)
    if (Result.isSuccess(checked)) return { _tag: "Completed", ...ended, output: checked.success }
    return refused(ended, checked.failure)
  }
  const suspension = suspensionOf(exit.cause)
  if (suspension === undefined) return { _tag: "Failed", ...ended, ...failureOf(exit.cause) }
  const { starts, state, wait } = suspension
  return { _tag: "Suspended", ...ended, wait, state, starts }
}

/** What a node has charged with this; another attempt would say the same nonsense again. */
const added = (before: MicroCredits | null, credits: number): MicroCredits => {
  const sum = (before ?? 0) + (credits < 0 ? Number.NaN : fromNumber(credits))
  if (isAmount(sum)) return sum
  const what = "a charge is a number from 0 of at most six decimals"
  throw new NodeError({ message: `charged ${String(credits)} credits; ${what}`, retryable: false })
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
const suspend: CurrentNode["Service"]["suspend"] = (wait, state, starts = []) => {
  const problem = problemOfWait(wait) ?? problemOfStarts(wait, starts)
  const kept = problem === undefined ? stateOf(state) : Result.fail(problem)
  if (Result.isFailure(kept)) {
    return Effect.die(new Error(`cannot be suspended: ${kept.failure}`))
  }
  const until = wait.until === undefined ? undefined : Math.ceil(wait.until)
  return Effect.die(new Suspension({ ...wait, until }, kept.success, starts))
}

/** A child of an attempt without secrets in what it is given. */
const maskedStart = <A extends Pick<ChildRun, "run" | "nodeRuns">>(
  child: A,
  secrets: RunSecrets,
) => {
  const values = secrets.json(child.run.values)
  const nodeRuns = (child.nodeRuns ?? []).map((row) => ({
    ...row,
    output: row.output === null ? null : secrets.json(row.output),
  }))
  return { ...child, run: { ...child.run, values }, nodeRuns }
}

/** The outcome of an attempt without secrets. */
const masked = (outcome: AttemptOutcome, secrets: RunSecrets): AttemptOutcome => {
  switch (outcome._tag) {
    case "Completed":
      return { ...outcome, output: secrets.json(outcome.output) }
    case "Failed":
      return { ...outcome, error: secrets.sentence(outcome.error) }
    case "Suspended": {
      const { starts, state, wait } = outcome
      const { correlation, filter } = wait
      const name = {
        ...(wait.for === undefined ? {} : { for: secrets.text(wait.for) }),
        ...(correlation === undefined ? {} : { correlation: secrets.text(correlation) }),
        ...(filter === undefined ? {} : { filter: secrets.json(filter) }),
      }
      const children = starts.map((each) => maskedStart(each, secrets))
      const kept = { state: secrets.json(state), wait: { ...wait, ...name } }
      return { ...outcome, ...kept, starts: children }
    }
  }
}

const noInputs = ({ error: message, isRetryable: retryable }: NoInputs) =>
  Exit.fail(new NodeError({ message, retryable }))

/** One attempt of a node. Mutable. */
export class Attempt {
  readonly number: number
  readonly #request: AttemptRequest
  readonly #now: () => Timestamp
  readonly #log: NodeLog
  readonly #current: CurrentNode["Service"]
  readonly #turn: Turn
  #charged: MicroCredits | null = null
  #given: Given | undefined

  constructor(request: AttemptRequest, clock: Clock.Clock) {
    this.number = request.attempt
    this.#request = request
    this.#now = () => clock.currentTimeMillisUnsafe()
    this.#log = new NodeLog(request, this.#now)
    this.#turn = new Turn(request.limits, this.#now)
    this.#current = this.#currentOf(request)
  }

  /** What the handler has charged so far. */
  get charged(): MicroCredits {
    return this.#charged ?? 0
  }

  /**
   * Calls the handler, which does not throw: what is left to do of it, to run in {@link within}, or
   * how it has ended where it needed nothing of that.
   */
  call(): Effect.Effect<JsonObject, unknown, unknown> {
    const { given, inputs } = this.#request
    if (given === undefined) return this.#knowing(inputs)
    const { values } = this.#request
    if (!("missing" in given)) return this.#compute(given)
    if (values === undefined)
      return noInputs({ error: "the store keeps no large values", isRetryable: false })
    return Effect.flatMap(values.load(given.missing), (loaded) =>
      this.#compute(given.finish(loaded)),
    )
  }

  /** Calls the handler with what expressions give. */
  #compute(given: Given | Scripts): Effect.Effect<JsonObject, unknown, unknown> {
    if (!("calls" in given)) return this.#take(given)
    const { evaluator, run } = this.#request
    const { calls: scripts, finish } = given
    const { accountId: account, definitionId } = run
    return Effect.flatMap(evaluator.evaluate({ account, definitionId, scripts }), (answers) =>
      this.#take(finish(answers)),
    )
  }

  /** Calls the handler with what expressions gave. */
  #take(given: Given): Effect.Effect<JsonObject, unknown, unknown> {
    const { node, values } = this.#request
    this.#given = given
    if (Result.isFailure(given.inputs)) return noInputs(given.inputs.failure)
    if (values === undefined) return this.#reveal(given)
    const inputs = given.inputs.success
    const computed = Object.entries(inputs).filter(([port]) => node.literals?.inputs.has(port))
    const large = values.find("input", computed)
    if (Result.isFailure(large)) return noInputs({ error: large.failure, isRetryable: false })
    if (large.success === undefined) return this.#reveal(given)
    return Effect.flatMap(values.store(inputs, large.success), (recorded) => {
      this.#given = { ...given, inputs: Result.succeed(recorded) }
      return this.#reveal(given)
    })
  }

  /** Calls the handler with its secrets. */
  #reveal(given: Given): Effect.Effect<JsonObject, unknown, unknown> {
    if (Result.isFailure(given.inputs)) return noInputs(given.inputs.failure)
    const { secrets } = this.#request
    if (given.secrets === undefined || secrets === undefined) {
      return this.#knowing(given.inputs.success)
    }
    const { names, reveal } = given.secrets
    return Effect.flatMap(secrets.open(names), (values) =>
      Result.match(reveal(values), {
        onFailure: noInputs,
        onSuccess: (inputs) => this.#handle(inputs),
      }),
    )
  }

  /**
   * Calls a handler that is given no secret. What it reads from elsewhere may hold one that another
   * node of the run was given, so they have to be known before it is called.
   */
  #knowing(inputs: JsonObject): Effect.Effect<JsonObject, unknown, unknown> {
    const { node, secrets } = this.#request
    if (secrets === undefined || secrets.isOpen || node.type.effects === "none") {
      return this.#handle(inputs)
    }
    return Effect.andThen(
      Effect.ignore(secrets.open([])),
      Effect.suspend(() => this.#handle(inputs)),
    )
  }

  /** Calls the handler with the large values themselves. */
  #handle(inputs: JsonObject): Effect.Effect<JsonObject, unknown, unknown> {
    const { values } = this.#request
    if (values?.hasAny !== true) return this.#run(inputs)
    const known = values.known(inputs)
    if (known !== undefined) return this.#run(known)
    return Effect.flatMap(values.whole(inputs), (whole) => this.#run(whole))
  }

  #run(inputs: JsonObject): Effect.Effect<JsonObject, unknown, unknown> {
    const { executable, node } = this.#request
    try {
      return executable.run(inputs, node.settings, this.#current)
    } catch (error) {
      return Exit.die(error)
    }
  }

  /** What the handler runs in. */
  within(outer: Context.Context<unknown>): Context.Context<unknown> {
    return Context.add(outer, CurrentNode, this.#current)
  }

  #currentOf(request: AttemptRequest) {
    const { attempt, children, links, message, node, openChildren } = request
    const { run, secrets, state, watched } = request
    const turn = this.#turn
    return CurrentNode.of({
      get isTurnOver() {
        return turn.isOver
      },
      get confined() {
        return secrets?.confined ?? []
      },
      accountId: run.accountId,
      workflowId: run.workflowId,
      runId: run.id,
      nodeId: node.id,
      nodeType: node.type.key,
      mode: node.settings.mode ?? node.type.modes[0] ?? "",
      attempt,
      idempotencyKey: `${run.id}:${node.id}`,
      values: run.values,
      resumed: state,
      message,
      openChildren,
      suspend,
      prepareChild: (child) =>
        "body" in child
          ? this.#startBody(child)
          : children.prepare(run, node.id, child, request.workflows),
      hasBody: this.#request.loop !== undefined,
      children: (after) => children.listed(run, node.id, after),
      outputOfChild: children.outputOf,
      approvalLink: (approver) => linkOf(links, run, node.id, approver),
      watched,
      charge: (credits) =>
        Effect.sync(() => {
          this.#charged = added(this.#charged, credits)
        }),
      log: (level, text, data) => this.#log.add(level, text, data),
    })
  }

  /** Prepares a run of the body, and computes it if it ends at once. */
  #startBody(request: BodyRequest): Effect.Effect<ChildRun, NodeError> {
    const { computeBody, secrets } = this.#request
    return Effect.map(this.#prepareBody(request), (prepared) => {
      const child = secrets === undefined ? prepared : maskedStart(prepared, secrets)
      this.#turn.begin()
      const computed = computeBody(child)
      if (computed === undefined) return queuedOf(child)
      this.#turn.add(computed)
      return computed
    })
  }

  /** What is given to a run of the body is read once, and whole. */
  #prepareBody(request: BodyRequest): Effect.Effect<BodyRun, NodeError> {
    const { children, loop, run, values } = this.#request
    const sofar = { ...run, childCredits: run.childCredits + this.#turn.credits }
    if (loop === undefined) {
      return Effect.fail(new NodeError({ message: "it has no body", retryable: false }))
    }
    const read = values === undefined ? Effect.succeed(loop.given) : values.whole(loop.given)
    return Effect.flatMap(read, (given) =>
      children.prepareBody(sofar, { ...loop, given: given as PinnedOutputs }, request),
    )
  }

  /** What the handler's end means: at once, or once its large values are stored. */
  end(exit: Exit.Exit<JsonObject, unknown>): AttemptOutcome | Effect.Effect<AttemptOutcome> {
    const { limits, node, values } = this.#request
    const ended = this.#ended()
    if (values !== undefined && Exit.isSuccess(exit)) {
      const copied = copyOutput(node.ports, exit.value, values)
      return Result.isFailure(copied)
        ? this.#mask(refused(ended, copied.failure))
        : this.#complete(copied.success, ended, values)
    }
    return this.#mask(outcomeOf(exit, node.ports, limits, ended))
  }

  #mask(outcome: AttemptOutcome): AttemptOutcome {
    const { secrets } = this.#request
    return secrets === undefined ? outcome : masked(outcome, secrets)
  }

  #complete(
    { output: bare, size }: OutputCopy,
    ended: Ended,
    values: RunValues,
  ): AttemptOutcome | Effect.Effect<AttemptOutcome> {
    const { limits, secrets } = this.#request
    const output = secrets === undefined ? bare : secrets.json(bare)
    const completed: CompletedAttempt = { _tag: "Completed", ...ended, output }
    if (size * mostBytesPerCharacter <= limits.largeValueBytes) return completed
    const large = values.find("output", Object.entries(output))
    if (Result.isFailure(large)) return refused(ended, large.failure)
    const found = large.success
    const rest = found === undefined ? output : without(output, found)
    const tooBig = problemOfSize(rest, size, limits.outputBytes)
    if (tooBig !== undefined) return refused(ended, tooBig)
    if (found === undefined) return completed
    return Effect.match(values.store(output, found), {
      onFailure: ({ message: error }): AttemptOutcome => ({
        ...refused({ ...ended, at: this.#now() }, error),
        retryable: true,
      }),
      onSuccess: (stored): AttemptOutcome => ({ ...completed, output: stored, at: this.#now() }),
    })
  }

  /**
   * Ends the attempt as failed, whatever its handler is doing: with the log and the charges so far.
   * What the handler still says later belongs to nobody.
   */
  giveUp(error: string): AttemptOutcome {
    const unsaid = { error, retryable: true, retryAfterMillis: undefined }
    return { _tag: "Failed", ...this.#ended(), ...unsaid }
  }

  #ended(): Ended {
    const { attempt, node } = this.#request
    const logs = this.#log.close()
    const ended = { index: node.index, attempt, logs, charged: this.#charged, at: this.#now() }
    return this.#given === undefined ? ended : { ...ended, given: this.#given }
  }
}
