/**
 * The one map for what a process remembers and could find out again.
 *
 * Entries are in two generations. When the newer one is full, the older one is forgotten at once.
 * So an entry that is used again and again costs nothing: to move it to the end of one `Map` would
 * make that map allocate a new table every few times.
 *
 * Guarantees: those used last are remembered, as many as were asked for; there are never more than
 * twice as many.
 */
export class BoundedMap<K, V extends {} | null> {
  readonly #count: number
  #older = new Map<K, V>()
  #newer = new Map<K, V>()

  /** Remembers the `count` entries that were used last. */
  constructor(count: number) {
    this.#count = count
  }

  /** Returns the value of a key, and counts it as used. */
  get(key: K): V | undefined {
    const latest = this.#newer.get(key)
    if (latest !== undefined) return latest
    const value = this.#older.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  has(key: K): boolean {
    return this.#newer.has(key) || this.#older.has(key)
  }

  set(key: K, value: V): void {
    if (this.#newer.size >= this.#count && !this.#newer.has(key)) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(key, value)
  }

  delete(key: K): void {
    this.#newer.delete(key)
    this.#older.delete(key)
  }

  clear(): void {
    this.#newer = new Map()
    this.#older = new Map()
  }

  /** All entries, none of which counts as used by this. */
  entries(): ReadonlyArray<readonly [K, V]> {
    return [...new Map([...this.#older, ...this.#newer])]
  }
}
