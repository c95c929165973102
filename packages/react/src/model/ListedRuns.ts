/**
 * A listing of runs, and what has changed since its pages were read.
 *
 * Guarantees: each run once, newest first. Pure. Leaves out: reading pages and changes.
 */
import type { RunItem, RunQuery } from "@millrace/api/PromiseClient"

/** The changed runs by id. */
export type ChangedRuns = ReadonlyMap<string, RunItem>

const isBefore = (left: RunItem, right: RunItem): boolean =>
  left.createdAt === right.createdAt ? left.id > right.id : left.createdAt > right.createdAt

/**
 * The listing with its changes. A new run is part of it, unless it belongs to a page that has not
 * been read; a run that has left the wanted status is not.
 */
export const withChanges = (
  listed: ReadonlyArray<RunItem>,
  changed: ChangedRuns,
  { hasMore, status }: Pick<RunQuery, "status"> & { readonly hasMore: boolean },
): ReadonlyArray<RunItem> => {
  if (changed.size === 0) return listed
  const known = new Set(listed.map(({ id }) => id))
  const last = listed.at(-1)
  const added = [...changed.values()].filter(
    (item) => !known.has(item.id) && (!hasMore || (last !== undefined && isBefore(item, last))),
  )
  return [...added, ...listed.map((item) => changed.get(item.id) ?? item)]
    .filter((item) => status === undefined || item.status === status)
    .toSorted((left, right) => (isBefore(left, right) ? -1 : 1))
}
