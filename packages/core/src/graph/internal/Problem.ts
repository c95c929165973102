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
  /** True for a text that looks like an expression. It does not stop a run that has started. */
  readonly isText?: true
}

/** A problem of a node. */
export const problemOfNode = (
  nodeId: string,
  reason: string,
  more: Pick<Problem, "port" | "isText"> = {},
): Problem => ({ message: `Node ${quoted(nodeId)}: ${reason}`, nodeId, ...more })
