/**
 * The workflows that a start freezes beside its own, because nodes call them: those that its nodes
 * name by a drawn id, those that these name, and so on; of each, what a start of it would take.
 *
 * Guarantees: what was frozen before is taken as it was, so a tree of runs executes what its first
 * run has found. Leaves out: workflows whose ids are computed; a child reads those.
 */
import { Effect, Option, Schema } from "effect"
import type { AccountId } from "../../domain/Id.ts"
import { WorkflowId } from "../../domain/Id.ts"
import { calledBytes, workflowsCalled } from "../../domain/Limits.ts"
import { quoted } from "../../domain/Quote.ts"
import type { CalledWorkflow, CalledWorkflows } from "../../domain/Run.ts"
import { drawingBytesOf } from "../../domain/RunPayload.ts"
import type { Workflow } from "../../domain/Workflow.ts"
import { bareEdges, bareNodes } from "../../domain/Workflow.ts"
import type { Call } from "../../graph/internal/CalledWorkflows.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import { problemOfNode } from "../../graph/internal/Problem.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { WorkflowStore } from "../../ports/WorkflowStore.ts"
import type { GraphCache } from "../GraphCache.ts"
import { findTaken } from "./TakenWorkflow.ts"

/** The workflows that a start freezes, and what stands against that. */
export interface Called {
  readonly workflows: CalledWorkflows | undefined
  readonly problems: ReadonlyArray<Problem>
}

/** A start that calls no other workflow. */
export const emptyCalls: Called = { workflows: undefined, problems: [] }

const hasForm = Schema.is(WorkflowId)

/** No workflow has an id of another form, and no store can be asked for a NUL. */
export const isWorkflowId = (id: string): id is WorkflowId => hasForm(id) && !id.includes("\u0000")

interface Parts {
  readonly graphs: GraphCache["Service"]
  readonly workflows: WorkflowStore["Service"]
}

/** What a start calls, and what the stored workflow calls, if something is laid over it. */
export interface Calls {
  readonly own: ReadonlyArray<Call>
  readonly drawn: ReadonlyArray<Call>
}

/** A workflow as a start freezes it. */
export const frozenOf = (workflow: Workflow): CalledWorkflow => {
  const { edges, name, nodes, revision, settings, version } = workflow
  return {
    name,
    revision,
    ...(version === undefined ? {} : { version }),
    nodes: bareNodes(nodes),
    edges: bareEdges(edges),
    settings,
  }
}

/** What a sentence says of a workflow that is not there. */
export const missing = ({ version, workflowId }: Pick<Call, "version" | "workflowId">): string =>
  typeof version === "number"
    ? `there is no version ${version} of workflow ${quoted(workflowId)}`
    : `there is no workflow ${quoted(workflowId)}`

const unknownTo = (call: Call): Problem =>
  problemOfNode(call.nodeId, `input ${quoted(call.port)}: ${missing(call)}`, { port: call.port })

const tooLarge = (workflows: ReadonlyArray<CalledWorkflow>): string | undefined => {
  if (workflows.length > workflowsCalled) return `more than ${workflowsCalled}`
  const bytes = workflows.reduce((sum, each) => sum + drawingBytesOf(each), 0)
  return bytes > calledBytes ? `${bytes} bytes of JSON; the limit is ${calledBytes}` : undefined
}

/** What is called: what is `frozen`, or else what is stored, if there is any. */
const calledAs = Effect.fnUntraced(function* (
  { graphs, workflows: store }: Parts,
  account: AccountId,
  { key, version, workflowId }: Call,
  frozen: CalledWorkflows,
): Effect.fn.Return<CalledWorkflow | undefined, StorageError> {
  if (!isWorkflowId(workflowId)) return undefined
  if (Object.hasOwn(frozen, key)) return frozen[key]
  const stored = yield* findTaken(store, account, workflowId, version)
  if (Option.isNone(stored)) return undefined
  const called = frozenOf(stored.value)
  return { ...called, nodes: graphs.withVersions(called.nodes) }
})

/** Reads what is called, except what is `frozen` already. */
export const calledBy = Effect.fnUntraced(function* (
  parts: Parts,
  account: AccountId,
  { drawn, own }: Calls,
  frozen: CalledWorkflows = {},
): Effect.fn.Return<Called, StorageError> {
  let next = [...own, ...drawn]
  if (next.length === 0) return emptyCalls
  const found = new Map<string, CalledWorkflow>()
  const asked = new Set<string>()
  while (next.length > 0) {
    const level = new Map(next.filter(({ key }) => !asked.has(key)).map((call) => [call.key, call]))
    for (const key of level.keys()) asked.add(key)
    const read = yield* Effect.forEach(
      level.values(),
      (call) => calledAs(parts, account, call, frozen),
      { concurrency: "unbounded" },
    )
    const fresh = [...level.keys()].flatMap((key, index) => {
      const workflow = read[index]
      return workflow === undefined ? [] : [[key, workflow] as const]
    })
    for (const [key, workflow] of fresh) found.set(key, workflow)
    const problem = tooLarge([...found.values()])
    if (problem !== undefined) {
      const message = `The workflows that it calls, and those that these call, are ${problem}`
      return { workflows: undefined, problems: [{ message }] }
    }
    next = fresh.flatMap(([, workflow]) => parts.graphs.calls(workflow.nodes, {}))
  }
  return {
    workflows: found.size === 0 ? undefined : Object.fromEntries(found),
    problems: own.filter(({ key }) => !found.has(key)).map(unknownTo),
  }
})
