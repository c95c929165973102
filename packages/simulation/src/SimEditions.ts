/**
 * The workflows of a simulation as they are edited: what each revision says, and from when on a
 * start may not be of an older one.
 *
 * Guarantees: an edition is told by its name and by the places of its nodes, and what it does stays
 * the same. Leaves out: the servers, which are told of nothing.
 */
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"
import { epoch } from "@millrace/conformance/Samples"
import type { Drawing } from "./SimDrawing.ts"

/** Whose the workflow of this number is. */
export const accountOf = (workflow: number): AccountId => AccountId.make(`acc_${workflow}`)

/** What the workflow of this number is called by. */
export const workflowIdOf = (workflow: number): WorkflowId => WorkflowId.make(`wf_${workflow}`)

const nameOf = (revision: number): string => `As of ${revision}`

const editionOf = (workflow: number, drawing: Drawing, revision: number): Workflow => ({
  id: workflowIdOf(workflow),
  accountId: accountOf(workflow),
  name: nameOf(revision),
  description: null,
  thumbnailUrl: null,
  nodes: drawing.nodes.map((node) => ({ ...node, position: { x: revision, y: 0 } })),
  edges: drawing.edges,
  settings: drawing.settings,
  revision,
  createdAt: epoch,
  updatedAt: epoch,
})

/** All workflows of one store. */
export class Editions {
  readonly #store: WorkflowStore["Service"]
  readonly #drawings: ReadonlyArray<Drawing>
  /** What was stored when each start was first asked for. */
  readonly #asked = new Map<number, number>()

  constructor(store: WorkflowStore["Service"], drawings: ReadonlyArray<Drawing>) {
    this.#store = store
    this.#drawings = drawings
    for (const [workflow, drawing] of drawings.entries()) {
      Effect.runSync(store.insert(editionOf(workflow, drawing, 1)))
    }
  }

  /** Replaces a workflow, and says by which revision. */
  edit(workflow: number): number {
    const revision = this.#revisionOf(accountOf(workflow), workflowIdOf(workflow))
    const next = editionOf(workflow, this.#drawings[workflow]!, revision + 1)
    Effect.runSync(this.#store.replace(next, revision))
    return next.revision
  }

  /** A start is asked for, perhaps not for the first time. */
  ask(run: number, workflow: number): void {
    if (this.#asked.has(run)) return
    this.#asked.set(run, this.#revisionOf(accountOf(workflow), workflowIdOf(workflow)))
  }

  /** True when a run names its workflow as it is stored. */
  isCurrent({ accountId, workflowId, workflowRevision }: Run): boolean {
    return this.#revisionOf(accountId, workflowId) === workflowRevision
  }

  /** True when a new run is of no older workflow than there was when it was asked for. */
  isTimely({ run }: RunRecord): boolean {
    return run.workflowRevision >= (this.#asked.get(Number(run.values["run"])) ?? Infinity)
  }

  /** True when a run is what its revision says. A node that its start replaced is elsewhere. */
  isFaithful({ definition, run }: RunRecord): boolean {
    const places = definition.nodes.map(({ position }) => position)
    return (
      run.workflowName === nameOf(run.workflowRevision) &&
      places.every(({ x, y }) => y !== 0 || x === run.workflowRevision)
    )
  }

  #revisionOf(account: AccountId, id: WorkflowId): number {
    return Option.getOrThrow(Effect.runSync(this.#store.find(account, id))).revision
  }
}
