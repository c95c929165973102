/**
 * The evaluator in QuickJS: computes the JavaScript in expressions, and the code of nodes.
 *
 * Guarantees: those of the port. Code has threads of its own, so no expression waits for it.
 * QuickJS is loaded by a thread, when something first needs it. Leaves out: plain paths, which the
 * engine reads itself.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import {
  codeJsonLength,
  codeLateMillis,
  codeLogLength,
  CurrentLimits,
  evaluationsWaiting,
  expressionJsonLength,
  expressionLateMillis,
  expressionMegabytes,
  expressionMillis,
  expressionsMillis,
  sandboxesKept,
} from "@millrace/core/domain/Limits"
import type {
  Code,
  Evaluated,
  Evaluation,
  Executed,
  Script,
  ScriptFault,
} from "@millrace/core/ports/Evaluator"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import { Effect, Layer } from "effect"
import type { CallAnswer, CallRequest, PoolBounds } from "./internal/Pool.ts"
import { Pool } from "./internal/Pool.ts"
import { inWords } from "./internal/SandboxWire.ts"

const failed = (message: string, isRetryable = false): Evaluated => ({
  _tag: "Failed",
  message,
  isRetryable,
})

const lateAfter = (millis: number): string => `it takes longer than ${inWords(millis)}`

const evaluatedOf = (answer: CallAnswer, millis = expressionMillis): Evaluated => {
  if (answer === undefined) return failed(lateAfter(millis), true)
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
  if (answer === undefined) return { message: lateAfter(expressionMillis), at: undefined }
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

/** Executes code; what is interrupted ends with its thread. */
const execute =
  (pool: Pool, millis: number) =>
  ({ account, scope, text }: Code): Effect.Effect<Executed> =>
    Effect.callback((resume) => {
      const job = {
        account,
        calls: [{ key: "code", text, isBody: true, names: [], scope }],
        heard: (answer: CallAnswer) => {
          const outcome = evaluatedOf(answer, millis)
          resume(Effect.succeed({ outcome, logs: answer?.logs ?? [] }))
          return true
        },
        done: () => undefined,
      }
      if (!pool.submit(job)) return resume(Effect.succeed({ outcome: refused, logs: [] }))
      return Effect.sync(() => pool.end(job))
    })

/** A pool whose threads end with the scope. */
const poolOf = (bounds: PoolBounds) =>
  Effect.acquireRelease(
    Effect.sync(() => new Pool(bounds)),
    (open) => Effect.promise(() => open.close()),
  )

/** An evaluator whose threads end with the layer. */
export const layer: Layer.Layer<never> = Layer.effect(
  CurrentEvaluator,
  Effect.gen(function* () {
    const limits = yield* CurrentLimits
    const common = {
      mostWaiting: evaluationsWaiting,
      logLines: limits.logLinesPerNode,
      logLength: codeLogLength,
    }
    const pool = yield* poolOf({
      ...common,
      threads: limits.expressionThreads,
      millis: expressionMillis,
      lateMillis: expressionLateMillis,
      megabytes: expressionMegabytes,
      mostCharacters: expressionJsonLength,
      contexts: sandboxesKept,
    })
    const { codeMillis } = limits
    const codePool = yield* poolOf({
      ...common,
      threads: limits.codeThreads,
      millis: codeMillis,
      lateMillis: codeLateMillis,
      megabytes: limits.codeMegabytes,
      mostCharacters: codeJsonLength,
      // Code makes a context of its own each time.
      contexts: 1,
    })
    return {
      absent: undefined,
      evaluate: evaluate(pool),
      execute: execute(codePool, codeMillis),
      check: check(pool),
    }
  }),
)
