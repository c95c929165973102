/**
 * A workflow that somebody edits: its document, what is selected, what can be undone, and whether
 * it is saved.
 *
 * Guarantees: nothing that was typed is lost without a choice. Until the server has it, it stays in
 * the browser; what others save meanwhile is merged, and where both changed the same thing somebody
 * is asked. Knows neither React nor the page: time, storage and visibility are handed in. Leaves
 * out: drawing.
 */
import type { WorkflowValidation } from "@millrace/api/PromiseClient"
import type { Selection } from "./Clipboard.ts"
import type { Command } from "./Command.ts"
import { changeOf, fieldOf } from "./Command.ts"
import type { Change } from "./Change.ts"
import { applied, isEmpty } from "./Change.ts"
import type { WorkflowDocument } from "./Document.ts"
import { DraftValidation } from "./internal/DraftValidation.ts"
import type { EditingOptions, SavingStatus } from "./EditingOptions.ts"
import type { RenamedElements } from "./ElementId.ts"
import { renamedChange } from "./ElementId.ts"
import { History } from "./internal/History.ts"
import type { MergeConflict, MergeChoices } from "./Merging.ts"
import { Saving } from "./internal/Saving.ts"

/** What an editor knows now. Another object whenever something has changed. */
export interface EditingSnapshot {
  /** `undefined` until it is read. */
  readonly document: WorkflowDocument | undefined
  readonly selection: Selection
  readonly canUndo: boolean
  readonly canRedo: boolean
  readonly isLoading: boolean
  /** Why there is no document; usually a `MillraceError`. */
  readonly error: unknown
  readonly saving: SavingStatus
  /** True if the server does not have all of `document`. */
  readonly isUnsaved: boolean
  /** The revision of `base`. */
  readonly savedRevision: string | undefined
  /** One sentence of the server, where it has refused. */
  readonly savingProblem: string | undefined
  /** Whether unsaved work would outlast a reload: `full` and `closed` say why not. */
  readonly draftKeeping: "kept" | "full" | "closed"
  /** When the unsaved work was done that was found in the browser, in milliseconds since 1970. */
  readonly restoredAt: number | undefined
  /** What needs a choice. */
  readonly conflicts: ReadonlyArray<MergeConflict>
  /** The document as it is stored, as far as this editor knows. */
  readonly base: WorkflowDocument | undefined
  /** What the server says of the document, saved or not. */
  readonly validation: WorkflowValidation | undefined
  /** False while `validation` is about an earlier document. */
  readonly isValidated: boolean
}

const nothingSelected: Selection = { nodeIds: new Set(), edgeIds: new Set() }

/** One open editor. Mutable. */
export class WorkflowEditing {
  readonly #options: EditingOptions
  readonly #listeners = new Set<() => void>()
  readonly #history = new History()
  readonly #saving: Saving
  readonly #validating: DraftValidation
  #selection = nothingSelected
  #validation: WorkflowValidation | undefined
  #validated: WorkflowDocument | undefined
  #snapshot: EditingSnapshot

