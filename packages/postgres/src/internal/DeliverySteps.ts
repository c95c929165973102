/**
 * The functions of `DeliveryStep` in SQL, as conditions and values over `due_deliveries q`. With
 * them, one statement changes many deliveries.
 *
 * Guarantees: a test compares them with `DeliveryStep`. Leaves out: recording attempts; a statement
 * gets the new values as parameters.
 */
import { millisOf } from "./DatabaseClock.ts"

export const nowMillis = millisOf("now()")

/** `isFree`. The first condition makes Postgres use the index. */
export const isFree = `due_at <= ${nowMillis} AND coalesce(held_until, due_at) <= ${nowMillis}`

/** `claimed`, for as long as the first parameter says. */
export const claimed = `fence = q.fence + 1, begun = q.begun + (q.claimed_at IS NULL)::int4,
    claimed_at = coalesce(q.claimed_at, ${nowMillis}), held_until = ${nowMillis} + $1::int8`

/** The condition of `redelivered` and `receiverGone`. */
export const isNotClaimed = "q.claimed_at IS NULL"

/** `redelivered`, for a delivery that has not ended. */
export const redelivered = `due_at = ${nowMillis}, earlier = q.begun`

/** `receiverGone`. */
export const receiverGone = `due_at = ${nowMillis}`
