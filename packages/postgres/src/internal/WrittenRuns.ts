/**
 * What this process has written of runs, so that it need not find or write the same again.
 *
 * Fence and revision tell one state of a run from every other. So if a commit expects those that
 * were written last, the row still has what was written with them, whoever else was there
 * meanwhile. And a definition that was written need not be sent with the next start of it.
 *
 * Guarantees: what is not known, or forgotten, is only dearer. Leaves out: commits within a
 * transaction of a caller, which may come to nothing.
 */
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import type { RunId } from "@millrace/core/domain/Id"
import { definitionsKnown, writtenRunsKnown } from "@millrace/core/domain/Limits"
import type { Run } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { RunCommit } from "@millrace/core/ports/RunStore"

/** What is remembered of a run: nothing large, because others may own the run meanwhile. */
interface WrittenRun extends Pick<
  Run,
  | ("accountId" | "fence" | "revision" | "status" | "startedAt")
  | ("heldCredits" | "actualCredits" | "childCredits")
> {
  /** The number of its row. */
  readonly number: number
  readonly isUsual: boolean
}

/** True for a run of which nothing is set that only waits, parking or its end set. */
const isUsual = ({ dueAt, error, finishedAt, output, waiting }: Run): boolean =>
  dueAt === null && error === null && finishedAt === null && output === null && waiting.length === 0

/** The last written states of the runs with an owner. */
export class WrittenRuns {
  readonly #runs = new BoundedMap<RunId, WrittenRun>(writtenRunsKnown)
  readonly #definitions = new BoundedMap<string, true>(definitionsKnown)

  /** The number of the row of a run, if it is known. */
  numberOf({ accountId, id }: Run): number | null {
    const known = this.#runs.get(id)
    return known?.accountId === accountId ? known.number : null
  }

  /** True if a commit changes only the columns that every step changes. */
  isPlain({ clearsLosses, expected, run, seen }: RunCommit): boolean {
    const known = this.#runs.get(run.id)
    return (
      known !== undefined &&
      expected._tag === "Existing" &&
      known.fence === expected.fence &&
      known.revision === expected.revision &&
      known.isUsual &&
      isUsual(run) &&
      known.status === run.status &&
      known.startedAt === run.startedAt &&
      known.heldCredits === run.heldCredits &&
      known.actualCredits === run.actualCredits &&
      known.childCredits === run.childCredits &&
      clearsLosses !== true &&
      seen === undefined
    )
  }

  /** True if a commit starts a run whose definition was written before. */
  isDefined({ expected }: RunCommit): boolean {
    return expected._tag === "New" && this.#definitions.has(expected.definition.id)
  }

  /** The database may have lost the definition of this commit. */
  forgetDefinition({ expected }: RunCommit): void {
    if (expected._tag === "New") this.#definitions.delete(expected.definition.id)
  }

  /** What was written of a run is not needed any more. */
  forget({ id }: Pick<Run, "id">): void {
    this.#runs.delete(id)
  }

  /** Remembers a written run. */
  note({ expected, run }: RunCommit, number: number, isOwned: boolean): void {
    // A definition of the run's own is needed once.
    if (expected._tag === "New" && !expected.definition.id.startsWith(run.id)) {
      this.#definitions.set(expected.definition.id, true)
    }
    if (!isOwned || isTerminal(run.status)) return this.#runs.delete(run.id)
    const { accountId, fence, revision, startedAt, status } = run
    const { actualCredits, childCredits, heldCredits } = run
    this.#runs.set(run.id, {
      number,
      accountId,
      fence,
      revision,
      status,
      startedAt,
      heldCredits,
      actualCredits,
      childCredits,
      isUsual: isUsual(run),
    })
  }
}
