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

/** The workflows that were used last. Mutable. */
export class WorkflowCache {
  // An identifier belongs to one account only.
  readonly #kept = new BoundedMap<WorkflowId, Workflow>(workflowsCached)

  /** A workflow as it was when it was last kept, if it still is. */
  find(account: AccountId, id: WorkflowId): Workflow | undefined {
    const workflow = this.#kept.get(id)
    return workflow?.accountId === account ? workflow : undefined
  }

  /** Keeps a workflow in place of what was kept of it, and may forget those unused for longest. */
  keep(workflow: Workflow): void {
    this.#kept.set(workflow.id, workflow)
  }

  /** Forgets this workflow. What was kept of it meanwhile stays. */
  drop(workflow: Workflow): void {
    if (this.#kept.get(workflow.id) === workflow) this.#kept.delete(workflow.id)
  }
}
