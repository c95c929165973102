/**
 * Validates a workflow, or a draft of it: what a start would say now. Reads what the workflow
 * calls, and stores nothing.
 */
import { Effect, Result } from "effect"
import type { AccountId } from "../../domain/Id.ts"
import { RunId } from "../../domain/Id.ts"
import { CurrentLimits } from "../../domain/Limits.ts"
import type { Workflow } from "../../domain/Workflow.ts"
import { problemsOfSize } from "../../graph/internal/Draft.ts"
import { withNodeOverrides } from "../../graph/internal/Overlay.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import { emptyCalls } from "./Called.ts"
import type { StartRequest } from "./NewRun.ts"
import { overlayOf } from "./NewRun.ts"
import type { services } from "./StartPlan.ts"
import { calledByStart, planOf } from "./StartPlan.ts"
import type { Validation } from "./Validation.ts"
import { validationOf } from "./Validation.ts"

/** What a validation judges: a start, of the stored workflow or of a draft. */
export interface ValidationRequest extends StartRequest {
  /** Takes the place of what is stored; what is absent stays. */
  readonly draft?: Partial<Pick<Workflow, "nodes" | "edges">> | undefined
  /** True: whichever values a start brings. What the request node requires is no problem. */
  readonly anyValues?: boolean | undefined
}

/** A run that is only planned. */
const nobody = RunId.make("run")

/** What a start of this workflow would say. */
export const validated: (
  planning: Effect.Success<typeof services>,
  account: AccountId,
  stored: Workflow,
  request: ValidationRequest,
) => Effect.Effect<Validation, StorageError> = Effect.fnUntraced(
  function* (planning, account, stored, request) {
    const { anyValues, draft } = request
    const workflow = { ...stored, ...draft }
    const overlay = { ...overlayOf(request), isUnstored: draft !== undefined, anyValues }
    const tooLarge = draft === undefined ? [] : problemsOfSize(workflow, yield* CurrentLimits)
    const isReadable = tooLarge.length === 0
    const called = isReadable
      ? yield* calledByStart(planning, account, workflow, overlay)
      : emptyCalls
    const made = isReadable
      ? yield* planOf(planning, { account, request }, workflow, nobody, { overlay, called })
      : Result.fail(tooLarge)
    const nodes = withNodeOverrides(workflow.nodes, overlay.nodeOverrides)
    const drawn = { nodes: Result.getOrElse(nodes, () => workflow.nodes), edges: workflow.edges }
    const settings = { workflows: called.workflows }
    const read = isReadable ? { ...drawn, settings } : { nodes: [], edges: [] }
    const reading = planning.graphs.read(read, overlay.inputOverrides)
    return validationOf(made, reading, planning.priceList?.prices)
  },
)
