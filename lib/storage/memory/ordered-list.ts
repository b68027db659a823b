/** A full chunk is split, so a write moves at most this many values however long the list is. */
const full = 512

/** Values in an order that never ties, as a list of sorted chunks of which none is empty. */
export class OrderedList<Value> {
  readonly #compare: (a: Value, b: Value) => number
  readonly #chunks: Value[][] = []

  constructor (compare: (a: Value, b: Value) => number, sorted: readonly Value[]) {
    this.#compare = compare
    for (let start = 0; start < sorted.length; start += full) this.#chunks.push(sorted.slice(start, start + full))
  }

  add (value: Value): void {
    const [at, offset] = this.#placeToAdd(value)
    if (at === this.#chunks.length) this.#chunks.push([])
    const chunk = this.#chunk(at)
    chunk.splice(offset, 0, value)
    if (chunk.length > full) this.#chunks.splice(at + 1, 0, chunk.splice(full / 2))
  }

  delete (value: Value): void {
    const [at, offset] = this.#place((other) => this.#compare(other, value) >= 0)
    const chunk = this.#chunk(at)
    chunk.splice(offset, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** Visits upwards from the first value that is past, until a visit gives false. */
  ascend (isPast: (value: Value) => boolean, visit: (value: Value) => boolean): void {
    let [at, offset] = this.#place(isPast)
    for (; at < this.#chunks.length; at++, offset = 0) {
      const chunk = this.#chunk(at)
      for (; offset < chunk.length; offset++) if (!visit(this.#value(chunk, offset))) return
    }
  }

  /** Visits downwards from the last value that is not past, until a visit gives false. */
  descend (isPast: (value: Value) => boolean, visit: (value: Value) => boolean): void {
    let [at, offset] = this.#place(isPast)
    for (;;) {
      while (offset > 0) if (!visit(this.#value(this.#chunk(at), --offset))) return
      if (at === 0) return
      offset = this.#chunk(--at).length
    }
  }

  /** Where the first value that is past stands; behind the last chunk where there is none. */
  #place (isPast: (value: Value) => boolean): [at: number, offset: number] {
    const chunks = this.#chunks
    const at = partition(chunks.length, (index) => isPast(this.#value(this.#chunk(index), this.#chunk(index).length - 1)))
    if (at === chunks.length) return [at, 0]
    const chunk = this.#chunk(at)
    return [at, partition(chunk.length, (index) => isPast(this.#value(chunk, index)))]
  }

  /** Values that come in order are placed at once, and fill one chunk after the other. */
  #placeToAdd (value: Value): [at: number, offset: number] {
    const last = this.#chunks.at(-1)
    if (last === undefined || this.#compare(this.#value(last, last.length - 1), value) > 0) return this.#place((other) => this.#compare(other, value) > 0)
    return last.length < full ? [this.#chunks.length - 1, last.length] : [this.#chunks.length, 0]
  }

  // Every index here is in bounds by construction, which the compiler cannot see.
  #chunk (at: number): Value[] { return this.#chunks[at] as Value[] }
  #value (chunk: readonly Value[], offset: number): Value { return chunk[offset] as Value }
}

/** The first of `length` indexes that is past, where all behind one that is past are past too. */
function partition (length: number, isPast: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isPast(middle)) high = middle
    else low = middle + 1
  }
  return low
}
