/**
 * Node types whose handlers are called on a thread.
 *
 * Guarantees: the type that the engine knows and the type on the thread have the same key, version
 * and ports. Leaves out: the threads.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { NodeType } from "@millrace/core/domain/NodeType"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { form, mark } from "@millrace/core/engine/NodeTypes"
import * as Effect from "effect/Effect"
import { EngineThreads } from "./Threads.ts"
import type { ThreadCall } from "./internal/ThreadWire.ts"

/** An executable that calls its handler on a thread. `local` calls the handler where it is. */
interface Threaded extends Executable<EngineThreads> {
  readonly local: Executable
}

/** The `local` executable of a node type with `blocking`; `undefined` for anything else. */
export const localOf = (nodeType: unknown): Executable | undefined => {
  const executable = (nodeType as { readonly executable?: Partial<Threaded> } | null | undefined)
    ?.executable
  return executable?.local
}

const callOf = (
  { key, version }: NodeType,
  inputs: JsonObject,
  current: CurrentNode["Service"],
  logLines: number,
): Omit<ThreadCall, "id"> => {
  const { accountId, attempt, idempotencyKey, mode, nodeId, runId, workflowId } = current
  const known = { accountId, workflowId, runId, nodeId, mode, attempt, idempotencyKey }
  return { type: key, version, inputs, logLines, current: known }
}

/** Calls a handler on a thread that imports its module. */
export const onThread = (local: Executable, module: string): Threaded => ({
  [mark]: form,
  type: local.type,
  local,
  run: (given) =>
    Effect.gen(function* () {
      const current = yield* CurrentNode
      const threads = yield* EngineThreads
      const { logLinesPerNode } = yield* CurrentLimits
      const call = callOf(local.type, given, current, logLinesPerNode)
      return yield* threads.call(module, call, current)
    }),
})

/** True for a `file:` URL, which `import.meta.url` is. */
export const isModule = (text: string): boolean => URL.parse(text)?.protocol === "file:"
