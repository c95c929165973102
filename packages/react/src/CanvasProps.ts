/**
 * What a canvas is given.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { NodeState } from "./model/CanvasBox.ts"
import type { CanvasValue } from "./model/CanvasLayout.ts"
import type { Selection } from "./model/editing/Clipboard.ts"
import type { Command } from "./model/editing/Command.ts"
import type { NodeViews } from "./NodeViews.ts"

/** A problem of a drawing, and its place. */
export interface CanvasProblem {
  readonly message: string
  readonly nodeId?: string
  readonly edgeId?: string
  readonly port?: string
}

/** What `<Canvas>` takes. */
export interface CanvasProps {
  readonly value: CanvasValue
  /** From `useNodeTypes`; they have names, icons and ports. The palette offers them. */
  readonly nodeTypes?: ReadonlyArray<NodeTypeItem> | undefined
  /** How nodes of types of the application look. Keep the object. */
  readonly nodeViews?: NodeViews | undefined
  /** The states of nodes by id, for a run. */
  readonly states?: Readonly<Record<string, NodeState | undefined>> | undefined
  /** Marked as nodes that a run does not execute, by their ids. */
  readonly pinned?: Readonly<Record<string, unknown>> | undefined
  /** Marked at their nodes and edges. */
  readonly problems?: ReadonlyArray<CanvasProblem> | undefined
  /** Takes what a user changes; the owner applies it. Without it, nothing can be changed. */
  readonly onCommand?: ((command: Command) => void) | undefined
  /** Nothing can be changed. */
  readonly readOnly?: boolean | undefined
  /** What is selected; without it, the canvas keeps it to itself. */
  readonly selection?: Selection | undefined
  /** Called with what the user selects. */
  readonly onSelection?: ((selection: Selection) => void) | undefined
  /** The chosen node, for owners that know of one only. */
  readonly selected?: string | undefined
  /** Called with the id of a node that the viewer chooses, and with nothing when none is. */
  readonly onSelect?: ((nodeId: string | undefined) => void) | undefined
  /** A node to move into view, each time that it is another one. */
  readonly lookAt?: string | undefined
  /** For the keys of undo and redo; the owner has the history. */
  readonly onUndo?: (() => void) | undefined
  readonly onRedo?: (() => void) | undefined
  /** False to use no keys but those that every page has. Users can switch them off, too. */
  readonly keys?: boolean | undefined
}
