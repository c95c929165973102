/**
 * The part of a statement that all listings share: a page begins after a position.
 */
import type { PageRequest } from "@millrace/core/domain/Page"
import type { Value } from "./SqliteConnection.ts"

/** The condition that a page begins after a position, newest first, and its parameters. */
export const behind = (
  after: PageRequest["after"],
): { readonly condition: string; readonly values: ReadonlyArray<Value> } =>
  after === undefined
    ? { condition: "true", values: [] }
    : { condition: "(created_at, id) < (?, ?)", values: [after.createdAt, after.id] }

/** The rows of a page and one more, and how many to skip. */
export const window = ({ limit, skip = 0 }: PageRequest): ReadonlyArray<Value> => [
  limit + 1,
  Math.min(skip, Number.MAX_SAFE_INTEGER),
]
