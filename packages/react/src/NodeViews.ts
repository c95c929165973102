/**
 * How an application draws nodes of its own types, and the fields with which they are filled in.
 */
import type { ComponentType, ReactNode } from "react"
import type { CanvasBox } from "./model/CanvasBox.ts"

/** What a field of an application is given. It draws neither the label nor problems. */
export interface NodeFieldProps {
  /** To be put on the control, so that the label belongs to it. */
  readonly id: string
  readonly value: unknown
  /** Sets the literal; nothing removes it. */
  readonly onChange: (value: unknown) => void
  readonly readOnly: boolean
}

/** How nodes of one type look, and the fields for their inputs. Everything is optional. */
export interface NodeTypeView {
  /** An icon of 18 pixels in the place of the one of its category. */
  readonly icon?: ComponentType<{ readonly size?: number }>
  /** Any CSS color, for the icon and the head of the node. */
  readonly color?: string
  /** Drawn in the node, below its ports. */
  readonly renderNode?: (box: CanvasBox) => ReactNode
  /** The height of what `renderNode` draws, in pixels; 72 by default. */
  readonly contentHeight?: number
  /** Fields of the inspector by input port, in the place of those that follow from its schema. */
  readonly fields?: Readonly<Record<string, ComponentType<NodeFieldProps>>>
}

/** Views by the key of the node type. */
export type NodeViews = Readonly<Record<string, NodeTypeView>>
