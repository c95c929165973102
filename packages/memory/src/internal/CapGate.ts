/**
 * A cap of a claim.
 */
import type { Run } from "@millrace/core/domain/Run"

/** A cap: open while fewer runs of a kind than the limit are owned or were added. */
export const gate = (
  limitOf: (run: Run) => number,
  kindOf: (run: Run) => string,
  owned: Iterable<Run>,
) => {
  const counts = new Map<string, number>()
  const add = (run: Run) => counts.set(kindOf(run), (counts.get(kindOf(run)) ?? 0) + 1)
  for (const run of owned) add(run)
  return { isOpen: (run: Run) => (counts.get(kindOf(run)) ?? 0) < limitOf(run), add }
}
