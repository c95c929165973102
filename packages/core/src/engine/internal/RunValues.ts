/**
 * The large values of one run in this process: which outputs are large, where they are stored, and
 * what handlers and expressions get in their place.
 *
 * Guarantees: a value is stored before anything names it. Handlers get frozen values. Leaves out:
 * what becomes of an attempt whose values cannot be stored or read.
 */
import { Effect, Result, Schedule } from "effect"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { isLongerThan } from "../../domain/Json.ts"
import type { LargeValue } from "../../domain/LargeValue.ts"
import { largeIn, largeJson, replaceLarge } from "../../domain/LargeValue.ts"
import type { Limits } from "../../domain/Limits.ts"
import { quoted } from "../../domain/Quote.ts"
import type { Run } from "../../domain/Run.ts"
import { NodeError } from "../CurrentNode.ts"
import type { NewValue, ValueSource } from "./CurrentValues.ts"
import type { ValueKey } from "../../ports/ValueStore.ts"

const encoder = new TextEncoder()

/** No character takes more bytes of JSON text than so many. */
export const mostBytesPerCharacter = 6

/** A store that fails for a moment does not fail a node. */
const tries = { schedule: Schedule.exponential("50 millis"), times: 7 } as const

/** Values by id. */
export type Loaded = ReadonlyMap<string, Json>

/** Values of a record that are large, by port: stored before, or yet to be. */
type Large = ReadonlyMap<string, LargeValue | NewValue>

/** What is known of the run. Mutable. */
interface RunWithValues {
  readonly run: Run
  readonly limits: Limits
  hasLarge: boolean
}

/** Large values of one run. Mutable. */
export class RunValues {
  readonly #state: RunWithValues
  readonly #source: ValueSource
  /** None before the first value is remembered: most runs have no large values. */
  #remembered: Set<string> | undefined

  constructor(source: ValueSource, state: RunWithValues) {
    this.#source = source
    this.#state = state
  }

  get #run(): Omit<ValueKey, "id"> {
    const { accountId: account, id: runId } = this.#state.run
    return { account, runId }
  }

  /** False as long as no large value of the run is known. */
  get hasAny(): boolean {
    return this.#state.hasLarge
  }

  /** The stored value that a value is, if a handler was given it. */
  knownAs(json: unknown): LargeValue | undefined {
    const isPlain = typeof json !== "object" && typeof json !== "string"
    if (!this.hasAny || isPlain || json === null) return undefined
    return this.#source.memory.knownAs(this.#state.run.id, json as Json)
  }

  /**
   * Those of these values that are large; `undefined` if none is. Fails with a sentence if one is
   * too large to be stored.
   */
  find(
    what: "input" | "output",
    entries: Iterable<readonly [port: string, value: Json]>,
  ): Result.Result<Large | undefined, string> {
    const { largeValueBytes, valueBytes } = this.#state.limits
    const large = new Map<string, LargeValue | NewValue>()
    for (const [port, json] of entries) {
      // What stands for stored values is no value itself.
      if (largeIn(json).length > 0) continue
      const known = this.knownAs(json)
      if (known !== undefined) large.set(port, known)
      else if (isLongerThan(json, largeValueBytes / mostBytesPerCharacter)) {
        const text = JSON.stringify(json)
        const bytes = encoder.encode(text)
        if (bytes.length > valueBytes) {
          const sentence = `${what} ${quoted(port)} has ${bytes.length} bytes`
          return Result.fail(`${sentence}; the limit is ${valueBytes}`)
        }
        if (bytes.length > largeValueBytes) large.set(port, { json, text, bytes })
      }
    }
    return Result.succeed(large.size === 0 ? undefined : large)
  }

  /** Stores what is not stored yet, and gives the record as it is recorded. */
  store(record: JsonObject, large: Large): Effect.Effect<JsonObject, NodeError> {
    const stored = Effect.forEach(large, ([port, value]) =>
      Effect.map("id" in value ? Effect.succeed(value) : this.#write(port, value), (known) => {
        this.#state.hasLarge = true
        return [port, largeJson(known)] as const
      }),
    )
    return Effect.map(stored, (found) => ({ ...record, ...Object.fromEntries(found) }))
  }

  #write(port: string, value: NewValue): Effect.Effect<LargeValue, NodeError> {
    return Effect.map(
      Effect.mapError(
        Effect.retry(this.#source.write(this.#run, value), tries),
        ({ message }) =>
          new NodeError({ message: `the value of ${quoted(port)} cannot be stored: ${message}` }),
      ),
      (known) => {
        this.#remember(known, value.json)
        return known
      },
    )
  }

  /** The inputs with the values themselves; `undefined` if some of them are not in memory. */
  known(inputs: JsonObject): JsonObject | undefined {
    let isWhole = true
    const found = replaceLarge(inputs, (value) => {
      const json = this.#source.memory.get(value.id)
      isWhole &&= json !== undefined
      return json ?? null
    })
    return isWhole ? (found as JsonObject) : undefined
  }

  /** The inputs with the values themselves. */
  whole(inputs: JsonObject): Effect.Effect<JsonObject, NodeError> {
    return Effect.map(
      this.load(largeIn(inputs)),
      (loaded) =>
        replaceLarge(inputs, (value) => loaded.get(value.id) ?? largeJson(value)) as JsonObject,
    )
  }

  /** Reads these values. */
  load(values: ReadonlyArray<LargeValue>): Effect.Effect<Loaded, NodeError> {
    const byId = new Map(values.map((value) => [value.id, value]))
    return Effect.map(
      Effect.forEach(byId.values(), (value) =>
        Effect.map(this.#read(value), (json) => [value.id, json] as const),
      ),
      (entries) => new Map(entries),
    )
  }

  #read(value: LargeValue): Effect.Effect<Json, NodeError> {
    const { id } = value
    const kept = this.#source.memory.get(id)
    if (kept !== undefined) {
      this.#note(id)
      return Effect.succeed(kept)
    }
    const loaded = Effect.retry(this.#source.load({ ...this.#run, id }), tries)
    return Effect.flatMap(
      Effect.mapError(
        loaded,
        ({ message }) => new NodeError({ message: `a large value cannot be read: ${message}` }),
      ),
      (json) => {
        if (json === undefined) return Effect.fail(gone(value))
        this.#remember(value, json)
        return Effect.succeed(json)
      },
    )
  }

  /** The run is executed here no longer. */
  close(): void {
    for (const id of this.#remembered ?? []) this.#source.memory.forget(id)
  }

  #note(id: LargeValue["id"]): void {
    this.#remembered ??= new Set()
    this.#remembered.add(id)
  }

  #remember(value: LargeValue, json: Json): void {
    this.#note(value.id)
    this.#source.memory.keep({ runId: this.#state.run.id, value, json })
  }
}

const gone = ({ bytes, id }: LargeValue): NodeError =>
  new NodeError({
    message: `the stored value ${id} (${bytes} bytes), which this node gets, is gone`,
    retryable: false,
  })
