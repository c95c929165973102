/**
 * The contents of the workflows of a simulation, as drafts and as published versions. One of them
 * is right. A run that takes another one breaks a rule.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { VersionChoice } from "@millrace/core/domain/WorkflowVersion"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { epoch } from "@millrace/conformance/Samples"
import { Effect } from "effect"
import { diceFor } from "./SimBehavior.ts"

/**
 * Where the right content is, and who asks for it. `plain`: nothing is published, and nobody asks.
 * `published`: version 1 is it, and nobody asks. `named`: everybody asks for version 1, although
 * another one is published. `draft`: everybody asks for the draft, although version 1 is published.
 */
export type Content = "plain" | "published" | "named" | "draft"

/** Which one it is in a seed. */
export const contentOf = (seed: number): Content =>
  diceFor(seed, "content").of(["plain", "plain", "published", "named", "draft"])

/** What starts and calls ask for. */
export const askedOf = (content: Content): VersionChoice | undefined =>
  content === "named" ? 1 : content === "draft" ? "draft" : undefined

/** What a workflow is drawn like. */
export type Drawing = Pick<Workflow, "nodes" | "edges" | "settings">

/** Puts out what nobody waits for. */
const wrong: Drawing = {
  nodes: [
    {
      id: "wrong",
      type: "response",
      position: { x: 0, y: 0 },
      data: { inputs: { input: "what nobody has asked for" } },
    },
  ],
  edges: [],
  settings: {},
}

const run = <A, E>(effect: Effect.Effect<A, E>): A => Effect.runSync(Effect.orDie(effect))

/** The workflow of a simulation in a store that answers at once. */
export class EditedWorkflow {
  readonly #store: WorkflowStore["Service"]
  readonly #head: Pick<Workflow, "id" | "accountId" | "name">
  #revision = 0
  #versions = 0

  constructor(store: WorkflowStore["Service"], head: Pick<Workflow, "id" | "accountId" | "name">) {
    this.#store = store
    this.#head = head
  }

  /** Stores this as the right content, and wrong ones beside it. */
  begin(drawing: Drawing, content: Content): void {
    const contents = {
      plain: [drawing],
      published: [drawing],
      named: [drawing, wrong],
      draft: [wrong],
    }[content]
    for (const each of contents) {
      this.#draw(each)
      if (content !== "plain") this.#publish()
    }
    if (content !== "plain") this.#draw(content === "draft" ? drawing : wrong)
  }

  /** From now on the draft and what is published are wrong. */
  spoil(): void {
    this.#draw(wrong)
    this.#publish()
  }

  #draw(drawing: Drawing): void {
    const revision = (this.#revision += 1)
    const rest = { description: null, thumbnailUrl: null, createdAt: epoch, updatedAt: epoch }
    const workflow: Workflow = { ...this.#head, ...rest, ...drawing, revision }
    if (revision === 1) return run(this.#store.insert(workflow))
    run(this.#store.replace(workflow, revision - 1))
  }

  #publish(): void {
    const { accountId: account, id } = this.#head
    const number = (this.#versions += 1)
    const kept = { note: null, publishedAt: epoch, mostVersions: 10 }
    run(this.#store.publish({ account, id, expectedRevision: this.#revision, number, ...kept }))
  }
}

/** Every run says which version it executes. */
export const brokenContentOf = (content: Content, runs: ReadonlyArray<Run>): string | undefined => {
  const version = content === "published" || content === "named" ? 1 : null
  const other = runs.find(({ workflowVersion }) => workflowVersion !== version)
  return other === undefined
    ? undefined
    : `a run is of the version that was asked for: ${other.id} is of ${other.workflowVersion}`
}
