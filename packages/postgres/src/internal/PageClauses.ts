/**
 * The parts of a query that all listings share: newest rows first, from a position, one page.
 *
 * Guarantees: a page reads its own rows, and of skipped rows what its conditions name. Leaves out:
 * what is listed.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { Page, PagePosition, PageRequest } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import * as Rows from "./Rows.ts"

/** A time. The cast gives it the type of the index. Postgres cannot use the index with a float. */
export const time = (sql: SqlClient, millis: Timestamp): Fragment =>
  sql`${PgTypes.float8(millis)}::int8`

/** The condition that a page begins after a position. None without a position. */
export const behind = (sql: SqlClient, after: PageRequest["after"]): ReadonlyArray<Fragment> => {
  if (after === undefined) return []
  const position = sql`(${time(sql, after.createdAt)}, ${Rows.text(after.id)})`
  return [sql`(created_at, id) < ${position}`]
}

/** The conditions of every page. A listing adds its own. */
export const conditions = (
  sql: SqlClient,
  { account, after }: PageRequest & { readonly account: AccountId },
): Array<Fragment> => [sql`account_id = ${account}`, ...behind(sql, after)]

/** What a listing reads. */
export interface Source {
  /** Builds an item from a row `r`. */
  readonly object: string
  /** The rows, each with `created_at` and `id`; whatever the conditions name. */
  readonly rows: string
  /** The query for the whole row of the identifier `p.id`. */
  readonly row: string
}

/**
 * Reads a page. It chooses identifiers first, so of a skipped row only the index is read. The
 * statement reads one more row, which shows whether there is a next page.
 */
export const page = <A extends PagePosition>(
  sql: SqlClient,
  { object, row, rows }: Source,
  all: ReadonlyArray<Fragment>,
  { limit, skip = 0 }: PageRequest,
): Effect.Effect<Page<A>, SqlError> =>
  Effect.map(
    sql<{ readonly item: A }>`SELECT ${sql.literal(object)} AS item FROM (
        SELECT created_at, id FROM ${sql.literal(rows)} WHERE ${sql.and(all)}
        ORDER BY created_at DESC, id DESC
        LIMIT ${limit + 1} OFFSET ${Math.min(skip, Number.MAX_SAFE_INTEGER)}
      ) p CROSS JOIN LATERAL (${sql.literal(row)} OFFSET 0) r
      ORDER BY p.created_at DESC, p.id DESC`,
    (found) =>
      fromOverfetch(
        Array.from(found, ({ item }) => item),
        limit,
      ),
  )
