/**
 * The port for large values: what nodes put out that does not stand in the rows of their run.
 *
 * A value is written before the commit that names it, and never changes. Leaves out: which values
 * are large, and which are named.
 */
import type { Effect, Option, Stream } from "effect"
import { Context } from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { StorageError } from "./StorageError.ts"

/** Which value, of which run, of which account. Another account's value is an unknown one. */
export interface ValueKey {
  readonly account: AccountId
  readonly runId: RunId
  readonly id: string
}

/** A value in a listing. */
export interface WrittenValue extends ValueKey {
  /** By the store's clock. */
  readonly writtenAt: Timestamp
}

export class ValueStore extends Context.Service<
  ValueStore,
  {
    /**
     * Stores the bytes of a value, all or none of them, of a stored run. Bytes that are stored
     * under this key already stay.
     */
    readonly put: (key: ValueKey, bytes: Uint8Array) => Effect.Effect<void, StorageError>
    /** The bytes of a value, in pieces. None: there is no such value. */
    readonly read: (
      key: ValueKey,
    ) => Effect.Effect<Option.Option<Stream.Stream<Uint8Array, StorageError>>, StorageError>
    /** Removes values. Those that are unknown change nothing. */
    readonly remove: (keys: ReadonlyArray<ValueKey>) => Effect.Effect<void, StorageError>
    /**
     * Values of all accounts, at most `limit`, in an order that does not change. Those behind
     * `after`, which may be gone. Values that are written meanwhile may be left out.
     */
    readonly list: (
      after: ValueKey | undefined,
      limit: number,
    ) => Effect.Effect<ReadonlyArray<WrittenValue>, StorageError>
  }
>()("@millrace/core/ports/ValueStore") {}
