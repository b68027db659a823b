/** Keeps what was made for a key; past its size it begins anew, so that no client can make it grow. */
export class Cache<Value, Key = string> {
  readonly #size: number
  readonly #values = new Map<Key, Value>()

  constructor (size: number) {
    this.#size = size
  }

  get (key: Key, make: () => Value): Value {
    const known = this.#values.get(key)
    if (known !== undefined) return known
    if (this.#values.size === this.#size) this.#values.clear()
    const value = make()
    this.#values.set(key, value)
    return value
  }
}
