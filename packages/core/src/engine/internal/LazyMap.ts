/**
 * A map for an object of which there are many: it takes memory from its first entry on. An empty
 * `Map` takes about 200 bytes, and one more table whenever something is deleted from it.
 *
 * Guarantees: entries are in the order in which they were set, as in a `Map`.
 */
export class LazyMap<K, V> {
  #map: Map<K, V> | undefined

  get size(): number {
    return this.#map === undefined ? 0 : this.#map.size
  }

  get(key: K): V | undefined {
    return this.#map?.get(key)
  }

  has(key: K): boolean {
    return this.#map !== undefined && this.#map.has(key)
  }

  set(key: K, value: V): void {
    this.#map ??= new Map()
    this.#map.set(key, value)
  }

  delete(key: K): boolean {
    return this.#map !== undefined && this.#map.delete(key)
  }

  clear(): void {
    this.#map = undefined
  }

  keys(): Iterable<K> {
    return this.#map?.keys() ?? []
  }

  values(): Iterable<V> {
    return this.#map?.values() ?? []
  }

  entries(): Iterable<[K, V]> {
    return this.#map ?? []
  }
}
