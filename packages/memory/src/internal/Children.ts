/**
 * The children of nodes of runs, by index, in memory.
 */
import type { ParentRun, Run } from "@millrace/core/domain/Run"
import type { ChildQuery } from "@millrace/core/ports/RunStore"

interface Stored {
  readonly run: Run
}

const keyOf = ({ nodeId, runId }: Pick<ParentRun, "runId" | "nodeId">) => `${runId} ${nodeId}`

/** All children of one store. Mutable. */
export class Children<E extends Stored> {
  /** Sparse, because a child may have any index. */
  readonly #byNode = new Map<string, Array<E | undefined>>()

  /** Takes note of a run, if it is a child. */
  add(entry: E): void {
    const { parent } = entry.run
    if (parent === null) return
    const siblings = this.#byNode.get(keyOf(parent)) ?? []
    siblings[parent.index] = entry
    this.#byNode.set(keyOf(parent), siblings)
  }

  find({ account, after, limit, nodeId, parentRunId: runId, status }: ChildQuery) {
    const found: Array<Run> = []
    const siblings = this.#byNode.get(keyOf({ nodeId, runId })) ?? []
    for (let index = after + 1; index < siblings.length && found.length < limit; index++) {
      const run = siblings[index]?.run
      if (run === undefined || run.accountId !== account) continue
      if (status === undefined || run.status === status) found.push(run)
    }
    return found
  }
}
