/**
 * The port with which a store takes part in a transaction that the caller has begun on a client of
 * its own: the caller's rows and a run are stored together or not at all.
 *
 * Guarantees: the store neither commits nor rolls back. Leaves out: a transaction of the store's
 * own, because no port hands one out.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Definition } from "../domain/Run.ts"
import type { StorageError } from "./StorageError.ts"

/** The store cannot take part in a transaction of this client. Nothing was written. */
export class TransactionRefused extends Schema.TaggedError<TransactionRefused>()(
  "TransactionRefused",
  { message: Schema.String },
) {}

/** What a store does for starts inside a transaction of the caller. */
export interface Transactions {
  /** True inside a transaction of the caller. What the store writes then is part of it. */
  readonly isWithin: Effect.Effect<boolean>
  /**
   * Executes calls of the store inside the transaction that is open on this client. Refuses a
   * client without a transaction, and one that does not reach the tables of this store. If the
   * database refuses a statement, the transaction is aborted as by any statement of the caller.
   */
  readonly within: (
    client: unknown,
  ) => <A, E, R>(
    calls: Effect.Effect<A, E, R>,
  ) => Effect.Effect<A, E | TransactionRefused | StorageError, R>
  /** When the transaction is committed, all processes learn that there may be a run to claim. */
  readonly announce: Effect.Effect<void, StorageError>
  /** Stores a definition for all runs that will name it, if it is not stored. */
  readonly define: (definition: Definition) => Effect.Effect<void, StorageError>
}

/** The refusal of a store that takes part in no transaction. */
export const refusedBy = (store: string): Effect.Effect<never, TransactionRefused> =>
  Effect.fail(
    new TransactionRefused({
      message:
        `client: the store "${store}" takes part in no transaction: start without a client, or ` +
        "open the engine on the Postgres of that client",
    }),
  )
