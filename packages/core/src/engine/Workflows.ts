/**
 * Changes workflows. Every write checks the graph as a draft and raises the revision.
 *
 * Guarantees: invalid content changes nothing, and every problem is named. A write is conditional
 * on the revision, so two writers never mix. Changes of one workflow at the same time are made one
 * after the other. Leaves out: reads, which go straight to the store.
 */
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import type { AccountId } from "../domain/Id.ts"
import { WorkflowId } from "../domain/Id.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { Limits } from "../domain/Limits.ts"
import { CurrentLimits, workflowNameLength } from "../domain/Limits.ts"
import { nearestHint } from "../domain/Nearest.ts"
import type { NodeType, NodeTypesByKey, Ports } from "../domain/NodeType.ts"
import { typeOfNode, versionOfNew } from "../domain/NodeType.ts"
import { firstOf, plain } from "../domain/Quote.ts"
import type { CalledWorkflows } from "../domain/Run.ts"
import type { Node, Position, Workflow, WorkflowContent } from "../domain/Workflow.ts"
import { settingsOf } from "../domain/Workflow.ts"
import type { CalledPorts } from "../graph/internal/CalledWorkflows.ts"
import { callsIn, portsOf } from "../graph/internal/CalledWorkflows.ts"
import { problemsOfDraft } from "../graph/internal/Draft.ts"
import { place } from "../graph/Placement.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { WorkflowStore } from "../ports/WorkflowStore.ts"
import { Ids } from "./Ids.ts"
import { NodeTypes } from "./NodeTypes.ts"
import { InvalidGraph, RevisionMismatch, WorkflowNotFound } from "./Refusals.ts"
import { frozenOf, isWorkflowId } from "./internal/Called.ts"
import { findTaken } from "./internal/TakenWorkflow.ts"
import { contentOf, sameContent } from "./internal/WorkflowContents.ts"
import type { ChangeContext, Decide, NotChanged } from "./internal/WorkflowChanges.ts"
import { WorkflowChanges } from "./internal/WorkflowChanges.ts"

/** A node to add (specification 4.4). */
export interface NewNode {
  readonly nodeType: string
  readonly position?: Position | undefined
  readonly column?: number | undefined
  readonly row?: number | undefined
  readonly inputs?: JsonObject | undefined
  readonly mode?: string | undefined
}

/** The added node (specification 2.7). */
export interface AddedNode {
  readonly nodeId: string
  readonly type: string
  readonly position: Position
  readonly inputPorts: ReadonlyArray<string>
  readonly outputPorts: ReadonlyArray<string>
  readonly mode?: string
  readonly inputsSet?: ReadonlyArray<string>
}

export class Workflows extends Context.Service<
  Workflows,
  {
    readonly create: (
      account: AccountId,
      content: WorkflowContent,
    ) => Effect.Effect<Workflow, InvalidGraph | StorageError>
    /**
     * Changes the given fields. If that changes nothing, the revision stays. With
     * `expectedRevision`, the change is refused unless the stored revision is that one. Without,
     * the last write wins.
     */
    readonly update: (
      account: AccountId,
      id: WorkflowId,
      change: Partial<WorkflowContent>,
      expectedRevision?: number,
    ) => Effect.Effect<Workflow, InvalidGraph | RevisionMismatch | NotChanged>
    /** A new workflow with the same content, called `<name> (copy)`. */
    readonly duplicate: (
      account: AccountId,
      id: WorkflowId,
    ) => Effect.Effect<Workflow, WorkflowNotFound | StorageError>
    readonly addNode: (
      account: AccountId,
      id: WorkflowId,
      node: NewNode,
    ) => Effect.Effect<AddedNode, InvalidGraph | NotChanged>
    readonly remove: (
      account: AccountId,
      id: WorkflowId,
    ) => Effect.Effect<void, WorkflowNotFound | StorageError>
  }
>()("@millrace/core/engine/Workflows") {
  /** Needs the store, the node types and `Ids`. */
  static readonly layer: Layer.Layer<Workflows, never, WorkflowStore | NodeTypes | Ids> =
    Layer.effect(
      Workflows,
      Effect.suspend(() => make),
    )
}

