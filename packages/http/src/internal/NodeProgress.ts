/**
 * What somebody who follows a run has been told of its nodes.
 *
 * Guarantees: of each record, only nodes whose status, attempt or due time is another one are told
 * of; an older record tells nothing. Leaves out: reading records.
 */
import type { NodeRun as WireNodeRun } from "@millrace/api/RunWire"
import type { NodeRun, Run, RunRecord } from "@millrace/core/domain/Run"
import { dueAtOf, nodeRunsOf } from "@millrace/core/domain/Run"
import { nodeSummaryOf } from "./RunForms.ts"

const progressOf = (run: Run, row: NodeRun): string =>
  `${row.status} ${row.attempt} ${dueAtOf(run, row)}`

/** Mutable; of one follower. */
export class NodeProgress {
  readonly #told = new Map<string, string>()
  #revision = 0

  /** The record has been told of as a whole. */
  constructor(record: RunRecord) {
    this.take(record)
  }

  /** The revision of the last record. */
  get revision(): number {
    return this.#revision
  }

  /** The nodes that have moved since the last record, without their payloads. */
  take(record: RunRecord): ReadonlyArray<WireNodeRun> {
    const { run } = record
    if (run.revision <= this.#revision) return []
    this.#revision = run.revision
    return nodeRunsOf(record).flatMap((row) => {
      const progress = progressOf(run, row)
      if (this.#told.get(row.nodeId) === progress) return []
      this.#told.set(row.nodeId, progress)
      return [nodeSummaryOf(run, row)]
    })
  }
}
