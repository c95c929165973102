/**
 * The one place where an error of the database becomes the ports' `StorageError`.
 *
 * Guarantees: the message an operator reads is the server's own. Leaves out: retrying.
 */
import { StorageError } from "@millrace/core/ports/StorageError"
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { isSqlError } from "effect/sql/SqlError"

/** The error beneath a driver's error, whose own message says only that a query failed. */
export const causeOf = (error: SqlError): unknown =>
  error.reason.cause instanceof Error ? error.reason.cause : error

/** The ports' error for an error of the database, with the name of what was attempted. */
export const storageError = (operation: string, error: SqlError): StorageError =>
  new StorageError({ operation, cause: causeOf(error) })

/** Turns every error of the database that an effect fails with into the ports' error. */
export const orStorageError =
  (operation: string) =>
  <A, E, R>(
    self: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, Exclude<E, SqlError> | StorageError, R> =>
    Effect.mapError(self, (error) =>
      isSqlError(error) ? storageError(operation, error) : (error as Exclude<E, SqlError>),
    )
