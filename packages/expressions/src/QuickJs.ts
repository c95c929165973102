/**
 * The evaluator in QuickJS: computes the JavaScript in expressions.
 *
 * Guarantees: those of the port. QuickJS is loaded by a thread, when an expression first needs it.
 * Leaves out: plain paths, which the engine reads itself.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import {
  CurrentLimits,
  evaluationsWaiting,
  expressionJsonLength,
  expressionLateMillis,
  expressionMegabytes,
  expressionMillis,
  expressionsMillis,
  sandboxesKept,
} from "@millrace/core/domain/Limits"
import type { Evaluated, Evaluation, Script, ScriptFault } from "@millrace/core/ports/Evaluator"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import { Effect, Layer } from "effect"
import type { CallAnswer, CallRequest } from "./internal/Pool.ts"
import { Pool } from "./internal/Pool.ts"

const failed = (message: string, isRetryable = false): Evaluated => ({
  _tag: "Failed",
  message,
  isRetryable,
})

const late = `it takes longer than ${expressionMillis} ms`

const evaluatedOf = (answer: CallAnswer): Evaluated => {
  if (answer === undefined) return failed(late, true)
  const rest = answer.answer.slice(1)
  if (answer.answer.startsWith("E")) return failed(rest, answer.isLate)
  return { _tag: "Value", json: answer.answer.startsWith("V") ? rest : undefined }
}

const overBudget = failed(
  `the expressions of one node take longer than ${expressionsMillis} ms together`,
  true,
)

const refused = failed(`more than ${evaluationsWaiting} nodes of this account wait for this`, true)

const faultOf = (answer: CallAnswer): ScriptFault | undefined => {
  if (answer === undefined) return { message: late, at: undefined }
  return answer.answer.startsWith("E")
    ? { message: answer.answer.slice(1), at: answer.at }
    : undefined
}

/** Makes calls one after the other, as long as there is time. */
const callAll = <A>(
  pool: Pool,
  account: AccountId,
  calls: ReadonlyArray<CallRequest>,
  read: (answer: CallAnswer) => A,
  otherwise: { readonly overBudget: A; readonly refused: A },
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.callback((resume) => {
    const answers: Array<A> = []
    let millis = 0
    let isOver = false
    const all = (rest: A) => Effect.succeed(calls.map((_, place) => answers[place] ?? rest))
    const job = {
      account,
      calls,
      heard: (answer: CallAnswer) => {
        answers.push(read(answer))
        millis += answer?.millis ?? expressionMillis + expressionLateMillis
        return !isOver && millis <= expressionsMillis
      },
      done: () => resume(all(otherwise.overBudget)),
    }
    if (!pool.submit(job)) return resume(all(otherwise.refused))
    return Effect.sync(() => {
      isOver = true
      pool.withdraw(job)
    })
  })

const evaluate =
  (pool: Pool) =>
  ({ account, definitionId, scripts }: Evaluation): Effect.Effect<ReadonlyArray<Evaluated>> => {
    const key = `${account} ${definitionId}`
    const calls = scripts.map((script) => ({ key, ...script }))
    return callAll(pool, account, calls, evaluatedOf, { overBudget, refused })
  }

const check =
  (pool: Pool) =>
  (
    account: AccountId,
    scripts: ReadonlyArray<Script>,
  ): Effect.Effect<ReadonlyArray<ScriptFault | undefined>> => {
    const calls = scripts.map((script) => ({ key: account, ...script, scope: undefined }))
    const notLookedAt = { message: "it could not be looked at in time", at: undefined }
    const otherwise = { overBudget: undefined, refused: notLookedAt }
    return callAll(pool, account, calls, faultOf, otherwise)
  }

/** An evaluator whose threads end with the layer. */
export const layer: Layer.Layer<never> = Layer.effect(
  CurrentEvaluator,
  Effect.gen(function* () {
    const { expressionThreads: threads } = yield* CurrentLimits
    const pool = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Pool({
            threads,
            millis: expressionMillis,
            megabytes: expressionMegabytes,
            mostCharacters: expressionJsonLength,
            contexts: sandboxesKept,
            lateMillis: expressionLateMillis,
            mostWaiting: evaluationsWaiting,
          }),
      ),
      (open) => Effect.promise(() => open.close()),
    )
    return { absent: undefined, evaluate: evaluate(pool), check: check(pool) }
  }),
)
