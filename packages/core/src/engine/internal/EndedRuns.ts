/**
 * The runs that ended in this process lately, so that waiting for one of them reads nothing.
 *
 * An ended run never changes, so what was stored last is what a store would answer. Guarantees: an
 * account gets only its own runs; number and size of the kept runs are bounded. Leaves out: runs
 * that another process ended.
 */
import type { AccountId, RunId } from "../../domain/Id.ts"
import { endedRunsKept, endedRunsSize } from "../../domain/Limits.ts"
import type { RunRecord } from "../../domain/Run.ts"
import { sizeOf } from "./RecordSize.ts"

/**
 * Runs in the order of their ends, in two halves: when the newer one is full, the older one is
 * forgotten at once. To forget the oldest run alone would take longer than all the rest, because a
 * map first steps over all that was deleted from its beginning. Mutable.
 */
export class EndedRuns {
  #older: ReadonlyMap<RunId, RunRecord> = new Map()
  #newer = new Map<RunId, RunRecord>()
  /** What the newer half takes. */
  #size = 0

  /** The run as it is stored, if it is kept and of this account. */
  find(account: AccountId, id: RunId): RunRecord | undefined {
    const record = this.#newer.get(id) ?? this.#older.get(id)
    return record?.run.accountId === account ? record : undefined
  }

  /**
   * Keeps a run that has ended, unless it takes more than a tenth of the room, or is a child: its
   * parent hears of its end by a message, and a loop has as many of them as items.
   */
  keep(record: RunRecord): void {
    if (record.run.parent !== null) return
    const most = endedRunsSize / 10
    const size = sizeOf(record, most)
    if (size > most) return
    this.#size += size
    if (this.#newer.size >= endedRunsKept / 2 || this.#size > endedRunsSize / 2) {
      this.#older = this.#newer
      this.#newer = new Map()
      this.#size = size
    }
    this.#newer.set(record.run.id, record)
  }
}
