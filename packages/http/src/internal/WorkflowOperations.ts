/**
 * What the operations on workflows do: reads go to the store, decisions to the engine.
 *
 * Guarantees: every answer with a workflow says its revision.
 */
import type { CreateWorkflow } from "@millrace/api/WorkflowWire"
import { WorkflowId } from "@millrace/core/domain/Id"
import { problemsListed } from "@millrace/core/domain/Limits"
import type { Workflow, WorkflowContent } from "@millrace/core/domain/Workflow"
import { WorkflowNotFound } from "@millrace/core/engine/Refusals"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option, Result } from "effect"
import { workflowAddress } from "../Addresses.ts"
import { InvalidRequest } from "../Errors.ts"
import { WorkflowAhead } from "./Authorization.ts"
import type { Caller, Input, OperationAnswer, OperationsOf } from "./Operation.ts"
import { makePaginate } from "./Paging.ts"

type In<N extends keyof OperationsOf<"workflows">> = Input<"workflows", N>

const contentOf = (body: CreateWorkflow): WorkflowContent => ({
  description: null,
  thumbnailUrl: null,
  nodes: [],
  edges: [],
  ...body,
})

const answer = (workflow: Workflow): OperationAnswer<Workflow> => ({
  value: workflow,
  etag: `"${workflow.revision}"`,
})

const answerNew = (workflow: Workflow): OperationAnswer<Workflow> => ({
  ...answer(workflow),
  location: workflowAddress(workflow.id),
})

/** A revision that no workflow has. */
const noRevision = -1

/**
 * The revision that an `If-Match` asks for: none for `*`, since a change asks for existence anyway.
 * A tag that is not ours matches nothing. Several tags are not supported.
 */
const expectedRevision = (ifMatch: string | undefined) => {
  if (ifMatch === undefined || ifMatch.trim() === "*") return Result.succeed(undefined)
  const tag = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(ifMatch)
  if (tag === null) {
    return Result.fail(new InvalidRequest({ message: "If-Match: expected one entity tag or *" }))
  }
  const revision = /^\s*"[1-9][0-9]{0,15}"\s*$/.test(ifMatch) ? Number(tag[1]) : noRevision
  return Result.succeed(revision)
}

const makeReads = Effect.gen(function* () {
  const store = yield* WorkflowStore
  const paginate = yield* makePaginate
  return {
    list: Effect.fnUntraced(function* ({ account }: Caller, { query }: In<"list">) {
      const value = yield* paginate(account, "workflows", query, ({ search }, page) =>
        store.list({ account, search, ...page }),
      )
      return { value }
    }),
    get: Effect.fnUntraced(function* ({ account }: Caller, { params }: In<"get">) {
      const id = WorkflowId.make(params.id)
      const found = (yield* WorkflowAhead) ?? (yield* store.find(account, id))
      if (Option.isNone(found)) return yield* new WorkflowNotFound({ workflowId: id })
      return answer(found.value)
    }),
  }
})

const makeValidate = Effect.map(Runs, (runs) =>
  Effect.fnUntraced(function* ({ account }: Caller, { params, payload }: In<"validate">) {
    const start = { ...payload, workflowId: WorkflowId.make(params.id) }
    const said = yield* runs.validate(account, start)
    const problems = said.problems.slice(0, problemsListed)
    const warnings = said.warnings.slice(0, problemsListed)
    return { value: { ...said, problems, warnings, valid: problems.length === 0 } }
  }),
)

/** The operations of the group `workflows`. */
export const make = Effect.gen(function* () {
  const workflows = yield* Workflows
  return {
    ...(yield* makeReads),
    validate: yield* makeValidate,
    create: ({ account }: Caller, { payload }: In<"create">) =>
      Effect.map(workflows.create(account, contentOf(payload)), answerNew),
    update: Effect.fnUntraced(function* ({ account }: Caller, input: In<"update">) {
      const { headers, params, payload } = input
      const revision = expectedRevision(headers["if-match"])
      if (Result.isFailure(revision)) return yield* revision.failure
      const id = WorkflowId.make(params.id)
      return answer(yield* workflows.update(account, id, payload, revision.success))
    }),
    remove: ({ account }: Caller, { params }: In<"remove">) =>
      Effect.map(workflows.remove(account, WorkflowId.make(params.id)), (value) => ({ value })),
    duplicate: ({ account }: Caller, { params }: In<"duplicate">) =>
      Effect.map(workflows.duplicate(account, WorkflowId.make(params.id)), answerNew),
    addNode: Effect.fnUntraced(function* ({ account }: Caller, input: In<"addNode">) {
      const id = WorkflowId.make(input.params.id)
      const value = yield* workflows.addNode(account, id, input.payload)
      return { value, location: workflowAddress(id) }
    }),
  } satisfies OperationsOf<"workflows">
})
