/** A longer chunk is split, so that a write moves at most this many values however long the list is. */
const maxChunkLength = 512

/** Values in an order without ties, as a list of sorted chunks of which none is empty. */
export class OrderedList<Value> {
  readonly #compare: (a: Value, b: Value) => number
  readonly #chunks: Value[][] = []

  constructor (compare: (a: Value, b: Value) => number, sorted: readonly Value[]) {
    this.#compare = compare
    for (let start = 0; start < sorted.length; start += maxChunkLength) {
      this.#chunks.push(sorted.slice(start, start + maxChunkLength))
    }
  }

  add (value: Value): void {
    const [at, offset] = this.#findPlaceToAdd(value)
    if (at === this.#chunks.length) this.#chunks.push([])
    const chunk = this.#getChunk(at)
    chunk.splice(offset, 0, value)
    if (chunk.length > maxChunkLength) this.#chunks.splice(at + 1, 0, chunk.splice(maxChunkLength / 2))
  }

  delete (value: Value): void {
    const [at, offset] = this.#findPlace((other) => this.#compare(other, value) >= 0)
    const chunk = this.#getChunk(at)
    chunk.splice(offset, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** Visits upwards from the first value that is past, until a visit returns false. */
  ascend (isPast: (value: Value) => boolean, visit: (value: Value) => boolean): void {
    let [at, offset] = this.#findPlace(isPast)
    for (; at < this.#chunks.length; at++, offset = 0) {
      const chunk = this.#getChunk(at)
      for (; offset < chunk.length; offset++) {
        if (!visit(this.#getValue(chunk, offset))) return
      }
    }
  }

  /** Visits downwards from the last value that is not past, until a visit returns false. */
  descend (isPast: (value: Value) => boolean, visit: (value: Value) => boolean): void {
    let [at, offset] = this.#findPlace(isPast)
    for (;;) {
      while (offset > 0) {
        if (!visit(this.#getValue(this.#getChunk(at), --offset))) return
      }
      if (at === 0) return
      offset = this.#getChunk(--at).length
    }
  }

  /** The place of the first value that is past; after the last chunk if there is none. */
  #findPlace (isPast: (value: Value) => boolean): [at: number, offset: number] {
    const chunks = this.#chunks
    const at = findFirst(chunks.length, (index) => {
      const chunk = this.#getChunk(index)
      return isPast(this.#getValue(chunk, chunk.length - 1))
    })
    if (at === chunks.length) return [at, 0]
    const chunk = this.#getChunk(at)
    return [at, findFirst(chunk.length, (index) => isPast(this.#getValue(chunk, index)))]
  }

  /** Values that arrive in order are appended at once, and fill one chunk after the other. */
  #findPlaceToAdd (value: Value): [at: number, offset: number] {
    const last = this.#chunks.at(-1)
    if (last === undefined || this.#compare(this.#getValue(last, last.length - 1), value) > 0) {
      return this.#findPlace((other) => this.#compare(other, value) > 0)
    }
    return last.length < maxChunkLength ? [this.#chunks.length - 1, last.length] : [this.#chunks.length, 0]
  }

  // Every index here is in bounds, which the compiler cannot see.
  #getChunk (at: number): Value[] {
    return this.#chunks[at] as Value[]
  }

  #getValue (chunk: readonly Value[], offset: number): Value {
    return chunk[offset] as Value
  }
}

/** The first of `length` indexes that is past. All indexes after it must be past, too. */
function findFirst (length: number, isPast: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isPast(middle)) high = middle
    else low = middle + 1
  }
  return low
}
