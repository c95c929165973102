/**
 * What an editor says about saving: how far it is, what others have changed, and what is unsaved.
 */
import type { SavingStatus } from "../model/editing/EditingOptions.ts"
import type { MergeChoice } from "../model/editing/Merging.ts"

const savingStates: Readonly<Record<SavingStatus, string>> = {
  saved: "Saved",
  changed: "Not saved yet",
  saving: "Saving",
  offline: "Not saved: the server does not answer. Trying again.",
  conflict: "Not saved: somebody else has changed the same things. Choose what stays.",
  gone: "This workflow was deleted. What you see is not saved any more.",
  signedOut: "The session has ended. Sign in again, and what is not saved yet will be.",
  refused: "Not saved: the server has refused the changes.",
}

const mergeChoices: Readonly<Record<MergeChoice, string>> = {
  mine: "Mine",
  theirs: "Theirs",
}

/** What the editor says about saving and merging, in English. */
export const savingMessages = {
  savingStates,
  mergeChoices,
  draftKept: "Your changes are kept in this browser until they are saved.",
  draftNotKept: {
    full: "The storage of this browser is full: unsaved changes are lost when you leave this page.",
    closed:
      "This browser lets pages store nothing: unsaved changes are lost when you leave this page.",
  },
  draftRestored: (time: string) => `Unsaved changes of ${time} were found in this browser.`,
  saveNow: "Save now",
  trySavingAgain: "Try again",
  saveAsNew: "Save as a new workflow",
  compareVersions: "Compare",
  showChanges: "Show what is not saved",
  discardChanges: "Discard the changes",

  changesTitle: "What is not saved",
  noChanges: "Everything is saved.",
  nodeAdded: (label: string) => `Node ${label} was added.`,
  nodeRemoved: (label: string) => `Node ${label} was removed.`,
  nodeChanged: (label: string) => `Node ${label} was changed.`,
  edgeAdded: (source: string, target: string) => `An edge from ${source} to ${target} was added.`,
  edgeRemoved: (source: string, target: string) =>
    `An edge from ${source} to ${target} was removed.`,
  edgeChanged: (source: string, target: string) =>
    `An edge was changed; it leads from ${source} to ${target} now.`,
  documentChanged: "The workflow itself was changed.",
  changedField: "Field",
  valueBefore: "Saved",
  valueNow: "Now",
  noValue: "nothing",
  placeChanged: "Place on the canvas",
  closeDialog: "Close",

  conflictsTitle: "You and somebody else have changed the same things",
  conflictsHint:
    "Everything else is merged already. Choose for each of these which version stays; nothing is " +
    "saved before.",
  conflictOfNode: (label: string) => `Node ${label}`,
  conflictOfEdge: (ends: string) => `Edge ${ends}`,
  conflictOfDocument: "The workflow",
  removedByMe: "Removed",
  removedByThem: "Removed",
  conflictField: (field: string) => `Field ${field}`,
  wholeElement: "All of it",
  cycleConflict: "Together, these edges would make a circle.",
  allMine: "Choose mine everywhere",
  allTheirs: "Choose theirs everywhere",
  choicesLeft: (count: number) =>
    count === 1 ? "1 choice is left." : `${count} choices are left.`,
  applyChoices: "Merge and save",
} as const
