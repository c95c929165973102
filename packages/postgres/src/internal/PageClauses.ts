/**
 * The parts of a query that every listing shares: newest first, from a position on, cut to a page.
 *
 * Guarantees: a page costs its own size plus what it skips. Leaves out: what is listed.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { PageRequest } from "@millrace/core/domain/Page"
import { PgTypes } from "@effect/sql-pg"
import type { SqlClient } from "effect/sql/SqlClient"
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

/** Order and bounds; one row more than asked for tells whether there is a next page. */
export const slice = (sql: SqlClient, { limit, skip }: PageRequest): Fragment =>
  sql`ORDER BY created_at DESC, id DESC
    LIMIT ${limit + 1} OFFSET ${Math.min(skip ?? 0, Number.MAX_SAFE_INTEGER)}`
