/**
 * Imports a module on a thread first, because an import cannot be interrupted: a module that never
 * finishes, or ends its process, would take the server with it.
 *
 * Guarantees: the thread has ended when the answer is there. Leaves out: what the module exports.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { Effect } from "effect"
import { Worker } from "node:worker_threads"
import type { ModuleAddress } from "./ModuleImport.ts"

/** What a thread tells. */
export interface TrialResult {
  /** Why the module cannot be imported, as a clause. */
  readonly problem: string | undefined
}

const isSource = import.meta.url.endsWith(".ts")

const entry = new URL(isSource ? "./ImportThread.ts" : "./ImportThread.js", import.meta.url)

const startThread = (address: ModuleAddress): Worker => {
  const worker = new Worker(entry, { workerData: address, stdout: true, stderr: true })
  worker.stdout.resume()
  worker.stderr.resume()
  return worker
}

const answerOf = (worker: Worker) =>
  Effect.callback<string | undefined>((resume) => {
    const answer = (problem: string | undefined) => resume(Effect.succeed(problem))
    worker.once("message", ({ problem }: TrialResult) => answer(problem))
    worker.once("error", (error: Error) => answer(error.message))
    worker.once("exit", () => answer("its import ended the process"))
  })

/** Why a module cannot be imported, as a clause; `undefined` if it can. */
export const problemOf = Effect.fnUntraced(function* (
  address: ModuleAddress,
): Effect.fn.Return<string | undefined> {
  const { moduleImportMillis: duration } = yield* CurrentLimits
  const late = `its import did not end within ${duration / 1_000} seconds`
  const answer = Effect.acquireUseRelease(
    Effect.sync(() => startThread(address)),
    answerOf,
    (worker) => Effect.promise(() => worker.terminate()),
  )
  return yield* Effect.timeoutOrElse(answer, { duration, orElse: () => Effect.succeed(late) })
})
