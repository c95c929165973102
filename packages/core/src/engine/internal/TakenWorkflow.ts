/**
 * Which content of a workflow a start takes: the published version, or the draft where none is
 * published, unless the start asks for the draft or for the version of a number.
 *
 * Guarantees: starts, validations, reruns and triggers ask here. Leaves out: who can ask for
 * nothing else, such as children, and reads `WorkflowStore.findCurrent`.
 */
import { Effect, Option } from "effect"
import type { AccountId, WorkflowId } from "../../domain/Id.ts"
import type { VersionChoice } from "../../domain/WorkflowVersion.ts"
import { workflowOf } from "../../domain/WorkflowVersion.ts"
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
  const found = yield* choice === "draft"
    ? store.find(account, workflowId)
    : store.findCurrent(account, workflowId)
  return Option.isSome(found) ? found.value : yield* new WorkflowNotFound({ workflowId })
})
