/**
 * The operations on workflows. Reads go to the store, everything else to the engine.
 *
 * Guarantees: every answer with a workflow has its revision as `ETag`.
 */
import type { CreateWorkflow, WorkflowItem } from "@millrace/api/WorkflowWire"
import type { AccountId } from "@millrace/core/domain/Id"
import { RunId, WorkflowId } from "@millrace/core/domain/Id"
import { CurrentLimits, failuresRead, problemsListed } from "@millrace/core/domain/Limits"
import { dayMillis, dayOf } from "@millrace/core/domain/Timestamp"
import type { Workflow, WorkflowContent } from "@millrace/core/domain/Workflow"
import { WorkflowNotFound } from "@millrace/core/engine/Refusals"
import { Signals } from "@millrace/core/engine/Signals"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Clock, Effect, Option, Result } from "effect"
import { workflowAddress } from "../Addresses.ts"
import { InvalidRequest } from "../Errors.ts"
import type * as OpenWorkflows from "./OpenWorkflows.ts"
import type { OperationAnswer, OperationsOf } from "./Operation.ts"
import { makePaginate } from "./Paging.ts"
import * as SessionListing from "./SessionListing.ts"
import { itemOf } from "./RunForms.ts"

const contentOf = (body: CreateWorkflow): WorkflowContent => ({
  description: null,
  thumbnailUrl: null,
  nodes: [],
  edges: [],
  ...body,
})

/** A workflow with its revision. */
export const answer = (workflow: Workflow): OperationAnswer<Workflow> => ({
  value: workflow,
  etag: `"${workflow.revision}"`,
})

const answerNew = (workflow: Workflow): OperationAnswer<Workflow> => ({
  ...answer(workflow),
  location: workflowAddress(workflow.id),
})

type Validate = Runs["Service"]["validate"]

/** A revision that no workflow has. */
const noRevision = -1

/**
 * The revision in an `If-Match`; none for `*`, because a change requires that the workflow exists.
 * A tag that is not ours matches no revision. Several tags are not supported.
 */
export const expectedRevision = (ifMatch: string | undefined) => {
  if (ifMatch === undefined || ifMatch.trim() === "*") return Result.succeed(undefined)
  const tag = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(ifMatch)
  if (tag === null) {
    return Result.fail(new InvalidRequest({ message: "If-Match: expected one entity tag or *" }))
  }
  const revision = /^\s*"[1-9][0-9]{0,15}"\s*$/.test(ifMatch) ? Number(tag[1]) : noRevision
  return Result.succeed(revision)
}

const validationOf = ({ nodes, ...said }: Effect.Success<ReturnType<Validate>>) => ({
  valid: said.problems.length === 0,
  problems: said.problems.slice(0, problemsListed),
  warnings: said.warnings.slice(0, problemsListed),
  estimatedCredits: said.estimatedCredits,
  nodes: nodes.map(({ body, credits, names, nodeId, ports }) => ({
    nodeId,
    inputPorts: [...ports.inputs.values()],
    outputPorts: [...ports.outputs.values()],
    ...(body === undefined ? {} : { bodyPorts: [...body.values()] }),
    estimatedCredits: credits,
    names,
  })),
})

/** What a small picture of a workflow shows. */
const outlineOf = ({ edges, nodes }: Workflow): NonNullable<WorkflowItem["outline"]> => ({
  nodes: nodes.map(({ id, position: { x, y }, type }) => ({ id, type, x, y })),
  edges: edges.map(({ source, target }) => ({ source, target })),
})

/** The activity of a workflow without runs. */
const inactive = { lastRun: null, runs7d: 0, failed7d: 0 }

/** Today, and six days before. */
const beforeToday = 6 * dayMillis

/** What is shown beside the items of a page: one read each for the whole page. */
const makeBeside = Effect.gen(function* () {
  const workflows = yield* WorkflowStore
  const runs = yield* RunStore
  return {
    activityOf: Effect.fnUntraced(function* (
      account: AccountId,
      workflowIds: ReadonlyArray<WorkflowId>,
    ) {
      const since = dayOf(yield* Clock.currentTimeMillis) - beforeToday
      const found = yield* runs.activity({ account, workflowIds, since, failuresRead })
      return new Map(
        Array.from(found, ([id, { failed, lastRun, runs: count }]) => [
          id,
          { lastRun: itemOf(lastRun), runs7d: count, failed7d: failed },
        ]),
      )
    }),
    outlinesOf: Effect.fnUntraced(function* (account: AccountId, ids: ReadonlyArray<WorkflowId>) {
      const { batchBytes } = yield* CurrentLimits
      const found = yield* workflows.findMany(account, ids, batchBytes)
      return new Map(found.map((workflow) => [workflow.id, outlineOf(workflow)]))
    }),
  }
})

