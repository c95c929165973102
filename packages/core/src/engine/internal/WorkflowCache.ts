/**
 * The workflows that this process has lately started, so that the next start need not read them.
 *
 * Guarantees: an account is given its own only; the number kept is bounded. Leaves out: whether a
 * kept workflow is still the stored one. The store says that, in the step that stores the run.
 */
import type { AccountId, WorkflowId } from "../../domain/Id.ts"
import { workflowsCached } from "../../domain/Limits.ts"
import type { Workflow } from "../../domain/Workflow.ts"
import { BoundedMap } from "../BoundedMap.ts"
import type { SharedPlan } from "./Plan.ts"

/** A workflow as it was when it was kept. Mutable. */
export interface KeptWorkflow {
  readonly workflow: Workflow
  /** What the plans of its starts share; `undefined` until a start has left it here. */
  plan: SharedPlan | undefined
}

/** The workflows that were used last. Mutable. */
export class WorkflowCache {
  // An identifier belongs to one account only.
  readonly #kept = new BoundedMap<WorkflowId, KeptWorkflow>(workflowsCached)

  /** A workflow as it was when it was last kept, if it still is. */
  find(account: AccountId, id: WorkflowId): KeptWorkflow | undefined {
    const kept = this.#kept.get(id)
    return kept?.workflow.accountId === account ? kept : undefined
  }

  /** Keeps a workflow in place of what was kept of it, and may forget those unused for longest. */
  keep(workflow: Workflow): void {
    this.#kept.set(workflow.id, { workflow, plan: undefined })
  }

  /** Forgets this workflow. What was kept of it meanwhile stays. */
  drop(kept: KeptWorkflow): void {
    const { id } = kept.workflow
    if (this.#kept.get(id) === kept) this.#kept.delete(id)
  }
}
