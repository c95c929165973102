/**
 * Runs statements. One statement may serve many callers: calls that arrive while a statement runs
 * share the next one.
 *
 * Guarantees: a call in a transaction of the caller has its own statement and takes part in the
 * transaction. A call fails if the database does not answer. Leaves out: the statements' texts.
 */
import type { Done } from "@millrace/core/ports/CallbackEffect"
import * as CallbackEffect from "@millrace/core/ports/CallbackEffect"
import { Context, Effect, Option, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import type { Statement } from "effect/sql/Statement"
import * as GroupCommit from "./GroupCommit.ts"

/** How long a statement for many callers may take. Then its connection counts as broken. */
const millisPerFlush = 10_000

const broken = (message: string): SqlError =>
  new SqlError({ reason: new ConnectionError({ cause: new Error(message), operation: "flush" }) })

/** With two, the database works for one half of the callers while the other half continues. */
const usualFlushes = 2

/** True for an answer of the database: nothing was written, and one member may be the reason. */
const isOneMembers = ({ reason }: SqlError): boolean =>
  reason._tag !== "ConnectionError" && reason._tag !== "StatementTimeoutError"

/** True within a transaction of the caller. */
export const isWithin = (sql: SqlClient, context: Context.Context<never>): boolean =>
  Option.isSome(Context.getOption(context, sql.transactionService))

/** How to gather calls; see `GroupCommit`. */
export type Options<Member, Outcome> = Pick<
  GroupCommit.Options<Member, Outcome, SqlError>,
  "keyOf" | "exclusivityKeyOf" | "flush" | "maxMembers"
> & {
  /** How many statements may run at once; two by default. */
  readonly flushesAtOnce?: number
}

/**
 * The statement `sql.unsafe` makes, without its memory: the driver keeps the parameters of every
 * statement that it compiles in a weak map, from which only a full collection takes them. This text
 * is complete, so there is nothing to compile.
 */
export const complete = <Row extends object>(
  sql: SqlClient,
  text: string,
  parameters: ReadonlyArray<unknown>,
): Statement<Row> =>
  Object.assign(sql.unsafe<Row>(text, parameters), { compile: () => [text, parameters] as const })

/** The column `value` of all rows that a statement returns. */
export const values = <A>(
  sql: SqlClient,
  statement: string,
  parameters: ReadonlyArray<unknown> = [],
): Effect.Effect<ReadonlyArray<A>, SqlError> =>
  Effect.map(sql.unsafe<{ readonly value: A }>(statement, parameters), (rows) =>
    rows.map(({ value }) => value),
  )

/** The column `value` of the first row, if there is a row. */
export const optional = <A>(
  sql: SqlClient,
  statement: string,
  parameters: ReadonlyArray<unknown>,
): Effect.Effect<Option.Option<A>, SqlError> =>
  Effect.map(values<A>(sql, statement, parameters), ([first]) => Option.fromUndefinedOr(first))

/** Gathers calls into statements. Returns the function that adds a call. */
export const gather = Effect.fnUntraced(function* <Member, Outcome>(
  sql: SqlClient,
  options: Options<Member, Outcome>,
): Effect.fn.Return<
  (member: Member) => CallbackEffect.CallbackEffect<Outcome, SqlError>,
  never,
  Scope.Scope
> {
  const submit = yield* GroupCommit.make<Member, Outcome, SqlError>({
    flushesAtOnce: usualFlushes,
    ...options,
    isOneMembers,
    closed: broken("The store is closed"),
    late: broken(`The database did not answer within ${millisPerFlush} ms`),
    flushMillis: millisPerFlush,
  })
  return (member) => {
    const add = (done: Done<Outcome, SqlError>) => submit(member, done)
    return CallbackEffect.make(add, () =>
      Effect.contextWith((context: Context.Context<never>) =>
        isWithin(sql, context)
          ? Effect.map(options.flush([member]), (outcomes) => outcomes[0]!)
          : CallbackEffect.make(add),
      ),
    )
  }
})
