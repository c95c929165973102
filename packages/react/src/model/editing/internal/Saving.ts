/**
 * Brings a document and the server together: reading, saving, merging, and the draft meanwhile.
 *
 * Guarantees: a save carries the revision that it is based on, so it overwrites nobody. What was
 * sent without an answer is sent again as it was, so it is never taken for somebody else's work.
 * The draft is removed only when the server has all of it. Leaves out: history and selection.
 */
import type { TaggedWorkflow } from "@millrace/api/PromiseClient"
import type { SaveResult } from "./Autosave.ts"
import { Autosave } from "./Autosave.ts"
import type { WorkflowDocument } from "../Document.ts"
import { documentOf, isSame } from "../Document.ts"
import type { DraftKeeping, KeptDraft } from "../DraftStore.ts"
import type { EditingOptions, SavingStatus } from "../EditingOptions.ts"
import type { RenamedElements } from "../ElementId.ts"
import type { MergeConflict, MergeChoices } from "../Merging.ts"
import { mergeDocuments } from "../Merging.ts"
import type { SavedDocument } from "./SavedDocument.ts"
import { fieldsToSave } from "./SavedDocument.ts"
import { failureOf } from "./SaveFailure.ts"

/** What the owner wants to know. */
export interface SavingListener {
  readonly onChange: () => void
  readonly onRenamed: (renamed: RenamedElements) => void
}

/** Two documents that need choices. */
interface Clash {
  readonly base: WorkflowDocument
  readonly theirs: WorkflowDocument
  readonly sent: WorkflowDocument | undefined
  readonly choices: MergeChoices
  /** What is stored once the choices are made. */
  readonly stored: SavedDocument
}

const rest: SaveResult = { next: "rest" }

/** How long a change may be in memory only. */
const draftMillis = 250

/** How long what was read counts as fresh when a tab becomes visible again. */
const freshMillis = 5_000

/** What another change does not end. */
const lasting: ReadonlySet<SavingStatus> = new Set(["saving", "offline", "gone", "signedOut"])

/** One document and its server. Mutable. */
export class Saving {
  readonly #options: EditingOptions
  readonly #listener: SavingListener
  readonly #autosave: Autosave
  #document: WorkflowDocument | undefined
  #stored: SavedDocument | undefined
  #status: SavingStatus = "saved"
  #error: unknown
  #problem: string | undefined
  /** Sent, and nobody has answered. */
  #sent: WorkflowDocument | undefined
  /** What a tab has sent that was killed: it may be stored after this one has read. */
  #late: WorkflowDocument | undefined
  #clash: Clash | undefined
  #conflicts: ReadonlyArray<MergeConflict> = []
  /** Drafts that were found and are not yet part of the document. */
  #found: ReadonlyArray<KeptDraft> = []
  /** Drafts that are part of the document, and go when it is saved. */
  #adopted: ReadonlyArray<KeptDraft> = []
  #restoredAt: number | undefined
  #draftKeeping: DraftKeeping = "kept"
  #cancelDraft: (() => void) | undefined
  #isOpen = false
  #wantsRead = false
  #hasLooked = false
  #readAt = 0
  /** The revision that is stored, as somebody has said, until it is compared. */
  #told: string | undefined

  constructor(options: EditingOptions, listener: SavingListener) {
    this.#options = options
    this.#listener = listener
    this.#autosave = new Autosave({ ...options, save: () => this.#save() })
  }

  get document(): WorkflowDocument | undefined {
    return this.#document
  }

  get stored(): SavedDocument | undefined {
    return this.#stored
  }

  get status(): SavingStatus {
    return this.#status
  }

  get error(): unknown {
    return this.#error
  }

  get problem(): string | undefined {
    return this.#problem
  }

  get conflicts(): ReadonlyArray<MergeConflict> {
    return this.#conflicts
  }

  get restoredAt(): number | undefined {
    return this.#restoredAt
  }

  get draftKeeping(): DraftKeeping {
    return this.#draftKeeping
  }

  open(): void {
    this.#isOpen = true
    this.#autosave.start()
    this.#wantsRead = true
    void this.#autosave.now()
  }

  close(): void {
    this.keepDraft()
    const isUnsaved = this.isUnsaved && this.#status !== "refused" && this.#clash === undefined
    if (isUnsaved) void this.#autosave.now()
    this.#autosave.stop()
    this.#isOpen = false
  }

  now(): Promise<void> {
    return this.#autosave.now()
  }

  refresh(): Promise<void> {
    this.#wantsRead = true
    return this.#autosave.now()
  }

  /** Which revision is stored, as somebody says. During a save, it may be what that one stores. */
  learn(etag: string): void {
    this.#told = etag
    this.#readIfOutdated()
  }

  #readIfOutdated(): void {
    const etag = this.#stored?.etag
    if (etag === undefined || this.#told === undefined || this.#status === "saving") return
    const isOutdated = this.#told !== etag
    this.#told = undefined
    if (isOutdated) void this.refresh()
  }

