/** A cache of values created by key. When it is full, it releases the least recently used value. */
export class Cache<Value, Key = string> {
  readonly #size: number
  readonly #create: (key: Key) => Value
  readonly #release: ((value: Value) => void) | undefined
  readonly #values = new Map<Key, Value>()

  constructor (size: number, create: (key: Key) => Value, release?: (value: Value) => void) {
    this.#size = size
    this.#create = create
    this.#release = release
  }

  get (key: Key): Value {
    const known = this.#values.get(key)
    if (known === undefined) return this.#add(key)
    // The order matters only when the cache is full.
    if (this.#values.size === this.#size) {
      this.#values.delete(key)
      this.#values.set(key, known)
    }
    return known
  }

  #add (key: Key): Value {
    const value = this.#create(key)
    this.#values.set(key, value)
    if (this.#values.size > this.#size) {
      const [[oldest, released]] = this.#values as unknown as [[Key, Value]] // not empty
      this.#values.delete(oldest)
      this.#release?.(released)
    }
    return value
  }
}