const makeReads = Effect.gen(function* () {
  const store = yield* WorkflowStore
  const { activityOf, outlinesOf } = yield* makeBeside
  const runs = yield* Runs
  const paginate = yield* makePaginate
  return {
    list: Effect.fnUntraced(function* ({ account, query, session }) {
      const seen = SessionListing.seenBy(session)
      yield* SessionListing.checkPaging(seen, query)
      const { activity, view, ...asked } = query
      const found = yield* paginate(account, "workflows", asked, ({ search }, page) =>
        seen === null
          ? store.list({ account, search, ...page })
          : SessionListing.workflowsOf(seen, { search, ...page }, (id) => store.find(account, id)),
      )
      const ids = found.items.map(({ id }) => id)
      const activities = activity === "true" ? yield* activityOf(account, ids) : undefined
      const outlines = view === "outline" ? yield* outlinesOf(account, ids) : undefined
      const items = found.items.map((item): WorkflowItem => {
        const outline = outlines?.get(item.id)
        return {
          ...item,
          ...(activities && { activity: activities.get(item.id) ?? inactive }),
          ...(outline && { outline }),
        }
      })
      return { value: { ...found, items } }
    }),
    get: Effect.fnUntraced(function* ({ account, ahead, params }) {
      const id = WorkflowId.make(params.id)
      const found = ahead ?? (yield* store.find(account, id))
      if (Option.isNone(found)) return yield* new WorkflowNotFound({ workflowId: id })
      return answer(found.value)
    }),
    validate: Effect.fnUntraced(function* ({ account, params, payload }) {
      const { edges, nodes, ...overlay } = payload
      const drawn = { ...(nodes && { nodes }), ...(edges && { edges }) }
      const draft = nodes === undefined && edges === undefined ? undefined : drawn
      const start = { ...overlay, draft, workflowId: WorkflowId.make(params.id) }
      return { value: validationOf(yield* runs.validate(account, start)) }
    }),
    evaluate: Effect.fnUntraced(function* ({ account, params, payload }) {
      const asked = { ...payload, runId: RunId.make(payload.runId) }
      return { value: yield* runs.evaluate(account, WorkflowId.make(params.id), asked) }
    }),
  } satisfies Partial<OperationsOf<"workflows">>
})

/** What changes workflows, and tells those who have them open. */
const makeWrites = Effect.fnUntraced(function* ({ changed }: OpenWorkflows.OpenWorkflows) {
  const workflows = yield* Workflows
  const signals = yield* Signals
  return {
    signal: ({
      account,
      headers,
      params: { id, name },
      payload: { correlation, payload = null },
    }) =>
      Effect.map(
        signals.send(account, WorkflowId.make(id), {
          name,
          correlation,
          payload,
          idempotencyKey: headers["idempotency-key"],
        }),
        (value) => ({ value }),
      ),
    create: ({ account, payload }) =>
      Effect.map(workflows.create(account, contentOf(payload)), answerNew),
    update: Effect.fnUntraced(function* (call) {
      const { account, headers, params, payload } = call
      const revision = yield* Effect.fromResult(expectedRevision(headers["if-match"]))
      const id = WorkflowId.make(params.id)
      const updated = yield* workflows.update(account, id, payload, revision)
      changed(call, id, updated.revision)
      return answer(updated)
    }),
    remove: Effect.fnUntraced(function* (call) {
      const value = yield* workflows.remove(call.account, WorkflowId.make(call.params.id))
      changed(call, call.params.id)
      return { value }
    }),
    duplicate: ({ account, params }) =>
      Effect.map(workflows.duplicate(account, WorkflowId.make(params.id)), answerNew),
    addNode: Effect.fnUntraced(function* (call) {
      const id = WorkflowId.make(call.params.id)
      const value = yield* workflows.addNode(call.account, id, call.payload)
      changed(call, id)
      return { value, location: workflowAddress(id) }
    }),
  } satisfies Partial<OperationsOf<"workflows">>
})

/** The operations of the group `workflows`, but for those on versions. */
export const make = Effect.fnUntraced(function* (opened: OpenWorkflows.OpenWorkflows) {
  return { ...(yield* makeReads), ...(yield* makeWrites(opened)) }
})
