/**
 * What can be undone and redone.
 *
 * Guarantees: every change is a step of its own, but typing into one field, which is one step as
 * long as less than a second passes between two changes. The last {@link stepsKept} steps are kept.
 * Leaves out: the document; the owner applies what it gets.
 */
import type { Change } from "../Change.ts"
import { difference, inverse, isEmpty } from "../Change.ts"
import type { WorkflowDocument } from "../Document.ts"

/** How many steps can be undone. */
export const stepsKept = 100

/** Changes of one field within this time are one step. */
const togetherMillis = 1_000

/** A step that may grow. */
interface OpenStep {
  readonly field: string
  readonly from: WorkflowDocument
  readonly at: number
}

/** Steps of editing. Mutable. */
export class History {
  #done: Array<Change> = []
  #undone: Array<Change> = []
  #open: OpenStep | undefined

  get canUndo(): boolean {
    return this.#done.length > 0
  }

  get canRedo(): boolean {
    return this.#undone.length > 0
  }

  /** Keeps a step. `field` names what was typed into; `at` is in milliseconds. */
  record(
    before: WorkflowDocument,
    after: WorkflowDocument,
    { at, field }: { readonly at: number; readonly field: string | undefined },
  ): void {
    const open = this.#open
    this.#undone = []
    const grows = open !== undefined && open.field === field && at - open.at < togetherMillis
    const from = grows ? open.from : before
    if (grows) this.#done.pop()
    const step = difference(from, after)
    // Typed and deleted again: nothing is left to undo.
    if (!isEmpty(step)) this.#done.push(step)
    if (this.#done.length > stepsKept) this.#done.shift()
    this.#open = field === undefined ? undefined : { field, from, at }
  }

  /** The change that takes back the last step. */
  undo(): Change | undefined {
    this.seal()
    const step = this.#done.pop()
    if (step === undefined) return undefined
    this.#undone.push(step)
    return inverse(step)
  }

  /** The step that was undone last. */
  redo(): Change | undefined {
    this.seal()
    const step = this.#undone.pop()
    if (step !== undefined) this.#done.push(step)
    return step
  }

  /** The next change is a step of its own. */
  seal(): void {
    this.#open = undefined
  }

  /** Changes every step, for example because a node has got another id. */
  rewrite(rewritten: (step: Change) => Change): void {
    this.seal()
    this.#done = this.#done.map(rewritten)
    this.#undone = this.#undone.map(rewritten)
  }
}