  constructor(options: EditingOptions) {
    this.#options = options
    this.#saving = new Saving(options, {
      onChange: () => this.#tell(),
      onRenamed: (ids) => this.#rename(ids),
    })
    this.#validating = new DraftValidation({
      ...options,
      workflows: options.client.workflows,
      onAnswer: (validation, document) => {
        this.#validation = validation
        this.#validated = document
        this.#tell()
      },
    })
    this.#snapshot = this.#read()
  }

  /** Reads the workflow, and the drafts of it that this browser has. */
  open(): void {
    this.#saving.open()
    this.#validating.wake()
  }

  /** Saves once more if something is unsaved, and stops. It can be opened again. */
  close(): void {
    this.#validating.stop()
    this.#saving.close()
  }

  /** What is known now. */
  readonly read = (): EditingSnapshot => this.#snapshot

  /** Calls back whenever something has changed; the answer ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Does a command. False if it changes nothing. */
  do(command: Command): boolean {
    const { document } = this.#saving
    if (document === undefined) return false
    const change = changeOf(document, command)
    if (isEmpty(change)) return false
    const next = applied(document, change)
    this.#history.record(document, next, { at: this.#options.now(), field: fieldOf(command) })
    this.#saving.change(next)
    return true
  }

  /** Takes back the last step. False if there is none. */
  undo(): boolean {
    return this.#apply(this.#history.undo())
  }

  /** Does again what was taken back last. False if that is nothing. */
  redo(): boolean {
    return this.#apply(this.#history.redo())
  }

  /** Selects nodes and edges. It is no step of the history. */
  select(selection: {
    readonly nodeIds?: Iterable<string>
    readonly edgeIds?: Iterable<string>
  }): void {
    const { edgeIds = [], nodeIds = [] } = selection
    this.#selection = { nodeIds: new Set(nodeIds), edgeIds: new Set(edgeIds) }
    this.#history.seal()
    this.#tell()
  }

  /** Saves at once what is not saved; also where a save was refused or the session had ended. */
  save(): Promise<void> {
    return this.#saving.now()
  }

  /** Reads what others may have saved, and merges it. */
  refresh(): Promise<void> {
    return this.#saving.refresh()
  }

  /** Somebody has said which revision is stored: another one than is known is read and merged. */
  learn(etag: string): void {
    this.#saving.learn(etag)
  }

  /** To call when the tab becomes visible, and when the network is back. */
  wake(): void {
    this.#saving.wake()
    this.#validating.wake()
  }

  /** Keeps the draft in the browser at once, where it would be kept in a moment: on leaving. */
  keepDraft(): void {
    this.#saving.keepDraft()
  }

  /** Decides conflicts by their ids. Once all are decided, the result is saved. */
  resolve(choices: MergeChoices): void {
    this.#saving.resolve(choices)
  }

  /** Goes back to what is stored, and forgets the draft. It can be undone. */
  discardDraft(): void {
    const { document } = this.#saving
    const stored = this.#saving.discard()
    if (document === undefined || stored === undefined) return
    this.#history.record(document, stored, { at: this.#options.now(), field: undefined })
    this.#tell()
  }

  /** Stores the document as a new workflow, for one that is gone, and gives the new id. */
  saveAsNew(name?: string): Promise<string> {
    return this.#saving.saveAsNew(name)
  }

  #apply(change: Change | undefined): boolean {
    const { document } = this.#saving
    if (change === undefined || document === undefined) return false
    this.#saving.change(applied(document, change))
    return true
  }

  /** My elements have other ids now, because somebody else has used theirs. */
  #rename(renamed: RenamedElements): void {
    const renew = (all: ReadonlySet<string>, ids: ReadonlyMap<string, string>) =>
      new Set([...all].map((id) => ids.get(id) ?? id))
    const { edgeIds, nodeIds } = this.#selection
    this.#history.rewrite((step) => renamedChange(step, renamed))
    this.#selection = {
      nodeIds: renew(nodeIds, renamed.nodes),
      edgeIds: renew(edgeIds, renamed.edges),
    }
  }

  #tell(): void {
    const before = this.#snapshot.document
    const { document } = this.#saving
    if (document !== undefined && document !== before) {
      this.#selection = within(this.#selection, document)
      // The first one is judged at once.
      this.#validating.changed(document, before === undefined ? 0 : undefined)
    }
    this.#snapshot = this.#read()
    for (const listener of this.#listeners) listener()
  }

  #read(): EditingSnapshot {
    const { conflicts, document, draftKeeping, error, isUnsaved, problem } = this.#saving
    const { restoredAt, status, stored } = this.#saving
    return {
      document,
      selection: this.#selection,
      canUndo: document !== undefined && this.#history.canUndo,
      canRedo: document !== undefined && this.#history.canRedo,
      isLoading: document === undefined && error === undefined,
      error,
      saving: status,
      isUnsaved,
      savedRevision: stored?.etag,
      savingProblem: problem,
      draftKeeping,
      restoredAt,
      conflicts,
      base: stored?.document,
      validation: this.#validation,
      isValidated: document !== undefined && this.#validated === document,
    }
  }
}

/** The selection without what is gone. */
const within = (selection: Selection, { edges, nodes }: WorkflowDocument): Selection => {
  const { edgeIds, nodeIds } = selection
  if (nodeIds.size === 0 && edgeIds.size === 0) return selection
  const [known, joined] = [new Set(nodes.map(({ id }) => id)), new Set(edges.map(({ id }) => id))]
  if ([...nodeIds].every((id) => known.has(id)) && [...edgeIds].every((id) => joined.has(id)))
    return selection
  const left = (ids: ReadonlySet<string>, there: ReadonlySet<string>) =>
    new Set([...ids].filter((id) => there.has(id)))
  return { nodeIds: left(nodeIds, known), edgeIds: left(edgeIds, joined) }
}
