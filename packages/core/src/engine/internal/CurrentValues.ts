/**
 * Where the runs of this process keep large values. By default nowhere: an output that is too large
 * fails its node.
 */
import type { Effect } from "effect"
import { Context } from "effect"
import type { Json } from "../../domain/Json.ts"
import type { LargeValue } from "../../domain/LargeValue.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { ValueKey } from "../../ports/ValueStore.ts"
import type { ValueMemory } from "./ValueMemory.ts"

/** A value that is to be stored: what it is, and its JSON text. */
export interface NewValue {
  readonly json: Json
  readonly text: string
  readonly bytes: Uint8Array
}

/** Where runs keep large values. */
export interface ValueSource {
  readonly memory: ValueMemory
  /** Stores a value of a run under a new id. */
  readonly write: (
    run: Omit<ValueKey, "id">,
    value: NewValue,
  ) => Effect.Effect<LargeValue, StorageError>
  /** Reads a value; `undefined` if it is gone. It is frozen. */
  readonly load: (key: ValueKey) => Effect.Effect<Json | undefined, StorageError>
}

/** Where the runs of this process keep large values; `undefined` for nowhere. */
export const CurrentValues = Context.Reference<ValueSource | undefined>(
  "@millrace/core/engine/internal/CurrentValues",
  { defaultValue: () => undefined },
)
