/** Keeps what was made of a key; past its size it begins anew, so that no client can make it grow. */
export class Cache<Value, Key = string> {
  readonly #size: number
  readonly #make: (key: Key) => Value
  readonly #values = new Map<Key, Value>()

  constructor (size: number, make: (key: Key) => Value) {
    this.#size = size
    this.#make = make
  }

  get (key: Key): Value {
    const known = this.#values.get(key)
    if (known !== undefined) return known
    if (this.#values.size === this.#size) this.#values.clear()
    const value = this.#make(key)
    this.#values.set(key, value)
    return value
  }
}
