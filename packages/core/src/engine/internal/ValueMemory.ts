/**
 * Large values that this process has in memory, so that a chain of nodes does not read them back.
 *
 * Guarantees: a bound of bytes; what was used longest ago is forgotten first. Leaves out: reading
 * what was forgotten.
 */
import type { RunId } from "../../domain/Id.ts"
import type { Json } from "../../domain/Json.ts"
import type { LargeValue } from "../../domain/LargeValue.ts"

interface Kept {
  readonly runId: RunId
  readonly value: LargeValue
  readonly json: Json
}

/** Values of the runs of one process. Mutable. */
export class ValueMemory {
  readonly #most: number
  /** In the order of their last use. */
  readonly #byId = new Map<string, Kept>()
  readonly #byJson = new Map<Json, Kept>()
  #bytes = 0

  constructor(mostBytes: number) {
    this.#most = mostBytes
  }

  get(id: string): Json | undefined {
    const kept = this.#byId.get(id)
    if (kept === undefined) return undefined
    this.#byId.delete(id)
    this.#byId.set(id, kept)
    return kept.json
  }

  /** The stored value of a run that this very value is. */
  knownAs(runId: RunId, json: Json): LargeValue | undefined {
    const kept = this.#byJson.get(json)
    return kept?.runId === runId ? kept.value : undefined
  }

  keep(kept: Kept): void {
    this.forget(kept.value.id)
    this.#byId.set(kept.value.id, kept)
    this.#byJson.set(kept.json, kept)
    this.#bytes += kept.value.bytes
    for (const id of this.#byId.keys()) {
      if (this.#bytes <= this.#most) break
      this.forget(id)
    }
  }

  forget(id: string): void {
    const kept = this.#byId.get(id)
    if (kept === undefined) return
    this.#byId.delete(id)
    if (this.#byJson.get(kept.json) === kept) this.#byJson.delete(kept.json)
    this.#bytes -= kept.value.bytes
  }
}
