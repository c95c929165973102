/**
 * Nodes that are dragged, and those that arrow keys move.
 *
 * Guarantees: nodes follow the pointer by themselves; where they are let go is one command. A drag
 * that ends over a loop puts them into it, and one that ends outside takes them out. Keys only move
 * them. A frame stays as it is while a node in it is dragged, so that the node can leave it.
 */
import type { NodeChange } from "@xyflow/react"
import { useRef, useState } from "react"
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { CanvasEditing } from "./CanvasEditing.ts"
import type { Moving } from "./CanvasElements.ts"
import type { BoxNode } from "./CanvasNodeView.tsx"
import { withFramed } from "./FramePlaces.ts"
import { movesAt } from "./LoopPlaces.ts"

/** What follows the pointer, and what takes the changes that React Flow tells. */
export const useMoving = (
  { drop, move }: Pick<CanvasEditing, "drop" | "move">,
  boxes: ReadonlyArray<CanvasBox>,
) => {
  const [moving, setMoving] = useState<Moving>()
  const isDragged = useRef(false)
  const take = (changes: ReadonlyArray<NodeChange<BoxNode>>) => {
    const moved = changes.flatMap((change) =>
      change.type === "position" && change.position !== undefined
        ? [{ ...change.position, id: change.id, isOver: change.dragging !== true }]
        : [],
    )
    if (moved.length === 0) return
    const places = Object.fromEntries(
      moved.map(({ id, x, y }) => [id, { x: Math.round(x), y: Math.round(y) }]),
    )
    const dragged = new Set(moved.map(({ id }) => id))
    const all = withFramed(boxes, places)
    if (moved.some(({ isOver }) => !isOver)) {
      isDragged.current = true
      const [first] = movesAt(boxes, dragged, all)
      const box = boxes.find(({ id }) => id === first?.[0])
      const into = first?.[1].loopId
      setMoving((known) => ({
        places: { ...known?.places, ...all },
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