const copyName = (name: string): string => {
  const suffix = " (copy)"
  return firstOf(name, workflowNameLength - suffix.length) + suffix
}

const checkDraft = (
  content: WorkflowContent,
  limits: Limits,
): Result.Result<void, InvalidGraph> => {
  const problems = problemsOfDraft(content, limits)
  return problems.length === 0
    ? Result.succeed(undefined)
    : Result.fail(new InvalidGraph({ problems: problems.map((each) => each.message) }))
}

const given = <T extends object>(change: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(change).filter(([, value]) => value !== undefined),
  ) as Partial<T>

const freeId = (nodes: ReadonlyArray<Node>, nodeType: string): string => {
  const taken = new Set(nodes.map((node) => node.id))
  let count = 1
  while (taken.has(`${nodeType}_${count}`)) count += 1
  return `${nodeType}_${count}`
}

/** The node to add, with its place on the canvas. Its type and ports are not checked here. */
const drawNode = (nodes: ReadonlyArray<Node>, wanted: NewNode, types: NodeTypesByKey): Node => {
  const type = types.get(wanted.nodeType)
  const version = type === undefined ? undefined : versionOfNew(type)
  return {
    id: freeId(nodes, wanted.nodeType),
    type: wanted.nodeType,
    position: place(nodes, wanted),
    data: {
      ...(wanted.inputs === undefined ? {} : { inputs: wanted.inputs }),
      ...(wanted.mode === undefined ? {} : { mode: wanted.mode }),
      ...(version === undefined ? {} : { version }),
    },
  }
}

/** The ports of a node that is added; an edge to come may bring what they require. */
const portsOfNew = (type: NodeType, node: Node, around: CalledPorts): Ports =>
  portsOf(type, settingsOf(node), around, true)

const problemsOfNew = (type: NodeType, node: Node, { inputs }: Ports): ReadonlyArray<string> => {
  const settings = settingsOf(node)
  const problems: Array<string> = []
  if (settings.mode !== undefined && !type.modes.includes(settings.mode)) {
    const modes = type.modes.length === 0 ? "it has none" : `it has ${type.modes.join(", ")}`
    problems.push(`mode: ${type.key} has no such mode; ${modes}`)
  }
  for (const [name, value] of Object.entries(settings.inputs)) {
    const port = inputs.get(name)
    if (port !== undefined) {
      problems.push(...port.check(value).map((clause) => `inputs.${plain(name)}: ${clause}`))
    } else {
      const known = [...inputs.keys()].join(", ")
      problems.push(`inputs.${plain(name)}: ${type.key} has no such input; it has ${known}`)
    }
  }
  return problems
}

const describeAdded = (type: NodeType, node: Node, wanted: NewNode, ports: Ports): AddedNode => {
  const settings = settingsOf(node)
  const mode = settings.mode ?? type.modes[0]
  return {
    nodeId: node.id,
    type: node.type,
    position: node.position,
    inputPorts: [...ports.inputs.keys()],
    outputPorts: [...ports.outputs.keys()],
    ...(mode === undefined ? {} : { mode }),
    ...(wanted.inputs === undefined ? {} : { inputsSet: Object.keys(wanted.inputs) }),
  }
}

/** The services of all operations. */
const servicesOf = Effect.all({
  store: WorkflowStore,
  types: NodeTypes,
  ids: Ids,
  clock: Clock.Clock,
})
type Services = Effect.Success<typeof servicesOf>

const find = Effect.fnUntraced(function* ({ store }: Services, account: AccountId, id: WorkflowId) {
  const found = yield* store.find(account, id)
  if (Option.isNone(found)) return yield* new WorkflowNotFound({ workflowId: id })
  return found.value
})

const insert = Effect.fnUntraced(function* (
  { clock, ids, store }: Services,
  account: AccountId,
  content: WorkflowContent,
) {
  const now = clock.currentTimeMillisUnsafe()
  const workflow: Workflow = {
    id: WorkflowId.make(yield* ids.make("workflow")),
    accountId: account,
    ...contentOf(content),
    revision: 1,
    createdAt: now,
    updatedAt: now,
  }
  yield* store.insert(workflow)
  return workflow
})

