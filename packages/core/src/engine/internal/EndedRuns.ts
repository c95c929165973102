/**
 * The runs that ended in this process lately, so that waiting for one of them reads nothing.
 *
 * An ended run never changes, so what was stored last is what a store would answer. Guarantees: an
 * account gets only its own runs; number and size of the kept runs are bounded. Leaves out: runs
 * that another process ended.
 */
import type { AccountId, RunId } from "../../domain/Id.ts"
import type { Json } from "../../domain/Json.ts"
import { endedRunsKept, endedRunsSize } from "../../domain/Limits.ts"
import type { RunRecord } from "../../domain/Run.ts"

/** What a run, and a node run, takes in memory beside the values in it. */
const [runSize, nodeRunSize] = [1_000, 500]

/** Adds up the characters of values, until there are more than `most`. */
const sizeOf = (roots: ReadonlyArray<unknown>, most: number): number => {
  const values: Array<unknown> = [...roots]
  let size = 0
  while (values.length > 0 && size <= most) {
    const value = values.pop() as Json | undefined
    if (typeof value === "string") size += value.length
    else if (typeof value === "object" && value !== null) {
      for (const key of Object.keys(value)) {
        size += key.length + 8
        values.push((value as Record<string, unknown>)[key])
      }
    }
  }
  return size
}

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

  /** Keeps a run that has ended, unless it takes more than a tenth of the room. */
  keep(record: RunRecord): void {
    const { nodeRuns, run } = record
    const own = runSize + nodeRuns.length * nodeRunSize
    const most = endedRunsSize / 10 - own
    const values = nodeRuns.flatMap(({ error, input, logs, output }) => [
      input,
      output,
      logs,
      error,
    ])
    const size = sizeOf([run.values, run.output, run.inputOverrides, run.viewport, ...values], most)
    if (size > most) return
    this.#size += own + size
    if (this.#newer.size >= endedRunsKept / 2 || this.#size > endedRunsSize / 2) {
      this.#older = this.#newer
      this.#newer = new Map()
      this.#size = own + size
    }
    this.#newer.set(run.id, record)
  }
}
