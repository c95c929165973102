/**
 * The database's clocks in SQL, which differ in when they stand still: `now()` is when the
 * transaction began, `statement_timestamp()` when the statement did, and `clock_timestamp()` goes
 * on while a statement waits for a lock.
 */

export type DatabaseClock = "now()" | "statement_timestamp()" | "clock_timestamp()"

/** A clock in milliseconds since the epoch. */
export const millisOf = (clock: DatabaseClock): string =>
  `floor(extract(epoch FROM ${clock}) * 1000)::int8`
