/**
 * Takes part in transactions that callers have begun: on a client of the package `pg`, or on an
 * `SqlClient`.
 *
 * Guarantees: statements reach the tables of this store or none. They are sent on the caller's
 * client alone, so nobody waits for a second client of the same pool. Leaves out: ending the
 * transaction.
 */
import type { Definition } from "@millrace/core/domain/Run"
import type { Transactions } from "@millrace/core/ports/Transactions"
import { TransactionRefused } from "@millrace/core/ports/Transactions"
import { Context, Effect, Option } from "effect"
import { SqlClient, type TransactionConnection } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as ClientConnection from "./ClientConnection.ts"
import { causeOf, orStorageError } from "./DatabaseError.ts"
import { channel } from "./NotificationChannel.ts"
import * as Rows from "./Rows.ts"
import { isWithin, values } from "./Statements.ts"

/** The tables that a start reads and writes. */
const tables = [
  "credit_accounts",
  "credit_entries",
  "credit_grants",
  "definitions",
  "key_changes",
  "node_runs",
  "open_runs",
  "run_events",
  "run_values",
  "runs",
  "secrets",
  "start_keys",
  "usage_changes",
  "workflows",
]

/**
 * Which tables a connection reaches: the start of the server, the database, and the identifiers of
 * the tables by their bare names. A copy of the database on another server differs, too.
 */
const placeStatement = `
SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), d.oid, string_agg(
  coalesce(to_regclass(t.name)::oid::text, '-'), ' ' ORDER BY t.name
)) AS value
FROM pg_database d CROSS JOIN unnest('{${tables.join()}}'::text[]) AS t (name)
WHERE d.datname = current_database() GROUP BY d.oid`

const placeOf = (sql: SqlClient) =>
  Effect.map(values<string>(sql, placeStatement), ([place]) => place)

/** Refused outside of a transaction, and of no further effect inside one that starts a run. */
const lockStatement = "LOCK TABLE runs IN ACCESS SHARE MODE"
const noTransaction = "25P01"

const isOutside = (error: SqlError): boolean => {
  const cause = causeOf(error)
  return cause instanceof Error && (cause as { code?: unknown }).code === noTransaction
}

const refused = (message: string) => new TransactionRefused({ message: `client: ${message}` })

const isSqlClient = (client: unknown): client is SqlClient =>
  typeof client === "function" && "transactionService" in client

/** The connection with the caller's transaction, and how deep the transaction is nested. */
const connectionOf = (
  client: unknown,
): Effect.Effect<TransactionConnection.Service, TransactionRefused> =>
  Effect.contextWith((context: Context.Context<never>) => {
    if (isSqlClient(client)) {
      return Option.match(Context.getOption(context, client.transactionService), {
        onNone: () => refused("no transaction is open here: start within its withTransaction"),
        onSome: Effect.succeed,
      })
    }
    return ClientConnection.isQueryClient(client)
      ? Effect.succeed([ClientConnection.make(client), 0] as const)
      : refused("expected a client of the package pg on which a transaction is open")
  })

const makeWithin = (sql: SqlClient): Transactions["within"] => {
  let here: string | undefined
  const isOurs = Effect.fnUntraced(function* (there: string | undefined) {
    // The server may have been started again since it was asked.
    if (here !== there) here = yield* placeOf(sql)
    return here === there
  })
  return (client) => (calls) =>
    Effect.gen(function* () {
      const connection = yield* connectionOf(client)
      const join = Effect.provideService(sql.transactionService, connection)
      const check = Effect.gen(function* () {
        if (!(yield* isOurs(yield* join(placeOf(sql))))) {
          return yield* refused("it does not reach the engine's tables: database and schema differ")
        }
        yield* Effect.catchIf(join(sql.unsafe(lockStatement)), isOutside, () =>
          refused("no transaction is open on it: send BEGIN on this client first, not on its pool"),
        )
      })
      yield* orStorageError("Transactions.within")(check)
      return yield* join(calls)
    })
}

const defineStatement = `${Rows.insert("definitions", Rows.definitions)}
  ON CONFLICT (id) DO NOTHING`

/** Delivered when the transaction is committed; not at all if it is rolled back. */
const announceStatement = `SELECT pg_notify('${channel}', 'started')`

const make = (client: SqlClient): Transactions => {
  const sql = client.withoutTransforms()
  return {
    isWithin: Effect.contextWith((context: Context.Context<never>) =>
      Effect.succeed(isWithin(sql, context)),
    ),
    within: makeWithin(sql),
    announce: orStorageError("Transactions.announce")(Effect.asVoid(sql.unsafe(announceStatement))),
    define: (definition: Definition) =>
      orStorageError("Transactions.define")(
        Effect.asVoid(sql.unsafe(defineStatement, Rows.parameters(Rows.definitions, [definition]))),
      ),
  }
}

/** The port over the ambient client. */
export const transactions: Effect.Effect<Transactions, never, SqlClient> = Effect.map(
  SqlClient,
  make,
)
