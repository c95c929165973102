/**
 * What takes the place of handlers in a test: a function, or a script of answers. And the record of
 * all calls.
 *
 * Guarantees: the outputs of a mock pass the same schemas as those of the handler. A script begins
 * anew with each node of each run.
 */
import type { Duration } from "@millrace/api/Duration"
import { millisOf } from "@millrace/api/Duration"
import { invalid } from "@millrace/api/MillraceError"
import { NodeError } from "../../NodeError.ts"
import type { AnyHandler } from "../Handler.ts"

/** One answer of a script. */
interface ScriptStep<O> {
  readonly times: number
  readonly afterMillis: number
  readonly answer:
    | { readonly _tag: "Gives"; readonly outputs: O }
    | { readonly _tag: "Fails"; readonly error: Error }
    | { readonly _tag: "Hangs" }
}

/** What a mock answers, call by call. The last answer is that of all further calls. */
export interface Script<O> {
  /** What was said so far, in order. */
  readonly steps: ReadonlyArray<ScriptStep<O>>
  /** Then gives these outputs. */
  gives<P>(outputs: P): Script<O | P>
  /** Then fails so many times. An error that is a `NodeError` says whether to try again. */
  fails(times: number, error?: string | Error): Script<O>
  /** Then never ends, until it is timed out or canceled. */
  hangs(): Script<O>
  /** The answer before takes so long, by the virtual clock. */
  after(delay: Duration): Script<O>
}

const scriptOf = <O>(steps: ReadonlyArray<ScriptStep<O>>): Script<O> => {
  const then = <P>(step: Omit<ScriptStep<P>, "afterMillis">): Script<O | P> =>
    scriptOf<O | P>([...steps, { ...step, afterMillis: 0 }])
  return {
    steps,
    gives: (outputs) => then({ times: 1, answer: { _tag: "Gives", outputs } }),
    fails: (times, error = "failed by a mock") => {
      if (!Number.isInteger(times) || times < 1) {
        throw invalid("fails: times: expected a whole number from 1")
      }
      return then<O>({
        times,
        answer: { _tag: "Fails", error: typeof error === "string" ? new NodeError(error) : error },
      })
    },
    hangs: () => then<O>({ times: 1, answer: { _tag: "Hangs" } }),
    after: (delay) => {
      const last = steps.at(-1)
      if (last === undefined) throw invalid("after: there is no answer before it")
      return scriptOf([...steps.slice(0, -1), { ...last, afterMillis: millisOf(delay, "after") }])
    },
  }
}

const empty = scriptOf<never>([])

/** A script that gives these outputs on every call. */
export const gives = <O>(outputs: O): Script<O> => empty.gives(outputs)

/** A script that fails so many times. Go on with `.gives(outputs)`; else every call fails. */
export const fails = (times: number, error?: string | Error): Script<never> =>
  empty.fails(times, error)

/** A script whose call never ends, until it is timed out or canceled. */
export const hangs = (): Script<never> => empty.hangs()

/** One call of a handler or a mock. */
export interface Call<Inputs = unknown, Outputs = unknown, Mode = string> {
  /** The run to which the node belongs. */
  readonly runId: string
  /** The id of the node in the drawing. */
  readonly nodeId: string
  /** From 1. */
  readonly attempt: number
  /** The mode of the node. */
  readonly mode: Mode
  /** What it was given, as a handler gets it. */
  readonly inputs: Inputs
  /** The same for all attempts of one node of a run. */
  readonly idempotencyKey: string
  /** When it began, by the virtual clock. */
  readonly at: Date
  /** What it returned; absent while it is in progress, and if it failed. */
  readonly outputs?: Outputs
  /** The message of the error that it threw. */
  readonly error?: string
  /** What it has told `whatIf` of its effects. */
  readonly effects?: ReadonlyArray<unknown>
}

/** A call that is being recorded. */
export type Recorded = { -readonly [K in keyof Call]: Call[K] }

/** What a mock may be, without its types. */
export type AnyMock = AnyHandler | Script<unknown>

/** The answer to the call with this number, from 0. */
export const answerOf = <O>(
  { steps }: Script<O>,
  number: number,
): Pick<ScriptStep<O>, "afterMillis" | "answer"> => {
  let first = 0
  for (const step of steps) {
    first += step.times
    if (number < first) return step
  }
  return steps.at(-1)!
}
