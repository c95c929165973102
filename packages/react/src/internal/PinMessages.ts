/**
 * What is said of the data of past runs: pinned in an editor, and taken over by a rerun.
 */

/** The texts in English. */
export const pinMessages = {
  openInEditor: "Open in editor with this data",
  openInEditorHint: "Draw the workflow with the outputs of this run pinned to its nodes",
  pinned: "Pinned",
  pinnedHint: "A run that is started here does not execute this node: it uses a past output.",
  pinnedNodes: (count: number) => (count === 1 ? "1 node is pinned" : `${count} nodes are pinned`),
  nothingPinned: "Nothing is pinned any more.",
  nothingToPin: "Nothing of that run can be pinned here.",
  tooLargeToPin: (count: number) =>
    count === 1
      ? "The output of 1 node is too large to be pinned; it is executed."
      : `The outputs of ${count} nodes are too large to be pinned; they are executed.`,
  unpin: "Unpin",
  unpinNode: (label: string) => `Unpin ${label}`,
  unpinAll: "Unpin all",

  rerunFrom: "Run again from here",
  rerunFromHint: "Take over what is before this node, and execute it and what follows anew",
  rerunPlan: "What would be executed",
  rerunNodes: (count: number) =>
    count === 1 ? "1 node is executed anew:" : `${count} nodes are executed anew:`,
  rerunTakes: (count: number) =>
    count === 1 ? "The output of 1 node is taken over." : `${count} outputs are taken over.`,
  rerunNow: "Run them",
  rerunNot: "Do not run",
} as const