  wake(): void {
    const { now } = this.#options
    // Who comes back after a while sees what others have saved meanwhile.
    if (now() - this.#readAt > freshMillis) this.#wantsRead = true
    if (this.#status === "signedOut" || this.#wantsRead) void this.#autosave.now()
    else this.#autosave.wake()
  }

  /** There is another document, by a command. */
  change(document: WorkflowDocument): void {
    this.#document = document
    this.#planDraft()
    if (this.#clash !== undefined) this.#meet(this.#clash)
    else if (!lasting.has(this.#status)) this.#status = this.isUnsaved ? "changed" : "saved"
    if (this.#status !== "gone" && this.#status !== "signedOut") this.#autosave.changed()
    this.#listener.onChange()
  }

  resolve(choices: MergeChoices): void {
    const clash = this.#clash
    if (clash === undefined) return
    this.#meet({ ...clash, choices: { ...clash.choices, ...choices } })
    this.#listener.onChange()
    if (this.#clash === undefined) void this.#autosave.now()
  }

  discard(): WorkflowDocument | undefined {
    const stored = this.#clash?.stored ?? this.#stored
    if (stored === undefined) return undefined
    for (const kept of [...this.#adopted, ...this.#found]) this.#options.drafts.removeRead(kept)
    this.#found = []
    this.#adopted = []
    this.#endClash()
    this.#stored = stored
    this.#document = stored.document
    this.#rest()
    return stored.document
  }

  async saveAsNew(name?: string): Promise<string> {
    const document = this.#document!
    const { workflows } = this.#options.client
    try {
      const { id } = await workflows.create({ ...document, name: name ?? document.name })
      this.#stored = { document, etag: undefined }
      this.#sent = undefined
      this.#problem = undefined
      this.#forgetDrafts()
      return id
    } catch (error) {
      const failure = failureOf(error)
      if (failure.kind === "refused") this.#problem = failure.sentence
      throw error
    } finally {
      this.#listener.onChange()
    }
  }

  /** Writes the draft now. */
  keepDraft(): void {
    if (this.#cancelDraft === undefined) return
    this.#cancelDraft()
    this.#cancelDraft = undefined
    this.#writeDraft()
  }

  /** True if the server does not have all of the document. */
  get isUnsaved(): boolean {
    const stored = this.#stored
    if (stored === undefined || this.#document === undefined) return false
    return this.#clash !== undefined || !isSame(stored.document, this.#document)
  }

  // The draft.

  #planDraft(): void {
    // A closed editor has kept its draft, and another one may have taken it over.
    if (!this.#isOpen) return
    this.#cancelDraft ??= this.#options.schedule(() => {
      this.#cancelDraft = undefined
      this.#writeDraft()
    }, draftMillis)
  }

  #writeDraft(): void {
    const { drafts, editorId, now, workflowId } = this.#options
    const base = this.#clash?.base ?? this.#stored?.document
    const document = this.#document
    if (base === undefined || document === undefined) return
    const before = this.#draftKeeping
    if (this.isUnsaved || this.#sent !== undefined) {
      const draft = {
        base,
        document,
        sent: this.#clash?.sent ?? this.#sent ?? this.#late,
        at: now(),
      }
      this.#draftKeeping = drafts.write(workflowId, editorId, draft)
    } else {
      drafts.remove(workflowId, editorId)
      this.#draftKeeping = "kept"
    }
    if (before !== this.#draftKeeping) this.#listener.onChange()
  }

  /** The server has all of it. */
  #forgetDrafts(): void {
    const { drafts, editorId, workflowId } = this.#options
    this.#cancelDraft?.()
    this.#cancelDraft = undefined
    drafts.remove(workflowId, editorId)
    for (const kept of this.#adopted) drafts.removeRead(kept)
    this.#adopted = []
    this.#restoredAt = undefined
    this.#draftKeeping = "kept"
  }

  // Reading and merging.

  /** Finds the drafts whose editors are gone. */
  async #look(): Promise<void> {
    if (this.#hasLooked) return
    this.#hasLooked = true
    const { drafts, openEditors, workflowId } = this.#options
    const open = await openEditors()
    this.#found = drafts.read(workflowId).filter(({ editorId }) => !open.has(editorId))
  }

  /** Takes a draft as my document, if there is one. */
  #begin(): boolean {
    const [first, ...others] = this.#found
    if (first === undefined) return false
    const { at, base, document, sent } = first.draft
    this.#found = others
    this.#adopted = [...this.#adopted, first]
    this.#restoredAt = at
    this.#stored = { document: base, etag: undefined }
    this.#document = document
    this.#sent = sent
    return true
  }

  /** Merges what is stored with mine, and mine with further drafts. */
  #take({ etag, workflow }: TaggedWorkflow): void {
    const theirs = documentOf(workflow)
    const stored = { document: theirs, etag }
    this.#error = undefined
    if (this.#document === undefined && !this.#begin()) {
      this.#stored = stored
      this.#document = theirs
      return
    }
    const base = this.#stored!.document
    this.#meet({ base, theirs, sent: this.#sent ?? this.#late, choices: {}, stored })
  }

  /** Merges, as far as the choices go. */
  #meet(clash: Clash): void {
    const { base, choices, sent, stored, theirs } = clash
    const { conflicts, merged, renamed } = mergeDocuments(base, this.#document!, theirs, {
      choices,
      sent,
    })
    this.#conflicts = conflicts
    if (conflicts.length > 0) {
      this.#clash = clash
      this.#status = "conflict"
      return
    }
    this.#endClash()
    // As soon as there is another revision, it can be stored no more.
    this.#late = isSame(theirs, base) ? sent : undefined
    this.#sent = undefined
    this.#stored = stored
    this.#document = merged
    if (renamed.nodes.size + renamed.edges.size > 0) this.#listener.onRenamed(renamed)
    this.#rest()
  }

  /** One draft after the other, so that all unsaved work is always in a single draft. */
  #adoptNext(): void {
    const stored = this.#stored
    if (stored === undefined || !this.#begin()) return
    const base = this.#stored!.document
    this.#meet({
      base,
      theirs: stored.document,
      sent: this.#sent ?? this.#late,
      choices: {},
      stored,
    })
  }

  #endClash(): void {
    this.#clash = undefined
    this.#conflicts = []
  }

  /** Nothing is in progress. */
  #rest(): void {
    this.#problem = undefined
    this.#status = this.isUnsaved ? "changed" : "saved"
    if (this.#status === "changed") {
      this.#planDraft()
      return
    }
    this.#forgetDrafts()
    this.#adoptNext()
  }

  async #readStored(): Promise<SaveResult> {
    const { client, workflowId } = this.#options
    await this.#look()
    try {
      this.#wantsRead = false
      this.#readAt = this.#options.now()
      this.#take(await client.workflows.getTagged(workflowId))
    } catch (error) {
      this.#wantsRead = true
      return this.#failed(error)
    }
    if (this.#clash === undefined) this.#rest()
    this.#listener.onChange()
    return this.#clash === undefined && this.isUnsaved ? { next: "again" } : rest
  }

  // Saving.

  async #save(): Promise<SaveResult> {
    if (this.#clash !== undefined) return rest
    const stored = this.#stored
    if (this.#wantsRead || stored?.etag === undefined) return this.#readStored()
    const document = this.#sent ?? this.#document!
    const change = fieldsToSave(stored.document, document)
    if (Object.keys(change).length === 0) {
      this.#sent = undefined
      if (this.isUnsaved) return { next: "again" }
      this.#rest()
      this.#listener.onChange()
      return rest
    }
    return this.#send(document, stored.etag, change)
  }

  async #send(
    document: WorkflowDocument,
    ifMatch: string,
    change: ReturnType<typeof fieldsToSave>,
  ): Promise<SaveResult> {
    const { client, onSaved, workflowId } = this.#options
    const wasSent = this.#sent !== undefined
    this.#sent = document
    this.#status = "saving"
    this.#cancelDraft?.()
    this.#cancelDraft = undefined
    this.#writeDraft()
    this.#listener.onChange()
    try {
      const { etag } = await client.workflows.updateTagged(workflowId, change, { ifMatch })
      this.#late = undefined
      this.#sent = undefined
      this.#stored = { document, etag }
      onSaved?.(etag)
    } catch (error) {
      // Refused for its revision, the first try was not stored; an earlier one may have been.
      if (!wasSent && failureOf(error).kind === "outdated") this.#sent = undefined
      return this.#failed(error)
    }
    this.#rest()
    this.#readIfOutdated()
    // What was typed meanwhile has its own quiet time.
    if (this.isUnsaved) this.#autosave.changed()
    this.#listener.onChange()
    return rest
  }

  #failed(error: unknown): SaveResult {
    const failure = failureOf(error)
    if (failure.kind === "outdated") {
      this.#wantsRead = true
      return { next: "again" }
    }
    // Where nothing is to be saved, somebody who only reads is not told that nobody answers.
    const isIdle = this.#document !== undefined && !this.isUnsaved && this.#sent === undefined
    const isTold = !isIdle || failure.kind === "gone" || failure.kind === "signedOut"
    this.#problem = failure.kind === "refused" && isTold ? failure.sentence : undefined
    this.#status = isTold ? failure.kind : "saved"
    // It was not stored: the next save may be about something else.
    if (failure.kind !== "offline") this.#sent = undefined
    if (this.#document === undefined && !this.#begin()) this.#error = error
    this.#planDraft()
    this.#readIfOutdated()
    this.#listener.onChange()
    return failure.kind === "offline" ? { next: "retry", afterSeconds: failure.afterSeconds } : rest
  }
}
