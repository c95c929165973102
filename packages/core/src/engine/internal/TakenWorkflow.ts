/**
 * Which content of a workflow a start takes: the published version, or the draft where none is
 * published, unless the start asks for the draft or for the version of a number.
 *
 * Guarantees: starts, validations, reruns, triggers and nodes that call workflows ask here.
 */
import { Effect, Option } from "effect"
import type { AccountId, WorkflowId } from "../../domain/Id.ts"
import type { Workflow } from "../../domain/Workflow.ts"
import type { VersionChoice } from "../../domain/WorkflowVersion.ts"
import { workflowOf } from "../../domain/WorkflowVersion.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { WorkflowStore } from "../../ports/WorkflowStore.ts"
import { VersionNotFound, WorkflowNotFound } from "../Refusals.ts"
import type { StartRequest } from "./NewRun.ts"

type Asked = Pick<StartRequest, "workflowId" | "version" | "singleNodeId">

/** What is asked for; `undefined` for what starts take that ask for nothing else. */
export const choiceOf = ({ singleNodeId, version }: Asked): StartRequest["version"] =>
  version ?? (singleNodeId === undefined ? undefined : "draft")

/** The version of this number. */
export const foundVersion = Effect.fnUntraced(function* (
  store: WorkflowStore["Service"],
  account: AccountId,
  workflowId: WorkflowId,
  number: number,
) {
  const version = yield* store.findVersion(account, workflowId, number)
  if (Option.isSome(version)) return version.value
  const isKnown = Option.isSome(yield* store.find(account, workflowId))
  if (isKnown) return yield* new VersionNotFound({ workflowId, number })
  return yield* new WorkflowNotFound({ workflowId })
})

/** Fails if a trigger names the number of a version that there is not. */
export const knownVersion = (
  store: WorkflowStore["Service"],
  account: AccountId,
  workflowId: WorkflowId,
  choice: VersionChoice | null,
) =>
  typeof choice === "number"
    ? Effect.asVoid(foundVersion(store, account, workflowId, choice))
    : Effect.void

/** What is asked for of a workflow, as it is stored now, if the account has it. */
export const findTaken = (
  store: WorkflowStore["Service"],
  account: AccountId,
  id: WorkflowId,
  choice: VersionChoice | undefined,
): Effect.Effect<Option.Option<Workflow>, StorageError> =>
  typeof choice === "number"
    ? Effect.map(store.findVersion(account, id, choice), Option.map(workflowOf))
    : choice === "draft"
      ? store.find(account, id)
      : store.findCurrent(account, id)

/** The workflow that a start takes, as it is stored now. */
export const takenWorkflow = Effect.fnUntraced(function* (
  store: WorkflowStore["Service"],
  account: AccountId,
  asked: Asked,
) {
  const { workflowId } = asked
  const choice = choiceOf(asked)
  if (typeof choice === "number") {
    return workflowOf(yield* foundVersion(store, account, workflowId, choice))
  }
  const found = yield* findTaken(store, account, workflowId, choice)
  return Option.isSome(found) ? found.value : yield* new WorkflowNotFound({ workflowId })
})
