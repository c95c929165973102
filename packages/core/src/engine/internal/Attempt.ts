/**
 * One attempt of one node: calls the handler, captures its log and charges, and turns whatever
 * happens into an {@link AttemptOutcome}. A handler cannot fail, crash or confuse anything beyond
 * its own node run.
 *
 * Guarantees: an output is plain JSON within the size limit, on declared ports only, and frozen, so
 * that no handler can change what another one sees. Leaves out: what the outcome means for the run.
 */
import { Cause, Context, Effect, Exit, Option, Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import { fromNumber, isAmount } from "../../domain/Credits.ts"
import type { Json, JsonObject } from "../../domain/Json.ts"
import type { Limits } from "../../domain/Limits.ts"
import type { Ports } from "../../domain/NodeType.ts"
import type { LogLine, PinnedOutputs } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { BodyRequest, ChildRun } from "../CurrentNode.ts"
import { CurrentNode, isNodeError, NodeError, Suspension } from "../CurrentNode.ts"
import { sentenceOf } from "../NodeDefinition.ts"
import { NodeLog } from "./NodeLog.ts"
import { copyOutput, checkOutput, problemOfSize, without } from "./Output.ts"
import type { OutputCopy } from "./Output.ts"
import type { AttemptRequest } from "./AttemptRequest.ts"
import type { ServingAttempt } from "./AttemptNode.ts"
import { AttemptNode } from "./AttemptNode.ts"
import type { BodyRun } from "./ChildSource.ts"
import { queuedOf } from "./ChildSource.ts"
import type { Given, NoInputs, Scripts } from "./Inputs.ts"
import type { RunSecrets } from "./RunSecrets.ts"
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
  return { ...ended, _tag: "Failed", ...failure }
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
    if (Result.isSuccess(checked)) return { ...ended, _tag: "Completed", output: checked.success }
    return refused(ended, checked.failure)
  }
  const suspension = suspensionOf(exit.cause)
  if (suspension === undefined) return { ...ended, _tag: "Failed", ...failureOf(exit.cause) }
  const { starts, state, wait } = suspension
  return { ...ended, _tag: "Suspended", wait, state, starts }
}

/** What a node has charged with this; another attempt would say the same nonsense again. */
const added = (before: MicroCredits | null, credits: number): MicroCredits => {
  const sum = (before ?? 0) + (credits < 0 ? Number.NaN : fromNumber(credits))
  if (isAmount(sum)) return sum
  const what = "a charge is a number from 0 of at most six decimals"
  throw new NodeError({ message: `charged ${String(credits)} credits; ${what}`, retryable: false })
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
export class Attempt implements ServingAttempt {
  readonly request: AttemptRequest
  readonly #current = new AttemptNode(this)
  /** None before the first line. */
  #log: NodeLog | undefined
  /** None before the first item of a loop. */
  #turn: Turn | undefined
  #charged: MicroCredits | null = null
  #given: Given | undefined
  #isOver = false

  constructor(request: AttemptRequest) {
    this.request = request
  }

  get index(): number {
    return this.request.node.index
  }

  get number(): number {
    return this.request.started.attempt
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
    const { given, inputs } = this.request.started
    if (given === undefined) return this.#knowing(inputs)
    const { values } = this.request
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
    const { run, shared } = this.request
    const { calls: scripts, finish } = given
    const { accountId: account, definitionId } = run
    return Effect.flatMap(
      shared.evaluator.evaluate({ account, definitionId, scripts }),
      (answers) => this.#take(finish(answers)),
    )
  }

  /** Calls the handler with what expressions gave. */
  #take(given: Given): Effect.Effect<JsonObject, unknown, unknown> {
    const { node, values } = this.request
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
    const { secrets } = this.request
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
    const { node, secrets } = this.request
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
    const { values } = this.request
    if (values?.hasAny !== true) return this.#run(inputs)
    const known = values.known(inputs)
    if (known !== undefined) return this.#run(known)
    return Effect.flatMap(values.whole(inputs), (whole) => this.#run(whole))
  }

  #run(inputs: JsonObject): Effect.Effect<JsonObject, unknown, unknown> {
    const { executable, node } = this.request
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

  get isTurnOver(): boolean {
    return this.#turn?.isOver ?? false
  }

  charge(credits: number): void {
    this.#charged = added(this.#charged, credits)
  }

  log(level: LogLine["level"], message: string, data?: Json): void {
    if (this.#isOver) return
    this.#log ??= this.#emptyLog()
    this.#log.add(level, message, data)
  }

  #emptyLog(): NodeLog {
    const { earlier, limits, secrets } = this.request
    const logged = { attempt: this.number, earlier, limits, secrets }
    return new NodeLog(logged, () => this.#now())
  }

  /** Gives the handler control, and measures for how long. */
  watch<A>(call: () => A): A {
    const { handler, shared } = this.request
    const { handlers } = shared
    handlers.enter(handler, this.#now())
    try {
      return call()
    } finally {
      handlers.leave(handler, this.#now())
    }
  }

  #now(): Timestamp {
    return this.request.shared.clock.currentTimeMillisUnsafe()
  }

  /** Prepares a run of the body, and computes it if it ends at once. */
  startBody(request: BodyRequest): Effect.Effect<ChildRun, NodeError> {
    const { limits, loop, secrets } = this.request
    return Effect.map(this.#prepareBody(request), (prepared) => {
      const child = secrets === undefined ? prepared : maskedStart(prepared, secrets)
      this.#turn ??= new Turn(limits, () => this.#now())
      this.#turn.begin()
      const computed = loop!.compute(child)
      if (computed === undefined) return queuedOf(child)
      this.#turn.add(computed)
      return computed
    })
  }

  /** What is given to a run of the body is read once, and whole. */
  #prepareBody(request: BodyRequest): Effect.Effect<BodyRun, NodeError> {
    const { loop, run, shared, values } = this.request
    const sofar = { ...run, childCredits: run.childCredits + (this.#turn?.credits ?? 0) }
    if (loop === undefined) {
      return Effect.fail(new NodeError({ message: "it has no body", retryable: false }))
    }
    const read = values === undefined ? Effect.succeed(loop.given) : values.whole(loop.given)
    return Effect.flatMap(read, (given) =>
      shared.children.prepareBody(sofar, { ...loop, given: given as PinnedOutputs }, request),
    )
  }

  /** What the handler's end means: at once, or once its large values are stored. */
  end(exit: Exit.Exit<JsonObject, unknown>): AttemptOutcome | Effect.Effect<AttemptOutcome> {
    const { limits, node, values } = this.request
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
    const { secrets } = this.request
    return secrets === undefined ? outcome : masked(outcome, secrets)
  }

  #complete(
    { output: bare, size }: OutputCopy,
    ended: Ended,
    values: RunValues,
  ): AttemptOutcome | Effect.Effect<AttemptOutcome> {
    const { limits, secrets } = this.request
    const output = secrets === undefined ? bare : secrets.json(bare)
    const completed: CompletedAttempt = { ...ended, _tag: "Completed", output }
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
    return { ...this.#ended(), _tag: "Failed", ...unsaid }
  }

  #ended(): Ended {
    const { earlier, node, started } = this.request
    const logs = this.#log === undefined ? earlier : this.#log.close()
    this.#isOver = true
    const { attempt } = started
    const ended = { index: node.index, attempt, logs, charged: this.#charged, at: this.#now() }
    return this.#given === undefined ? ended : { ...ended, given: this.#given }
  }
}
