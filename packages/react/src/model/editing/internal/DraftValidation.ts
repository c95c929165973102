/**
 * What a server says about a document that is not saved: problems, ports, names and prices.
 *
 * Guarantees: asks once there was no change for 300 ms, and never from a hidden tab. A new request
 * cancels the one before. Leaves out: reporting a request that failed; `wake` repeats it.
 */
import type { Client, WorkflowValidation } from "@millrace/api/PromiseClient"
import type { Schedule } from "./Autosave.ts"
import type { WorkflowDocument } from "../Document.ts"

export interface DraftValidationOptions {
  readonly workflows: Pick<Client["workflows"], "validate">
  readonly workflowId: string
  readonly schedule: Schedule
  readonly isVisible: () => boolean
  /** Called with each answer, and the document that it is about. */
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

  /** The document has changed. Validates it once there was no other change for `millis`. */
  changed(document: WorkflowDocument, millis = quietMillis): void {
    this.#wanted = document
    this.#cancel?.()
    this.#cancel = this.#options.schedule(() => {
      this.#cancel = undefined
      void this.#ask()
    }, millis)
  }

  /** Validates again if there is no answer about the latest document yet. */
  wake(): void {
    if (this.#wanted !== undefined && this.#cancel === undefined) void this.#ask()
  }

  /** Cancels the request and the timer. A later change or `wake` starts again. */
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
