/**
 * What a server says about a document that is not saved: problems, ports, names and prices.
 *
 * Guarantees: asks 300 ms after the last change, and never from a hidden tab; of several answers
 * the one about the latest document counts. Leaves out: saying that nobody answers.
 */
import type { Client, WorkflowValidation } from "@millrace/api/PromiseClient"
import type { Schedule } from "./Autosave.ts"
import type { WorkflowDocument } from "../Document.ts"

/** What it needs of the world. */
export interface DraftValidationOptions {
  readonly workflows: Pick<Client["workflows"], "validate">
  readonly workflowId: string
  readonly schedule: Schedule
  readonly isVisible: () => boolean
  /** Called with each answer. */
  readonly onAnswer: (validation: WorkflowValidation, document: WorkflowDocument) => void
}

const quietMillis = 300

/** Validates a document that changes. Mutable. */
export class DraftValidation {
  readonly #options: DraftValidationOptions
  #wanted: WorkflowDocument | undefined
  #cancel: (() => void) | undefined
  #asking: AbortController | undefined

  constructor(options: DraftValidationOptions) {
    this.#options = options
  }

  /** There is another document. `millis` is how long to wait for another one. */
  changed(document: WorkflowDocument, millis = quietMillis): void {
    this.#wanted = document
    this.#cancel?.()
    this.#cancel = this.#options.schedule(() => {
      this.#cancel = undefined
      void this.#ask()
    }, millis)
  }

  /** Asks again for what could not be asked. */
  wake(): void {
    if (this.#wanted !== undefined && this.#cancel === undefined) void this.#ask()
  }

  /** Asks no more. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#asking?.abort()
  }

  async #ask(): Promise<void> {
    const document = this.#wanted
    const { isVisible, onAnswer, workflowId, workflows } = this.#options
    if (document === undefined || !isVisible()) return
    this.#asking?.abort()
    const asking = new AbortController()
    this.#asking = asking
    const { edges, nodes, settings } = document
    const { signal } = asking
    const answer = await workflows
      .validate(workflowId, { nodes, edges, settings }, { signal })
      .catch(() => undefined)
    if (answer === undefined || signal.aborted) return
    if (this.#wanted === document) this.#wanted = undefined
    onAnswer(answer, document)
  }
}
