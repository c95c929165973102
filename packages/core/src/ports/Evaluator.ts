/**
 * What computes JavaScript: expressions, and the code of nodes. Plain paths need none.
 *
 * Contract: JavaScript sees what it is given, and nothing else: no clock, no randomness, no input
 * or output, nothing of what was computed before it. So the same request always gives the same
 * value. What does not end is given up. No account waits for another one's expressions, and no
 * expression for code. No method fails. An expression that was interrupted may still be computing;
 * code is ended. Leaves out: which values an expression may use.
 */
import { Context, Effect } from "effect"
import type { AccountId } from "../domain/Id.ts"
import type { LogLine } from "../domain/Run.ts"

/** One JavaScript expression, or the body of a function. */
export interface Script {
  readonly text: string
  /** Ids of nodes that the expression uses as variables. */
  readonly names: ReadonlyArray<string>
  /** True for the body of a function, with statements and `return`. */
  readonly isBody?: boolean
}

/** An expression with what it uses. */
export interface ScriptCall extends Script {
  /** JSON text of an object with `nodes`, by id, `input`, `values` and `run`; any may be absent. */
  readonly scope: string
}

/** The expressions of one node. */
export interface Evaluation {
  readonly account: AccountId
  /** Names content: expressions of one definition and account may share what is compiled. */
  readonly definitionId: string
  readonly scripts: ReadonlyArray<ScriptCall>
}

/** What came of an expression: JSON text of its value, or `undefined` where it has none. */
export type Evaluated =
  | { readonly _tag: "Value"; readonly json: string | undefined }
  | {
      readonly _tag: "Failed"
      readonly message: string
      /** True where another attempt may give a value: time was short. */
      readonly isRetryable: boolean
    }

/** The code of a node: the body of a function. */
export interface Code {
  readonly account: AccountId
  readonly text: string
  /** JSON text of an object with `inputs` and `input`, which the code has as variables. */
  readonly scope: string
}

/** What came of code. */
export interface Executed {
  /** The message of a failure names the line. */
  readonly outcome: Evaluated
  /** What it wrote to its console, in order. */
  readonly logs: ReadonlyArray<Pick<LogLine, "level" | "message">>
}

const noEvaluator =
  "this engine computes no JavaScript; use plain paths such as {{ fetch.body.id }}, or give the " +
  "engine an evaluator"

/** Why a text is no expression. */
export interface ScriptFault {
  readonly message: string
  /** Where in the text, in characters from 0; `undefined` where that is not known. */
  readonly at: number | undefined
}

/** Computes JavaScript expressions. */
export interface Evaluator {
  /** Why graphs with JavaScript cannot be started here; `undefined` if they can. */
  readonly absent: string | undefined
  /** One answer for each expression, in order; one that fails does not stop the others. */
  readonly evaluate: (evaluation: Evaluation) => Effect.Effect<ReadonlyArray<Evaluated>>
  /** Executes code, in turn of the accounts. */
  readonly execute: (code: Code) => Effect.Effect<Executed>
  /** For each script, why it is none; `undefined` where nothing is wrong. */
  readonly check: (
    account: AccountId,
    scripts: ReadonlyArray<Script>,
  ) => Effect.Effect<ReadonlyArray<ScriptFault | undefined>>
}

/** The evaluator in use. By default there is none, and every expression fails. */
export const CurrentEvaluator = Context.Reference<Evaluator>("@millrace/core/ports/Evaluator", {
  defaultValue: () => ({
    absent: noEvaluator,
    evaluate: ({ scripts }) =>
      Effect.succeed(
        scripts.map(() => ({ _tag: "Failed", message: noEvaluator, isRetryable: false })),
      ),
    execute: () =>
      Effect.succeed({
        outcome: { _tag: "Failed", message: noEvaluator, isRetryable: false },
        logs: [],
      }),
    check: (_account, scripts) => Effect.succeed(scripts.map(() => undefined)),
  }),
})
