/** Keeps what was made of a key. When it is full, the value that was not used for the longest time is released. */
export class Cache<Value, Key = string> {
  readonly #size: number
  readonly #make: (key: Key) => Value
  readonly #release: ((value: Value) => void) | undefined
  readonly #values = new Map<Key, Value>()

  constructor (size: number, make: (key: Key) => Value, release?: (value: Value) => void) {
    this.#size = size
    this.#make = make
    this.#release = release
  }

  get (key: Key): Value {
    const known = this.#values.get(key)
    if (known === undefined) return this.#add(key)
    // Until it is full, nothing is released, and the order does not matter.
    if (this.#values.size === this.#size) {
      this.#values.delete(key)
      this.#values.set(key, known)
    }
    return known
  }

  #add (key: Key): Value {
    const value = this.#make(key)
    this.#values.set(key, value)
    if (this.#values.size > this.#size) {
      const [[oldest, released]] = this.#values as unknown as [[Key, Value]] // it has just got a value
      this.#values.delete(oldest)
      this.#release?.(released)
    }
    return value
  }
}
