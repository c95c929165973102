/**
 * What this process has written of runs, so that it need not find or write the same again.
 *
 * Fence and revision tell one state of a run from every other. So if a commit expects those that
 * were written last, the row still has what was written with them, whoever else was there
 * meanwhile. Guarantees: what is not known, or forgotten, is only dearer. Leaves out: commits
 * within a transaction of a caller, which may come to nothing.
 */
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import type { RunId } from "@millrace/core/domain/Id"
import { writtenRunsKnown } from "@millrace/core/domain/Limits"
import type { Run } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { RunCommit } from "@millrace/core/ports/RunStore"

/** A run as it was written last, and the number of its row. */
interface WrittenRun {
  readonly number: number
  readonly run: Run
}

/** The fields that most steps leave as they are. */
const rarely = [
  "status",
  "startedAt",
  "finishedAt",
  "heldCredits",
  "actualCredits",
  "dueAt",
  "error",
  "output",
] as const satisfies ReadonlyArray<keyof Run>

const isEmpty = ({ waiting }: Run): boolean => waiting.length === 0

/** Runs that have an owner, as they were written. */
export class WrittenRuns {
  readonly #runs = new BoundedMap<RunId, WrittenRun>(writtenRunsKnown)

  /** The number of the row of a run, if it is known. */
  numberOf({ accountId, id }: Run): number | null {
    const known = this.#runs.get(id)
    return known?.run.accountId === accountId ? known.number : null
  }

  /** True if a commit changes nothing of its run's row but what every step changes. */
  isPlain({ clearsLosses, expected, run, seen }: RunCommit): boolean {
    const written = this.#runs.get(run.id)?.run
    if (expected._tag === "New" || clearsLosses === true || seen !== undefined) return false
    if (written?.fence !== expected.fence || written.revision !== expected.revision) return false
    if (!isEmpty(written) || !isEmpty(run)) return false
    return rarely.every((field) => written[field] === run[field])
  }

  /** Takes note of a run that was written. */
  note(run: Run, number: number, isOwned: boolean): void {
    if (isOwned && !isTerminal(run.status)) this.#runs.set(run.id, { number, run })
    else this.#runs.delete(run.id)
  }
}
