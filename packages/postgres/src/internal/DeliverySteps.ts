/**
 * Steps that SQL takes for many deliveries in one statement: what `DeliveryStep` says of one, as
 * conditions and values over `due_deliveries q`.
 *
 * Guarantees: each stands here and nowhere else; the model of the stores compares them with
 * `DeliveryStep`. Leaves out: records, whose values a statement is given.
 */
import { millisOf } from "./DatabaseClock.ts"

export const nowMillis = millisOf("now()")

/** `isFree`. The first half is for the index. */
export const isFree = `due_at <= ${nowMillis} AND coalesce(held_until, due_at) <= ${nowMillis}`

/** `claimed`, for so long as the first parameter says. */
export const claimed = `fence = q.fence + 1, begun = q.begun + (q.claimed_at IS NULL)::int4,
    claimed_at = coalesce(q.claimed_at, ${nowMillis}), held_until = ${nowMillis} + $1::int8`

/** The condition of `redelivered` and `dueNow`. */
export const isNotClaimed = "q.claimed_at IS NULL"

/** `redelivered`, of one that has not ended. */
export const redelivered = `due_at = ${nowMillis}, earlier = q.begun`

/** `dueNow`. */
export const dueNow = `due_at = ${nowMillis}`
