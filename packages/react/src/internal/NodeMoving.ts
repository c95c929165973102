/**
 * Nodes that are dragged, and those that arrow keys move.
 *
 * Guarantees: a drag changes nothing until the nodes are dropped; then it is one command, which
 * `drop` makes. Arrow keys only move nodes. The frame of a loop stays as it is while a node in it
 * is dragged, so that the node can leave it. Leaves out: into which loop a drop puts nodes.
 */
import type { NodeChange } from "@xyflow/react"
import { useRef, useState } from "react"
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { CanvasEditing } from "./CanvasEditing.ts"
import type { Moving } from "./CanvasElements.ts"
import type { BoxNode } from "./CanvasNodeView.tsx"
import { withFramed } from "./FramePlaces.ts"
import { movesAt } from "./LoopPlaces.ts"

/** `moving`: where dragged nodes are drawn now. `take`: the handler of `onNodesChange`. */
export const useMoving = (
  { drop, move }: Pick<CanvasEditing, "drop" | "move">,
  boxes: ReadonlyArray<CanvasBox>,
) => {
  const [moving, setMoving] = useState<Moving>()
  const isDragged = useRef(false)
  const take = (changes: ReadonlyArray<NodeChange<BoxNode>>) => {
    const moved = changes.flatMap((change) =>
      change.type === "position" && change.position !== undefined
        ? [{ ...change.position, id: change.id, isDropped: change.dragging !== true }]
        : [],
    )
    if (moved.length === 0) return
    const places = Object.fromEntries(
      moved.map(({ id, x, y }) => [id, { x: Math.round(x), y: Math.round(y) }]),
    )
    const dragged = new Set(moved.map(({ id }) => id))
    const all = withFramed(boxes, places)
    if (moved.some(({ isDropped }) => !isDropped)) {
      isDragged.current = true
      const [first] = movesAt(boxes, dragged, all)
      const box = boxes.find(({ id }) => id === first?.[0])
      const into = first?.[1].loopId
      setMoving((before) => ({
        places: { ...before?.places, ...all },
        into: into === box?.loops[0] ? undefined : into,
      }))
      return
    }
    setMoving(undefined)
    if (isDragged.current) drop(dragged, all)
    else move(places)
    isDragged.current = false
  }
  return { moving, take }
}
