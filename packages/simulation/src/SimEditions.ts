/**
 * The workflows of a simulation as they are edited: what each revision says, and from when on a
 * start may not be of an older one.
 *
 * Guarantees: an edition is told by its name and by the places of its nodes, and what it does stays
 * the same. Leaves out: the servers, which are told of nothing.
 */
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import type { Node, Workflow } from "@millrace/core/domain/Workflow"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"
import { epoch } from "@millrace/conformance/Samples"
import type { Drawing } from "./SimDrawing.ts"
import { edited } from "./SimRerunDrawing.ts"

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
  /** As they are now. */
  readonly #drawings: Array<Drawing>
  /** As they were of each revision, by workflow and revision. */
  readonly #known = new Map<string, Drawing>()
  /** What was stored when each start was first asked for. */
  readonly #asked = new Map<number | string, number>()

  constructor(store: WorkflowStore["Service"], drawings: ReadonlyArray<Drawing>) {
    this.#store = store
    this.#drawings = [...drawings]
    for (const [workflow, drawing] of drawings.entries()) {
      this.#known.set(`${workflowIdOf(workflow)} 1`, drawing)
      Effect.runSync(store.insert(editionOf(workflow, drawing, 1)))
    }
  }

  /** Replaces a workflow, and says by which revision. */
  edit(workflow: number, change?: Parameters<typeof edited>[1]): number {
    const revision = this.#revisionOf(accountOf(workflow), workflowIdOf(workflow))
    const drawing = this.#drawings[workflow]!
    const drawn = change === undefined ? drawing : edited(drawing, change, revision + 1)
    this.#drawings[workflow] = drawn
    this.#known.set(`${workflowIdOf(workflow)} ${revision + 1}`, drawn)
    const next = editionOf(workflow, drawn, revision + 1)
    Effect.runSync(this.#store.replace(next, revision))
    return next.revision
  }

  /** A start is asked for, perhaps not for the first time; of a rerun, by its API key. */
  ask(start: number | string, workflow: WorkflowId): void {
    if (this.#asked.has(start)) return
    const account = accountOf(Number(workflow.slice("wf_".length)))
    this.#asked.set(start, this.#revisionOf(account, workflow))
  }

  /** True when a run names its workflow as it is stored. */
  isCurrent({ accountId, workflowId, workflowRevision }: Run): boolean {
    return this.#revisionOf(accountId, workflowId) === workflowRevision
  }

  /** True when a new run is of no older workflow than there was when it was asked for. */
  isTimely({ run }: RunRecord): boolean {
    const start = run.rerunOf === null ? Number(run.values["run"]) : (run.keyId ?? "")
    return run.workflowRevision >= (this.#asked.get(start) ?? Infinity)
  }

  /** True when a run is what its revision says. A node that its start replaced is elsewhere. */
  isFaithful({ definition, run }: RunRecord): boolean {
    const drawing = this.drawingOf(run)
    // Beside what is drawn, a run knows in which version of its type a node is.
    const textOf = ({ data }: Node) => JSON.stringify({ ...Object(data), version: undefined })
    const texts = new Map(drawing.nodes.map((node) => [node.id, textOf(node)]))
    const isDrawn = (node: Node) => {
      const { x, y } = node.position
      return y !== 0 || (x === run.workflowRevision && textOf(node) === texts.get(node.id))
    }
    const isWhole = run.singleNodeId !== null || definition.nodes.length === drawing.nodes.length
    return (
      run.workflowName === nameOf(run.workflowRevision) &&
      isWhole &&
      definition.nodes.every(isDrawn)
    )
  }

  /** What the revision says that a run is of. */
  drawingOf({ workflowId, workflowRevision }: Run): Drawing {
    return this.#known.get(`${workflowId} ${workflowRevision}`)!
  }

  /** What is stored now of the workflow of a run. */
  currentOf({ workflowId }: Run): Drawing {
    return this.#drawings[Number(workflowId.slice("wf_".length))]!
  }

  #revisionOf(account: AccountId, id: WorkflowId): number {
    return Option.getOrThrow(Effect.runSync(this.#store.find(account, id))).revision
  }
}
