/** Random numbers that follow from a seed (mulberry32). */
export class Random {
  #state: number

  constructor (seed: number) {
    this.#state = seed * 2_654_435_769 >>> 0
    for (let round = 0; round < 3; round++) this.next()
  }

  /** From 0 up to, but not including, 1. */
  next (): number {
    this.#state = this.#state + 0x6D2B79F5 >>> 0
    let value = this.#state
    value = Math.imul(value ^ value >>> 15, value | 1)
    value ^= value + Math.imul(value ^ value >>> 7, value | 61)
    return ((value ^ value >>> 14) >>> 0) / 4_294_967_296
  }

  below (limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance (probability: number): boolean {
    return this.next() < probability
  }

  pick<Value> (values: readonly Value[]): Value {
    return values[this.below(values.length)]!
  }
}
