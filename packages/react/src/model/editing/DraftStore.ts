/**
 * Work that is not saved yet, kept in the browser until it is: over a reload, the end of a session
 * and a dead server.
 *
 * Guarantees: what one editor keeps, another one, in another tab, neither overwrites nor removes
 * before it is saved. A storage that is full or closed is an answer, never an exception. Leaves
 * out: what becomes of a draft; see `WorkflowEditing.ts`.
 */
import type { WorkflowDocument } from "./Document.ts"
import { isRecord } from "./Document.ts"
import { isEditable } from "./DocumentCheck.ts"

/** What is used of `localStorage`. */
export type DraftStorage = Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">

/** Whose drafts they are. */
export interface DraftOwner {
  /** The address of the server. */
  readonly server: string
  readonly account: string
  readonly user: string
}

/** Work that is not saved. */
export interface Draft {
  /** The document as it was saved when the work began. */
  readonly base: WorkflowDocument
  readonly document: WorkflowDocument
  /** What was sent without an answer. */
  readonly sent?: WorkflowDocument | undefined
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A draft in the storage. */
export interface KeptDraft {
  readonly draft: Draft
  readonly editorId: string
  readonly key: string
  /** As it was read. */
  readonly text: string
}

/** Whether a draft is kept now: `full` if there is no room for it, `closed` without a storage. */
export type DraftKeeping = "kept" | "full" | "closed"

const prefix = "millrace-draft/"

const keyOf = (...parts: ReadonlyArray<string>): string =>
  `${prefix}${parts.map((part) => `${encodeURIComponent(part)}/`).join("")}`

const keysOf = (storage: DraftStorage | undefined, begin: string): ReadonlyArray<string> => {
  try {
    if (storage === undefined) return []
    return Array.from({ length: storage.length }, (_, at) => storage.key(at)).filter(
      (key) => key?.startsWith(begin) === true,
    ) as ReadonlyArray<string>
  } catch {
    return []
  }
}

const isDraft = (value: unknown): value is Draft =>
  isRecord(value) &&
  isEditable(value["base"]) &&
  isEditable(value["document"]) &&
  (value["sent"] === undefined || isEditable(value["sent"])) &&
  typeof value["at"] === "number"

const draftIn = (text: string): Draft | undefined => {
  try {
    const value = JSON.parse(text) as unknown
    return isDraft(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The drafts of one user. `storage` is `undefined` where a browser has none. */
export class DraftStore {
  readonly #storage: DraftStorage | undefined
  readonly #owner: ReadonlyArray<string>

  constructor(storage: DraftStorage | undefined, { account, server, user }: DraftOwner) {
    this.#storage = storage
    this.#owner = [user, server, account]
  }

  /** The drafts of a workflow by all editors of this user, the latest first. */
  read(workflowId: string): ReadonlyArray<KeptDraft> {
    return keysOf(this.#storage, keyOf(...this.#owner, workflowId))
      .flatMap((key) => {
        const text = this.#get(key)
        const draft = text === undefined ? undefined : draftIn(text)
        const editorId = decodeURIComponent(key.split("/").at(-2) ?? "")
        return text === undefined || draft === undefined ? [] : [{ key, text, draft, editorId }]
      })
      .toSorted((left, right) => right.draft.at - left.draft.at)
  }

  /** Keeps the draft of an editor, in the place of its last one. */
  write(workflowId: string, editorId: string, draft: Draft): DraftKeeping {
    if (this.#storage === undefined) return "closed"
    try {
      this.#storage.setItem(keyOf(...this.#owner, workflowId, editorId), JSON.stringify(draft))
      return "kept"
    } catch {
      return "full"
    }
  }

  /** Removes the draft of an editor. */
  remove(workflowId: string, editorId: string): void {
    this.#remove(keyOf(...this.#owner, workflowId, editorId))
  }

  /** Removes a draft of any editor, if it is still as it was read. */
  removeRead({ key, text }: KeptDraft): void {
    if (this.#get(key) === text) this.#remove(key)
  }

  #get(key: string): string | undefined {
    try {
      return this.#storage?.getItem(key) ?? undefined
    } catch {
      return undefined
    }
  }

  #remove(key: string): void {
    try {
      this.#storage?.removeItem(key)
    } catch {
      // A storage that is closed keeps nothing.
    }
  }
}

/** True if there is work of a user that is not saved. Ask before you sign the user out. */
export const hasDraftsIn = (storage: DraftStorage | undefined, user: string): boolean =>
  keysOf(storage, keyOf(user)).length > 0

/** Removes all drafts of a user, for an explicit sign-out. */
export const clearDraftsIn = (storage: DraftStorage | undefined, user: string): void => {
  for (const key of keysOf(storage, keyOf(user))) storage?.removeItem(key)
}
