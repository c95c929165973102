/**
 * Large values: stores and reads them for the runs of this process, and answers what callers ask of
 * them.
 *
 * Guarantees: a caller gets values that a row of a run of its account names, and no others. Leaves
 * out: which values are large.
 */
import { Context, Effect, Layer, Option, Stream } from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"
import type { Json } from "../domain/Json.ts"
import { freeze } from "../domain/Json.ts"
import type { LargeValue } from "../domain/LargeValue.ts"
import { describe, namedBy, withLarge } from "../domain/LargeValue.ts"
import { CurrentLimits } from "../domain/Limits.ts"
import type { RunRecord } from "../domain/Run.ts"
import { payloadBytesOf } from "../domain/RunPayload.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { StoreManifest } from "../ports/StoreManifest.ts"
import { ValueStore } from "../ports/ValueStore.ts"
import type { ValueSource } from "./internal/CurrentValues.ts"
import { Ids } from "./Ids.ts"
import { ValueMemory } from "./internal/ValueMemory.ts"
import { sweep, sweeping } from "./internal/ValueSweep.ts"
import { RunNotFound, ValueNotFound } from "./Refusals.ts"

/** A value, and its JSON text in pieces. */
export interface OpenValue {
  readonly value: LargeValue
  readonly bytes: Stream.Stream<Uint8Array, StorageError>
}

export class LargeValues extends Context.Service<
  LargeValues,
  {
    /** Where runs keep large values; `undefined` if the store keeps none. */
    readonly source: ValueSource | undefined
    /** A large value that the run or one of its node runs names. */
    readonly open: (
      account: AccountId,
      runId: RunId,
      valueId: string,
    ) => Effect.Effect<OpenValue, RunNotFound | ValueNotFound | StorageError>
    /**
     * The records with their large values where they belong, as long as all payloads together have
     * at most `mostBytes`. The columns of large values stay as they are.
     */
    readonly withValues: (
      records: ReadonlyArray<RunRecord>,
      mostBytes: number,
    ) => Effect.Effect<ReadonlyArray<RunRecord>, StorageError>
    /**
     * Removes values that nothing names and nothing ever will, and answers how many. Every process
     * does so once an hour.
     */
    readonly sweep: Effect.Effect<number, StorageError>
  }
>()("@millrace/core/engine/LargeValues") {
  static readonly layer: Layer.Layer<
    LargeValues,
    never,
    ValueStore | RunStore | StoreManifest | Ids
  > = Layer.effect(
    LargeValues,
    Effect.suspend(() => make),
  )
}

const whole = (pieces: ReadonlyArray<Uint8Array>): string => {
  const decoder = new TextDecoder()
  const texts = pieces.map((piece) => decoder.decode(piece, { stream: true }))
  return texts.join("") + decoder.decode()
}

const makeSource = Effect.gen(function* () {
  const { valueMemoryBytes } = yield* CurrentLimits
  const { make: makeId } = yield* Ids
  const store = yield* ValueStore
  const source: ValueSource = {
    memory: new ValueMemory(valueMemoryBytes),
    write: (run, { bytes, json, text }) =>
      Effect.flatMap(makeId("value"), (id) =>
        Effect.as(store.put({ ...run, id }, bytes), describe(id, json, text, bytes.length)),
      ),
    load: (key) =>
      Effect.flatMap(store.read(key), (found) =>
        Option.isNone(found)
          ? Effect.undefined
          : Effect.map(Stream.runCollect(found.value), (pieces) =>
              freeze(JSON.parse(whole(pieces)) as Json),
            ),
      ),
  }
  return source
})

const placeAll = (record: RunRecord, found: ReadonlyMap<string, Json>): RunRecord => {
  const valueOf = ({ id }: LargeValue) => found.get(id) ?? null
  const { nodeRuns, run } = record
  return {
    ...record,
    run: { ...run, output: withLarge(run.output, "/output", run.largeValues, valueOf) },
    nodeRuns: nodeRuns.map((row) => ({
      ...row,
      input: withLarge(row.input, "/input", row.largeValues, valueOf),
      output: withLarge(row.output, "/output", row.largeValues, valueOf),
    })),
  }
}

const make = Effect.gen(function* () {
  const runs = yield* RunStore
  const store = yield* ValueStore
  const { ports } = yield* StoreManifest
  const source = ports.includes("values") ? yield* makeSource : undefined
  if (source !== undefined) yield* Effect.forkScoped(sweeping({ runs, values: store }))

  const read = Effect.fnUntraced(function* (record: RunRecord) {
    const { accountId: account, id: runId } = record.run
    const ids = [...new Set(namedBy(record).map(({ id }) => id))]
    const found = new Map<string, Json>()
    for (const id of ids) {
      const json = source?.memory.get(id) ?? (yield* source!.load({ account, runId, id }))
      if (json !== undefined) found.set(id, json)
    }
    return placeAll(record, found)
  })

  return LargeValues.of({
    source,
    sweep: sweep({ runs, values: store }),
    open: Effect.fn("LargeValues.open")(function* (account, runId, valueId) {
      // Without payloads: their columns say which values there are.
      const [record] = yield* runs.findMany(account, [runId], 0)
      if (record === undefined) return yield* new RunNotFound({ runId })
      const value = namedBy(record).find(({ id }) => id === valueId)
      const found =
        value === undefined ? Option.none() : yield* store.read({ account, runId, id: valueId })
      if (Option.isNone(found)) return yield* new ValueNotFound({ runId, valueId })
      return { value: value!, bytes: found.value }
    }),
    withValues: (records, mostBytes) => {
      if (records.every((record) => record.omitted === true || namedBy(record).length === 0)) {
        return Effect.succeed(records)
      }
      let left = mostBytes
      return Effect.forEach(records, (record) => {
        if (record.omitted === true || left < 0) return Effect.succeed(record)
        const large = namedBy(record)
        left -= payloadBytesOf(record)
        const bytes = large.reduce((sum, each) => sum + each.bytes, 0)
        if (bytes === 0 || bytes > left) return Effect.succeed(record)
        left -= bytes
        return read(record)
      })
    },
  })
})
