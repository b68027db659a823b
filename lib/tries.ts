import { setTimeout as wait } from 'node:timers/promises'
import { problemOfRefusal } from './refusal.ts'
import type { Id, Refusal, Storage } from './storage/contract.ts'
import { contended, inTurn } from './turns.ts'

const most = 20

/** A write that is tried at once; where others write the same item, in turn with them, and again where one came in between. */
export class Tries<Result> {
  readonly id: Id
  /** How often the id was in use by an item that could not be seen. */
  unseen = 0
  readonly #storage: Storage<object>
  readonly #attempt: (tries: Tries<Result>) => Promise<Result>
  #count = 0

  constructor (storage: Storage<object>, id: Id, attempt: (tries: Tries<Result>) => Promise<Result>) {
    this.#storage = storage
    this.id = id
    this.#attempt = attempt
  }

  first (): Promise<Result> {
    return contended(this.#storage, this.id) ? this.#inTurn() : this.#attempt(this)
  }

  /** What comes of it after this refusal, which is told where another try would make nothing else. */
  again (refusal: Refusal): Promise<Result> {
    if (!raced(refusal) || this.#count === most) throw problemOfRefusal(refusal)
    return this.#count === 0 ? this.#inTurn() : this.#later()
  }

  #inTurn (): Promise<Result> {
    this.#count = 1
    return inTurn(this.#storage, this.id, () => this.#attempt(this))
  }

  /** Writers elsewhere know of no turns. */
  async #later (): Promise<Result> {
    await wait(Math.random() * this.#count++)
    return this.#attempt(this)
  }
}

/** Of these refusals, another try may make something else; of the others, none does. */
function raced ({ refused }: Refusal): boolean {
  return refused === 'stale' || refused === 'absent'
}
