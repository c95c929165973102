/**
 * The one map for what a process remembers and could find out again.
 *
 * Guarantees: the number of entries is bounded; what was set longest ago is forgotten first.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  /** Sets an entry, as the latest one, also where there was one of this key. */
  override set(key: K, value: V): this {
    // The order of a Map is that of insertion.
    this.delete(key)
    super.set(key, value)
    if (this.size > this.#most) this.delete(this.keys().next().value!)
    return this
  }
}
