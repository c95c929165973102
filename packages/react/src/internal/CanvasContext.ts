/**
 * What the nodes of a canvas share with it.
 */
import { useStore } from "@xyflow/react"
import { createContext, useContext } from "react"
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { NodeViews } from "../NodeViews.ts"

/** A port of a node, at which an edge begins or ends. */
export interface PortEnd {
  readonly nodeId: string
  readonly port: string
  readonly side: "source" | "target"
}

/** A node as React Flow keeps it. */
export interface BoxData extends Record<string, unknown> {
  readonly box: CanvasBox
  readonly problems: number
}

/**
 * How near the canvas is. `far`: names of ports cannot be read. `small`: they can, but ports are
 * too small to be hit. One listener tells all ports, since there may be thousands.
 */
export type ZoomLevel = "far" | "small" | "near"

/** Stands inside of a `ReactFlowProvider`. */
export const useZoomLevel = (): ZoomLevel =>
  useStore(({ transform: [, , zoom] }) =>
    zoom < 0.35 ? "far" : zoom < reachableZoom ? "small" : "near",
  )

/** Ports can be hit from this zoom on: 28 pixels in rows of 36 (WCAG 2.5.8). */
export const reachableZoom = 0.7

/** What nodes may ask of their canvas. */
export interface CanvasActions {
  readonly isEditable: boolean
  readonly zoom: ZoomLevel
  /** The port from which somebody joins. */
  readonly from: PortEnd | undefined
  /** Why a port cannot be joined with it; nothing if it can. */
  readonly refusalOf: (end: PortEnd) => string | undefined
  /** A click at a port, or Enter. */
  readonly touchPort: (end: PortEnd) => void
  /** Adds a node behind an output. */
  readonly addAfter: (end: PortEnd) => void
  /** Adds a node in a loop. */
  readonly addIn: (loopId: string) => void
  /** The node whose name is being written. */
  readonly renaming: string | undefined
  /** Begins to write a name. */
  readonly beginRenaming: (nodeId: string) => void
  /** Ends it; without a label the name stays. */
  readonly endRenaming: (nodeId: string, label?: string) => void
  /** Shows all inputs of a node, or only those that are used. */
  readonly toggleInputs: (nodeId: string) => void
  /** Draws a loop without the nodes in it, or with them again. */
  readonly toggleLoop: (loopId: string) => void
  readonly nodeViews: NodeViews
  /** A node that takes the focus when it is drawn for the first time. */
  readonly toFocus: { current: string | undefined }
}

const nothing = () => undefined

/** A canvas that cannot be edited. */
export const onlyShown: CanvasActions = {
  isEditable: false,
  zoom: "near",
  from: undefined,
  refusalOf: nothing,
  touchPort: nothing,
  addAfter: nothing,
  addIn: nothing,
  renaming: undefined,
  beginRenaming: nothing,
  endRenaming: nothing,
  toggleInputs: nothing,
  toggleLoop: nothing,
  nodeViews: {},
  toFocus: { current: undefined },
}

/** Around the nodes of a canvas. */
export const CanvasContext = createContext<CanvasActions>(onlyShown)

/** What the canvas around this node gives. */
export const useCanvasActions = (): CanvasActions => useContext(CanvasContext)
