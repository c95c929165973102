/**
 * What an editor needs of the world, and how far it is with saving.
 */
import type { Client } from "@millrace/api/PromiseClient"
import type { Schedule } from "./internal/Autosave.ts"
import type { DraftStore } from "./DraftStore.ts"

/** What an editor needs of the world. */
export interface EditingOptions {
  readonly client: { readonly workflows: EditedWorkflows }
  readonly workflowId: string
  readonly drafts: DraftStore
  /** Names this editor among all that have the workflow open, in all tabs. */
  readonly editorId: string
  /** The names of all editors of this browser that are open: their drafts are their own to save. */
  readonly openEditors: () => Promise<ReadonlySet<string>>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly schedule: Schedule
  /** False in a hidden tab, which saves nothing. */
  readonly isVisible: () => boolean
  /** Called with each revision that this editor has saved. */
  readonly onSaved?: ((etag: string) => void) | undefined
}

/** The operations that an editor calls. */
export type EditedWorkflows = Pick<
  Client["workflows"],
  "create" | "getTagged" | "updateTagged" | "validate"
>

/**
 * `changed`: not saved yet. `offline`: nobody answers; it is tried again. `conflict`: somebody else
 * has changed the same, and a choice is missing. `gone`: the workflow is deleted. `signedOut`: the
 * session has ended. `refused`: the server says why in `savingProblem`.
 */
export type SavingStatus =
  | "saved"
  | "changed"
  | "saving"
  | "offline"
  | "conflict"
  | "gone"
  | "signedOut"
  | "refused"
