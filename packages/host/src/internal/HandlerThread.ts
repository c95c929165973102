/**
 * A thread that calls the handlers of one module's node types, one after the other. `Threads`
 * starts it as a worker; nothing imports it.
 *
 * Guarantees: every message has the number of its call, and only copies go in and out. Leaves out:
 * timeouts and interruption; both end the thread.
 */
import { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { JsonObject } from "@millrace/core/domain/Json"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { sentenceOf, toNodeError } from "@millrace/core/engine/NodeDefinition"
import { Cause, Effect, Exit } from "effect"
import { parentPort, workerData } from "node:worker_threads"
import { localOf } from "../Blocking.ts"
import { clearEnvironment } from "./ThreadEnvironment.ts"
import type { ThreadCall, ThreadData, ThreadNews } from "./ThreadWire.ts"

const { millraceModule: module } = workerData as ThreadData

const tell = (news: ThreadNews): void => parentPort?.postMessage(news, [])

const startsNothing = Effect.fail(
  new NodeError({ message: "a node on a thread cannot start runs", retryable: false }),
)

const asksNobody = Effect.fail(
  new NodeError({ message: "a node on a thread cannot ask for approvals", retryable: false }),
)

const currentOf = ({ current, id, logLines, type }: ThreadCall) => {
  let lines = 0
  return CurrentNode.of({
    confined: [],
    ...current,
    accountId: AccountId.make(current.accountId),
    workflowId: WorkflowId.make(current.workflowId),
    runId: RunId.make(current.runId),
    nodeType: type,
    values: {},
    resumed: undefined,
    openChildren: 0,
    message: undefined,
    suspend: () => Effect.die(new Error("a node on a thread cannot be suspended")),
    prepareChild: () => startsNothing,
    isTurnOver: false,
    hasBody: false,
    children: () => startsNothing,
    outputOfChild: () => startsNothing,
    approvalLink: () => asksNobody,
    watched: (call) => call(),
    charge: (credits) => Effect.sync(() => tell({ _tag: "Charged", id, credits })),
    log: (level, message, data) => {
      // The log keeps no more lines, and sending them would keep the process busy.
      if ((lines += 1) > logLines) return
      const line = { _tag: "Logged", id, level, message } as const
      try {
        tell({ ...line, data })
      } catch {
        tell({ ...line, data: undefined })
      }
    },
  })
}

/** The module's exports. A module that failed once fails for good in its thread. */
const load = async (): Promise<Readonly<Record<string, unknown>>> => {
  try {
    return (await import(module)) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw new NodeError({ message: `The import of ${module} failed: ${sentenceOf(error)}` })
  }
}

const missing = ({ type, version }: ThreadCall) =>
  new NodeError({
    message:
      `The module ${module} exports no node type "${type}" of version ${version}: ` +
      "export it from the module that its option blocking names",
    retryable: false,
  })

const perform = async (
  call: ThreadCall,
  exports: Readonly<Record<string, unknown>>,
): Promise<JsonObject> => {
  const local = Object.values(exports)
    .flatMap((each) => (Array.isArray(each) ? (each as ReadonlyArray<unknown>) : [each]))
    .map((each) => localOf(each))
    .find((each) => each?.type.key === call.type && each.type.version === call.version)
  if (local === undefined) throw missing(call)
  const settings = {
    inputs: {},
    mode: call.current.mode,
    version: call.version,
    label: undefined,
    disabled: false,
  }
  const node = currentOf(call)
  const effect = local.run(call.inputs, settings, node)
  const exit = await Effect.runPromiseExit(Effect.provideService(effect, CurrentNode, node))
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

const failureOf = (id: number, error: unknown, isReusable: boolean): ThreadNews => {
  const { message, retryAfterMillis, retryable } = toNodeError(error)
  return {
    _tag: "Failed",
    id,
    isReusable,
    error: {
      message,
      ...(retryable === undefined ? {} : { retryable }),
      ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }),
    },
  }
}

const answer = async (call: ThreadCall): Promise<void> => {
  const { id } = call
  let isLoaded = false
  try {
    const exports = await load()
    isLoaded = true
    tell({ _tag: "Done", id, output: await perform(call, exports) })
  } catch (error) {
    tell(failureOf(id, error, isLoaded))
  }
}

clearEnvironment()
parentPort?.on("message", (call: ThreadCall) => void answer(call))
