/**
 * A map for an object of which there are many: it takes little memory while it has one entry at
 * most. An empty `Map` takes about 200 bytes, and one more table whenever something is deleted.
 *
 * Guarantees: entries are in the order in which they were set, as in a `Map`.
 */

/** The only entry. */
class Entry<K, V> {
  readonly key: K
  readonly value: V

  constructor(key: K, value: V) {
    this.key = key
    this.value = value
  }
}

export class LazyMap<K, V> {
  #content: Map<K, V> | Entry<K, V> | undefined

  get size(): number {
    const content = this.#content
    return content === undefined ? 0 : content instanceof Entry ? 1 : content.size
  }

  get(key: K): V | undefined {
    const content = this.#content
    if (content instanceof Entry) return content.key === key ? content.value : undefined
    return content?.get(key)
  }

  has(key: K): boolean {
    const content = this.#content
    return content instanceof Entry ? content.key === key : content?.has(key) === true
  }

  set(key: K, value: V): void {
    const content = this.#content
    if (content === undefined || (content instanceof Entry && content.key === key)) {
      this.#content = new Entry(key, value)
    } else if (content instanceof Entry) {
      this.#content = new Map([
        [content.key, content.value],
        [key, value],
      ])
    } else content.set(key, value)
  }

  delete(key: K): boolean {
    const content = this.#content
    if (!(content instanceof Entry)) return content?.delete(key) === true
    if (content.key !== key) return false
    this.#content = undefined
    return true
  }

  clear(): void {
    this.#content = undefined
  }

  keys(): Iterable<K> {
    const content = this.#content
    return content instanceof Entry ? [content.key] : (content?.keys() ?? [])
  }

  values(): ReadonlyArray<V> {
    const content = this.#content
    return content instanceof Entry ? [content.value] : [...(content?.values() ?? [])]
  }

  entries(): Iterable<[K, V]> {
    const content = this.#content
    return content instanceof Entry ? [[content.key, content.value]] : (content ?? [])
  }
}
