/**
 * The operations on workflows: reads go to the store, decisions to the engine.
 *
 * Guarantees: every answer with a workflow has its revision as `ETag`.
 */
import { Api } from "@millrace/api/Api"
import { CurrentKey } from "@millrace/api/Authorization"
import type { PageQuery } from "@millrace/api/PageQuery"
import type { CreateWorkflow } from "@millrace/api/WorkflowWire"
import {
  AddNode as AddNodeBody,
  CreateWorkflow as CreateBody,
  UpdateWorkflow as UpdateBody,
} from "@millrace/api/WorkflowWire"
import { problemsListed, ValidateWorkflow as ValidateBody } from "@millrace/api/ValidationWire"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow, WorkflowContent } from "@millrace/core/domain/Workflow"
import { WorkflowNotFound } from "@millrace/core/engine/Refusals"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { BasePath, workflowAddress } from "../Addresses.ts"
import { WorkflowAhead } from "./Authorization.ts"
import { reader } from "./Body.ts"
import { addHeaders, InvalidRequest, refuse } from "../Errors.ts"
import { makePaginate } from "./Paging.ts"

const readCreate = reader(CreateBody)
const readUpdate = reader(UpdateBody)
const readAddNode = reader(AddNodeBody)
const readValidate = reader(ValidateBody)

const contentOf = (body: CreateWorkflow): WorkflowContent => ({
  description: null,
  thumbnailUrl: null,
  nodes: [],
  edges: [],
  ...body,
})

/** Answers with a workflow: its revision is the entity tag. */
const answer = (workflow: Workflow) =>
  Effect.as(addHeaders({ etag: `"${workflow.revision}"` }), workflow)

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

/** A request that names a workflow. */
interface ById {
  readonly params: { readonly id: string }
}

/** A request whose body is read here. */
interface WithBody {
  readonly request: HttpServerRequest.HttpServerRequest
}

interface Change extends ById, WithBody {
  readonly headers: { readonly "if-match"?: string }
}

const makeReads = Effect.gen(function* () {
  const store = yield* WorkflowStore
  const paginate = yield* makePaginate
  return {
    list: Effect.fnUntraced(function* ({ query }: { readonly query: PageQuery }) {
      const { accountId } = yield* CurrentKey
      return yield* paginate(accountId, "workflows", query, ({ search }, page) =>
        Effect.catch(store.list({ account: accountId, search, ...page }), refuse),
      )
    }),
    get: Effect.fnUntraced(function* ({ params }: ById) {
      const { accountId } = yield* CurrentKey
      const id = WorkflowId.make(params.id)
      const ahead = yield* WorkflowAhead
      const found = ahead ?? (yield* Effect.catch(store.find(accountId, id), refuse))
      if (Option.isNone(found)) return yield* refuse(new WorkflowNotFound({ workflowId: id }))
      return yield* answer(found.value)
    }),
  }
})

const makeValidate = Effect.map(Runs, (runs) =>
  Effect.fnUntraced(function* ({ params, request }: ById & WithBody) {
    const { accountId } = yield* CurrentKey
    const body = yield* readValidate(request)
    const start = { ...body, workflowId: WorkflowId.make(params.id) }
    const said = yield* Effect.catch(runs.validate(accountId, start), refuse)
    const problems = said.problems.slice(0, problemsListed)
    const warnings = said.warnings.slice(0, problemsListed)
    return { ...said, problems, warnings, valid: problems.length === 0 }
  }),
)

const makeWrites = Effect.gen(function* () {
  const workflows = yield* Workflows
  const basePath = yield* BasePath

  /** Answers with a workflow that is new. */
  const answerNew = Effect.fnUntraced(function* (workflow: Workflow) {
    yield* addHeaders({ location: workflowAddress(basePath, workflow.id) })
    return yield* answer(workflow)
  })

  return {
    create: Effect.fnUntraced(function* ({ request }: WithBody) {
      const { accountId } = yield* CurrentKey
      const body = yield* readCreate(request)
      const made = workflows.create(accountId, contentOf(body))
      return yield* answerNew(yield* Effect.catch(made, refuse))
    }),
    update: Effect.fnUntraced(function* ({ headers, params, request }: Change) {
      const { accountId } = yield* CurrentKey
      const revision = expectedRevision(headers["if-match"])
      if (Result.isFailure(revision)) return yield* refuse(revision.failure)
      const body = yield* readUpdate(request)
      const id = WorkflowId.make(params.id)
      const changed = workflows.update(accountId, id, body, revision.success)
      return yield* answer(yield* Effect.catch(changed, refuse))
    }),
    remove: Effect.fnUntraced(function* ({ params }: ById) {
      const { accountId } = yield* CurrentKey
      yield* Effect.catch(workflows.remove(accountId, WorkflowId.make(params.id)), refuse)
    }),
    duplicate: Effect.fnUntraced(function* ({ params }: ById) {
      const { accountId } = yield* CurrentKey
      const made = workflows.duplicate(accountId, WorkflowId.make(params.id))
      return yield* answerNew(yield* Effect.catch(made, refuse))
    }),
    addNode: Effect.fnUntraced(function* ({ params, request }: ById & WithBody) {
      const { accountId } = yield* CurrentKey
      const body = yield* readAddNode(request)
      const id = WorkflowId.make(params.id)
      const added = yield* Effect.catch(workflows.addNode(accountId, id, body), refuse)
      yield* addHeaders({ location: workflowAddress(basePath, id) })
      return added
    }),
  }
})

/** The handlers of the group `workflows`. */
export const layer = HttpApiBuilder.group(
  Api,
  "workflows",
  Effect.fnUntraced(function* (handlers) {
    const reads = yield* makeReads
    const writes = yield* makeWrites
    const validate = yield* makeValidate
    return handlers
      .handle("list", reads.list)
      .handle("get", reads.get)
      .handleRaw("create", writes.create)
      .handleRaw("update", writes.update)
      .handle("remove", writes.remove)
      .handle("duplicate", writes.duplicate)
      .handleRaw("addNode", writes.addNode)
      .handleRaw("validate", validate)
  }),
)
