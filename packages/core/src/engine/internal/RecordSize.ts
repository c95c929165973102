/**
 * How much a run with its rows takes, counted roughly: in memory, and in a commit.
 *
 * Guarantees: what is larger than asked for is not counted to its end. Leaves out: what numbers
 * take, and how a store writes them.
 */
import type { JsonObject } from "../../domain/Json.ts"
import type { RunRecord } from "../../domain/Run.ts"

/** What a run, and a node run, takes beside the values in it. */
const [runSize, nodeRunSize] = [1_000, 500]

/**
 * Adds the characters of a value to `size`, until that is more than `most`. It may call itself,
 * because JSON that is stored has at most `jsonLevels` levels.
 */
const withCharacters = (size: number, value: unknown, most: number): number => {
  if (typeof value === "string") return size + value.length
  if (typeof value !== "object" || value === null) return size
  let sum = size
  for (const key in value) {
    if (sum > most) return sum
    sum = withCharacters(sum + key.length + 8, (value as Record<string, unknown>)[key], most)
  }
  return sum
}

/**
 * Counts the characters of inputs and outputs. A value that goes from an output to inputs is in
 * memory once and is stored once. So it counts once where it is the latest input or the latest
 * output that was counted.
 */
class PortSizes {
  readonly #last: Record<"input" | "output", unknown> = { input: null, output: null }

  /** Adds to `size`, until that is more than `most`. */
  with(size: number, side: "input" | "output", ports: JsonObject | null, most: number): number {
    const last = this.#last
    let sum = size
    for (const port in ports) {
      if (sum > most) return sum
      sum += port.length + 8
      const value = ports[port]
      if (typeof value === "object" && (value === last.input || value === last.output)) continue
      last[side] = value
      sum = withCharacters(sum, value, most)
    }
    return sum
  }
}

/** The characters of a run and its rows; one that has more than `most` has at least so many. */
export const sizeOf = (
  { nodeRuns, run }: Pick<RunRecord, "run" | "nodeRuns">,
  most: number,
): number => {
  const ports = new PortSizes()
  let size = runSize + nodeRuns.length * nodeRunSize
  for (const value of [run.values, run.output, run.inputOverrides, run.viewport]) {
    size = withCharacters(size, value, most)
  }
  for (const { error, input, logs, output } of nodeRuns) {
    if (size > most) return size
    size = ports.with(size, "input", input, most)
    size = ports.with(size, "output", output, most)
    size = withCharacters(size, logs, most)
    size = withCharacters(size, error, most)
  }
  return size
}
