/**
 * A node as the canvas draws it, and how large its parts are.
 */
import type { NodeRun } from "@millrace/api/PromiseClient"

/** The state of a node. */
export type NodeState = NodeRun["status"]

/** A port of a box. */
export interface BoxPort {
  readonly name: string
  readonly required: boolean
  /** The type that its JSON Schema names, such as `string`; empty where it names none. */
  readonly kind: string
}

/** The body of a loop, where the loop is drawn as a frame. */
export interface BoxBody {
  /** What the nodes in it see of the loop, with a row each. */
  readonly ports: ReadonlyArray<BoxPort>
  /** How many nodes are in it. */
  readonly count: number
  /** How far below the top of the frame it begins. */
  readonly top: number
  /** The place of the loop, from which those of its nodes count. */
  readonly origin: { readonly x: number; readonly y: number }
}

/** A node as it is drawn. */
export interface CanvasBox {
  readonly id: string
  readonly type: string
  /** The name that the user gave it, or that of its type. */
  readonly label: string
  readonly typeName: string
  /** The name of a lucide icon, if the type says one. */
  readonly icon: string | undefined
  readonly category: string | undefined
  /** False if there is a catalogue and the type is not in it. */
  readonly isKnown: boolean
  readonly isDisabled: boolean
  /** True if a past output stands for it. */
  readonly isPinned: boolean
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  /** Those with a row. Of many inputs, some that nothing leads to have none. */
  readonly inputs: ReadonlyArray<BoxPort>
  readonly outputs: ReadonlyArray<BoxPort>
  /** Inputs without a row. */
  readonly hiddenInputs: number
  /** True if all inputs have a row because somebody wants to see them. */
  readonly isExpanded: boolean
  /** What a note says; nothing for other nodes. */
  readonly note: string | undefined
  /** Of a frame: the drawn nodes that it stands around; nothing for other nodes. */
  readonly framed: ReadonlyArray<string> | undefined
  /** The loops around it, from the inside to the outside. */
  readonly loops: ReadonlyArray<string>
  /** Of a loop that is drawn as a frame; nothing for other nodes. */
  readonly body: BoxBody | undefined
  /** The nodes in a loop that is collapsed: they are not drawn; none for other nodes. */
  readonly collapsed: ReadonlyArray<string>
  /** The height of what is drawn below the ports. */
  readonly contentHeight: number
  readonly state: NodeState | undefined
}

/** Pixels of a box. A port has a row of its own, high enough to be hit with a finger. */
export const boxWidth = 240
export const headHeight = 56
export const portHeight = 36

/** Pixels of the square in which a port can be hit, and how far it stands out of its box. */
export const handleSize = 28
export const handleOverhang = 8

/** How far below the top of its box a port is. */
export const handleAt = (index: number): number => headHeight + 4 + (index + 0.5) * portHeight
