/**
 * What can be wrong with a graph. Leaves out: finding it.
 */

/** One thing wrong with a graph: a full sentence that names node, edge and port. */
export interface Problem {
  readonly message: string
  readonly nodeId?: string
  readonly edgeId?: string
  readonly port?: string
  /** True of a text that looks like an expression: a run that has begun puts up with it. */
  readonly isText?: true
}
