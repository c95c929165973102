/**
 * The database's clocks in SQL. `now()` is the start of the transaction, `statement_timestamp()` is
 * the start of the statement. Only `clock_timestamp()` is right after a wait for a lock.
 */

export type DatabaseClock = "now()" | "statement_timestamp()" | "clock_timestamp()"

/** A clock in milliseconds since the epoch. */
export const millisOf = (clock: DatabaseClock): string =>
  `floor(extract(epoch FROM ${clock}) * 1000)::int8`
