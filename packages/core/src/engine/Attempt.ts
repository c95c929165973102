/**
 * One attempt of one node: calls the handler, captures its log and charges, and turns whatever
 * happens into an {@link Outcome}. A handler cannot fail, crash or confuse anything beyond its own
 * node run.
 *
 * Guarantees: an output is plain JSON within the size limit, on declared ports only, and frozen, so
 * that no handler can change what another one sees. Leaves out: what the outcome means for the run.
 */
import { Cause, Clock, Effect, Exit, Option } from "effect"
import type { MicroCredits } from "../domain/Credits.ts"
import { fromNumber } from "../domain/Credits.ts"
import type { JsonObject } from "../domain/Json.ts"
import { freeze, isJsonObject, problemOf } from "../domain/Json.ts"
import type { Limits } from "../domain/Limits.ts"
import type { Ports } from "../domain/NodeType.ts"
import type { LogLine, Run } from "../domain/Run.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { GraphNode } from "../graph/Graph.ts"
import { CurrentNode } from "./CurrentNode.ts"
import { sentenceOf } from "./NodeDefinition.ts"
import { NodeLog } from "./NodeLog.ts"
import type { Executable } from "./NodeTypes.ts"

/** How an attempt ended: with an output, or with an error. */
export interface Outcome {
  readonly index: number
  readonly output: JsonObject | null
  readonly error: string | null
  readonly logs: ReadonlyArray<LogLine> | null
  /** What the handler charged; `null` when it charged nothing itself. */
  readonly charged: MicroCredits | null
  readonly finishedAt: Timestamp
}

/** What an attempt needs to know. */
export interface AttemptRequest {
  readonly run: Run
  readonly node: GraphNode
  readonly executable: Executable
  readonly attempt: number
  readonly inputs: JsonObject
  readonly limits: Limits
}

/** Says why something cannot be a node's output, or `undefined` when it can. */
const problemOfOutput = (ports: Ports, output: unknown): string | undefined => {
  if (!isJsonObject(output)) return "the handler returned something that is not a record of ports"
  for (const [port, value] of Object.entries(output)) {
    if (!ports.outputs.has(port)) {
      const known = [...ports.outputs.keys()].join(", ") || "none"
      return `the handler returned output "${port}", which is not declared; declared: ${known}`
    }
    const problem = value === undefined ? undefined : problemOf(value)
    if (problem !== undefined) return `output "${port}" is not JSON: ${problem}`
  }
  return undefined
}

/** A frozen copy of an output, or the sentence that says why it is refused. */
export const checkOutput = (
  ports: Ports,
  output: unknown,
  limits: Limits,
): Exit.Exit<JsonObject, string> => {
  const problem = problemOfOutput(ports, output)
  if (problem !== undefined) return Exit.fail(problem)
  const text = JSON.stringify(output)
  const bytes = text.length > limits.outputBytes / 4 ? byteLength(text) : text.length
  if (bytes > limits.outputBytes) {
    return Exit.fail(`the output has ${bytes} bytes; the limit is ${limits.outputBytes}`)
  }
  return Exit.succeed(freeze(JSON.parse(text) as JsonObject))
}

const encoder = new TextEncoder()
const byteLength = (text: string): number => encoder.encode(text).length

/** The sentence a failed attempt leaves in the record. */
const sentenceOfCause = (cause: Cause.Cause<unknown>): string =>
  Cause.hasInterruptsOnly(cause)
    ? "the handler interrupted itself"
    : sentenceOf(Option.getOrElse(Cause.findErrorOption(cause), () => Cause.squash(cause)))

const chargeOf = (credits: number): MicroCredits => {
  const micro = fromNumber(credits)
  if (!Number.isSafeInteger(micro) || micro < 0) {
    throw new Error(`charged ${String(credits)} credits; a charge is a number from 0`)
  }
  return micro
}

/** Runs one attempt. Never fails; interrupted when the run no longer wants it. */
export const attempt = (request: AttemptRequest): Effect.Effect<Outcome> =>
  Effect.withFiber((fiber) => {
    const { executable, inputs, limits, node, run } = request
    const clock = fiber.getRef(Clock.Clock)
    const now = () => clock.currentTimeMillisUnsafe()
    const log = new NodeLog(limits, request.attempt, now)
    let charged: MicroCredits | null = null
    const current = CurrentNode.of({
      accountId: run.accountId,
      workflowId: run.workflowId,
      runId: run.id,
      nodeId: node.id,
      nodeType: node.type.key,
      mode: node.settings.mode ?? node.type.modes[0] ?? "",
      attempt: request.attempt,
      idempotencyKey: `${run.id}:${node.id}`,
      values: run.values,
      charge: (credits) =>
        Effect.sync(() => {
          charged = (charged ?? 0) + chargeOf(credits)
        }),
      log: (level, message, data) => log.add(level, message, data),
    })
    const outcome = (exit: Exit.Exit<JsonObject, unknown>): Outcome => {
      const checked = Exit.isSuccess(exit) ? checkOutput(node.ports, exit.value, limits) : exit
      const failed = Exit.isFailure(checked)
      return {
        index: node.index,
        output: failed ? null : checked.value,
        error: failed ? sentenceOfCause(checked.cause) : null,
        logs: log.close(),
        charged,
        finishedAt: now(),
      }
    }
    const handled = Effect.suspend(() => executable.run(inputs, node.settings))
    return Effect.map(Effect.exit(Effect.provideService(handled, CurrentNode, current)), outcome)
  })
