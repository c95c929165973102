/**
 * The parts of a query that every listing shares: newest first, from a position on, cut to a page.
 *
 * Guarantees: a page costs its own size plus what it skips. Leaves out: what is listed.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { Page, PagePosition, PageRequest } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import * as Rows from "./Rows.ts"

/** The condition that a page begins behind a position, if there is one. */
export const behind = (sql: SqlClient, after: PageRequest["after"]): ReadonlyArray<Fragment> => {
  if (after === undefined) return []
  // The cast keeps the number in the index's own type; a float would rule the index out.
  const position = sql`(${PgTypes.float8(after.createdAt)}::int8, ${Rows.text(after.id)})`
  return [sql`(created_at, id) < ${position}`]
}

/** The conditions of a page, to which a listing adds its own. */
export const conditions = (
  sql: SqlClient,
  { account, after }: PageRequest & { readonly account: AccountId },
): Array<Fragment> => [sql`account_id = ${account}`, ...behind(sql, after)]

/**
 * One page: `object` builds an item out of a row of `source`. One row more than asked for tells
 * whether there is a next page.
 */
export const page = <A extends PagePosition>(
  sql: SqlClient,
  object: string,
  source: Fragment,
  all: ReadonlyArray<Fragment>,
  { limit, skip = 0 }: PageRequest,
): Effect.Effect<Page<A>, SqlError> =>
  Effect.map(
    sql<{ readonly item: A }>`SELECT ${sql.literal(object)} AS item FROM ${source}
      WHERE ${sql.and(all)} ORDER BY created_at DESC, id DESC
      LIMIT ${limit + 1} OFFSET ${Math.min(skip, Number.MAX_SAFE_INTEGER)}`,
    (rows) =>
      fromOverfetch(
        Array.from(rows, ({ item }) => item),
        limit,
      ),
  )
