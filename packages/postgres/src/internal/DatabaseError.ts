/**
 * Turns errors of the database into the `StorageError` of the ports. No other module does.
 *
 * Guarantees: an operator sees the message of the database. Leaves out: retrying.
 */
import { StorageError } from "@millrace/core/ports/StorageError"
import { CallbackEffect } from "@millrace/core/ports/CallbackEffect"
import { Cause, Effect, Exit, Option, Result } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { isSqlError } from "effect/sql/SqlError"

/** The cause of a driver's error. The driver's message says only that a query failed. */
export const causeOf = (error: SqlError): unknown =>
  error.reason.cause instanceof Error ? error.reason.cause : error

/** The ports' error for an error of the database. `operation` names what was tried. */
export const storageError = (operation: string, error: SqlError): StorageError =>
  new StorageError({ operation, cause: causeOf(error) })

/**
 * Turns the database's errors of an effect into the ports' error. One is a defect where the
 * connection of a transaction is gone, so that nobody can end the transaction.
 */
export const orStorageError = (operation: string) => {
  const renamed = <E>(
    cause: Cause.Cause<E>,
  ): Exit.Exit<never, Exclude<E, SqlError> | StorageError> => {
    const found = Option.orElse(Cause.findErrorOption(cause), () =>
      Result.getSuccess(Cause.findDefect(cause)),
    )
    return Option.isSome(found) && isSqlError(found.value)
      ? Exit.fail(storageError(operation, found.value))
      : Exit.failCause(cause as Cause.Cause<Exclude<E, SqlError>>)
  }
  const outcome = <A, E>(exit: Exit.Exit<A, E>) =>
    Exit.isFailure(exit) ? renamed(exit.cause) : (exit as Exit.Exit<A>)
  return <A, E, R>(
    self: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, Exclude<E, SqlError> | StorageError, R> =>
    self instanceof CallbackEffect
      ? (self as CallbackEffect<A, E>).mapExit(outcome)
      : Effect.catchCause(self, renamed<E>)
}

/** The methods of a port. They may also fail with errors of the database. */
export type DatabasePort<Port> = {
  readonly [M in keyof Port]: Port[M] extends (...given: infer G) => Effect.Effect<infer A, infer E>
    ? (...given: G) => Effect.Effect<A, E | SqlError>
    : Port[M] extends Effect.Effect<infer A, infer E>
      ? Effect.Effect<A, E | SqlError>
      : never
}

type Method = (...given: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>

/** Makes a port of such methods. A `StorageError` names the port and the method. */
export const databasePort = <Port extends object>(name: string, port: DatabasePort<Port>): Port => {
  const methods = Object.entries<Method | Effect.Effect<unknown, unknown>>(port)
  const named = methods.map(([method, call]) => {
    const asPort = orStorageError(`${name}.${method}`)
    if (Effect.isEffect(call)) return [method, asPort(call)]
    return [method, (...given: ReadonlyArray<unknown>) => asPort(call(...given))]
  })
  return Object.fromEntries(named) as Port
}
