import { Batch } from './batch.ts'

/** Who is in a transaction on a handle; all others wait, or they would be part of it. */
export class Turns {
  last: Promise<void> | undefined
  readonly batch: Batch

  constructor (execute: (text: string) => unknown) {
    this.batch = new Batch(execute, () => this.last === undefined)
  }

  async take<Result> (work: () => Promise<Result>): Promise<Result> {
    const result = (this.last ?? Promise.resolve()).then(work)
    const end = () => { if (this.last === mine) this.last = undefined }
    const mine = result.then(end, end)
    this.last = mine
    return await result
  }
}

const known = new WeakMap<object, Turns>()

/** The same for all who use one handle. */
export function turnsOn (handle: { exec (text: string): unknown }): Turns {
  const turns = known.get(handle) ?? new Turns((text) => handle.exec(text))
  known.set(handle, turns)
  return turns
}
