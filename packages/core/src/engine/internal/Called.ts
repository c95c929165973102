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

const unknownTo = ({ nodeId, port, workflowId }: Call): Problem =>
  problemOfNode(nodeId, `input ${quoted(port)}: there is no workflow ${quoted(workflowId)}`, {
    port,
  })

const tooLarge = (workflows: ReadonlyArray<CalledWorkflow>): string | undefined => {
  if (workflows.length > workflowsCalled) return `more than ${workflowsCalled}`
  const bytes = workflows.reduce((sum, each) => sum + drawingBytesOf(each), 0)
  return bytes > calledBytes ? `${bytes} bytes of JSON; the limit is ${calledBytes}` : undefined
}

/** Reads what is called, except what is `frozen` already. */
export const calledBy = Effect.fnUntraced(function* (
  { graphs, workflows: store }: Parts,
  account: AccountId,
  { drawn, own }: Calls,
  frozen: CalledWorkflows = {},
): Effect.fn.Return<Called, StorageError> {
  let next = [...own, ...drawn]
  if (next.length === 0) return emptyCalls
  const found = new Map<string, CalledWorkflow>()
  const asked = new Set<string>()
  while (next.length > 0) {
    const ids = [...new Set(next.map(({ workflowId }) => workflowId))].filter(
      (id) => !asked.has(id),
    )
    for (const id of ids) asked.add(id)
    const unread = ids.filter((id) => !Object.hasOwn(frozen, id)).filter(isWorkflowId)
    const read = yield* Effect.forEach(unread, (id) => store.findCurrent(account, id), {
      concurrency: "unbounded",
    })
    const stored = new Map<string, CalledWorkflow>(
      read.filter(Option.isSome).map(({ value }) => {
        const called = frozenOf(value)
        return [value.id, { ...called, nodes: graphs.withVersions(called.nodes) }]
      }),
    )
    const fresh = ids.flatMap((id) => {
      const workflow = Object.hasOwn(frozen, id) ? frozen[id] : stored.get(id)
      return workflow === undefined ? [] : [[id, workflow] as const]
    })
    for (const [id, workflow] of fresh) found.set(id, workflow)
    const problem = tooLarge([...found.values()])
    if (problem !== undefined) {
      const message = `The workflows that it calls, and those that these call, are ${problem}`
      return { workflows: undefined, problems: [{ message }] }
    }
    next = fresh.flatMap(([, workflow]) => graphs.calls(workflow.nodes, {}))
  }
  return {
    workflows: found.size === 0 ? undefined : Object.fromEntries(found),
    problems: own.filter(({ workflowId }) => !found.has(workflowId)).map(unknownTo),
  }
})
