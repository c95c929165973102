/**
 * The store of large values in memory.
 *
 * Guarantees: every method is one synchronous step. Leaves out: durability.
 */
import type { ValueKey, WrittenValue } from "@millrace/core/ports/ValueStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Clock, Effect, Layer, Option, Stream } from "effect"

interface Kept extends WrittenValue {
  readonly bytes: Uint8Array
}

const textOf = ({ account, id, runId }: ValueKey): string => JSON.stringify([account, runId, id])

/** An empty store. */
export const layer: Layer.Layer<ValueStore> = Layer.sync(ValueStore, () => {
  const values = new Map<string, Kept>()
  return ValueStore.of({
    put: (key, bytes) =>
      Effect.map(Clock.currentTimeMillis, (writtenAt) => {
        const text = textOf(key)
        if (!values.has(text)) values.set(text, { ...key, bytes: bytes.slice(), writtenAt })
      }),
    read: (key) =>
      Effect.sync(() =>
        Option.map(Option.fromUndefinedOr(values.get(textOf(key))), ({ bytes }) =>
          Stream.succeed(bytes.slice()),
        ),
      ),
    remove: (keys) =>
      Effect.sync(() => {
        for (const key of keys) values.delete(textOf(key))
      }),
    list: (after, limit) =>
      Effect.sync(() => {
        const behind = after === undefined ? "" : textOf(after)
        return [...values]
          .filter(([text]) => text > behind)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .slice(0, limit)
          .map(([, { bytes: _, ...value }]) => value)
      }),
  })
})
