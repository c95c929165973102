/**
 * How much a run with its rows takes, counted roughly: in memory, and in a commit.
 *
 * Guarantees: what is larger than asked for is not counted to its end. Leaves out: what numbers
 * take, and how a store writes them.
 */
import type { Json } from "../../domain/Json.ts"
import type { RunRecord } from "../../domain/Run.ts"

/** What a run, and a node run, takes beside the values in it. */
const [runSize, nodeRunSize] = [1_000, 500]

/** Adds up the characters of values, until there are more than `most`. */
const charactersOf = (roots: ReadonlyArray<unknown>, most: number): number => {
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

/** The characters of a run and its rows; one that has more than `most` has at least so many. */
export const sizeOf = (
  { nodeRuns, run }: Pick<RunRecord, "run" | "nodeRuns">,
  most: number,
): number => {
  const own = runSize + nodeRuns.length * nodeRunSize
  const values = nodeRuns.flatMap(({ error, input, logs, output }) => [input, output, logs, error])
  const all = [run.values, run.output, run.inputOverrides, run.viewport, ...values]
  return own + charactersOf(all, most - own)
}
