/**
 * The problems of a graph. Leaves out: finding them.
 */
import { quoted } from "../../domain/Quote.ts"

/** A problem of a graph. The message is a sentence that names node, edge and port. */
export interface Problem {
  readonly message: string
  readonly nodeId?: string
  readonly edgeId?: string
  readonly port?: string
  /** Of a problem with JavaScript in several lines: its line, from 1. */
  readonly line?: number
  /** Of a problem with an expression: where in its text, or line, in characters from 1. */
  readonly column?: number
}

/** A problem of a node. */
export const problemOfNode = (
  nodeId: string,
  reason: string,
  more: Pick<Problem, "port" | "line" | "column"> = {},
): Problem => ({ message: `Node ${quoted(nodeId)}: ${reason}`, nodeId, ...more })
