/**
 * A document as a server has it.
 */
import type { WorkflowChange } from "@millrace/api/PromiseClient"
import type { WorkflowDocument } from "../Document.ts"
import { isSame } from "../Document.ts"

/** What is stored, and its revision; `undefined` if that has to be asked for. */
export interface SavedDocument {
  readonly document: WorkflowDocument
  readonly etag: string | undefined
}

const fields = ["name", "description", "settings", "nodes", "edges"] as const

/** The fields to send, so that the stored document becomes the other one. */
export const fieldsToSave = (
  stored: WorkflowDocument,
  document: WorkflowDocument,
): WorkflowChange =>
  Object.fromEntries(
    fields.flatMap((name) =>
      isSame(stored[name], document[name]) ? [] : [[name, document[name]]],
    ),
  )
