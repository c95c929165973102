/**
 * A graph on a canvas, to look at, to choose nodes in, and to edit.
 *
 * Guarantees: controlled, and knows no network. Whatever a user changes is proposed as a command,
 * and drawn when the owner has applied it. Everything can be done by keyboard and by touch. Leaves
 * out: undoing and saving; `<WorkflowEditor>` does both.
 */
import type { CanvasProps } from "./CanvasProps.ts"
import { CanvasDrawing } from "./internal/CanvasDrawing.tsx"
import { EditableCanvas } from "./internal/EditableCanvas.tsx"

/** Shows a graph, with the states of its nodes and edges where they are given. */
export const Canvas = (props: CanvasProps) => <CanvasDrawing {...props} Editable={EditableCanvas} />