/** The stored workflow with this content; the same object if it has that content already. */
const withContent = (
  stored: Workflow,
  content: WorkflowContent,
  { limits, now }: ChangeContext,
): Result.Result<Workflow, InvalidGraph> =>
  sameContent(stored, content)
    ? Result.succeed(stored)
    : Result.map(checkDraft(content, limits), () => ({
        ...stored,
        ...contentOf(content),
        revision: stored.revision + 1,
        updatedAt: Math.max(now, stored.updatedAt),
      }))

const decideUpdate =
  (
    patch: Partial<WorkflowContent>,
    expectedRevision: number | undefined,
  ): Decide<Workflow, InvalidGraph | RevisionMismatch> =>
  (stored, environment) => {
    const { id, revision } = stored
    if (expectedRevision !== undefined && expectedRevision !== revision) {
      return Result.fail(new RevisionMismatch({ workflowId: id, revision }))
    }
    const content = contentOf({ ...stored, ...given(patch) })
    const changed = withContent(stored, content, environment)
    return Result.map(changed, (workflow) => ({ workflow, answer: workflow }))
  }

/** The workflow that a new node calls, if the account has it: its fields are inputs of the node. */
const calledByNew = Effect.fnUntraced(function* (
  { store, types }: Services,
  account: AccountId,
  wanted: NewNode,
): Effect.fn.Return<CalledWorkflows, StorageError> {
  const [call] = callsIn([drawNode([], wanted, types.all())], {}, types.all())
  if (call === undefined || !isWorkflowId(call.workflowId)) return {}
  const found = yield* findTaken(store, account, call.workflowId, call.version)
  return Option.isNone(found) ? {} : { [call.key]: frozenOf(found.value) }
})

const decideAddition =
  (
    { types }: Services,
    wanted: NewNode,
    workflows: CalledWorkflows,
  ): Decide<AddedNode, InvalidGraph> =>
  (stored, environment) => {
    const known = types.all()
    const node = drawNode(stored.nodes, wanted, known)
    const type = typeOfNode(known, node)
    if (type === undefined) {
      const hint = nearestHint(wanted.nodeType, known.keys())
      const problems = [`nodeType: there is no such type${hint}`]
      return Result.fail(new InvalidGraph({ problems }))
    }
    const ports = portsOfNew(type, node, { types: known, workflows })
    const problems = problemsOfNew(type, node, ports)
    if (problems.length > 0) return Result.fail(new InvalidGraph({ problems }))
    const content = { ...stored, nodes: [...stored.nodes, node] }
    const answer = describeAdded(type, node, wanted, ports)
    return Result.map(withContent(stored, content, environment), (workflow) => ({
      workflow,
      answer,
    }))
  }

const make = Effect.gen(function* () {
  const services = yield* servicesOf
  const changes = yield* WorkflowChanges.make(services.store)
  return Workflows.of({
    create: Effect.fn("Workflows.create")(function* (account, content) {
      yield* Effect.fromResult(checkDraft(content, yield* CurrentLimits))
      return yield* insert(services, account, content)
    }),
    update: Effect.fn("Workflows.update")((account, id, patch, expectedRevision) =>
      changes.change(account, id, decideUpdate(patch, expectedRevision)),
    ),
    duplicate: Effect.fn("Workflows.duplicate")(function* (account, id) {
      const stored = yield* find(services, account, id)
      return yield* insert(services, account, { ...contentOf(stored), name: copyName(stored.name) })
    }),
    addNode: Effect.fn("Workflows.addNode")(function* (account, id, wanted) {
      const called = yield* calledByNew(services, account, wanted)
      return yield* changes.change(account, id, decideAddition(services, wanted, called))
    }),
    remove: Effect.fn("Workflows.remove")(function* (account, id) {
      const removed = yield* services.store.remove(account, id)
      if (!removed) return yield* new WorkflowNotFound({ workflowId: id })
    }),
  })
})
