import type { Collection } from '../collection.ts'
import { BadTable } from '../errors.ts'
import type { ServedCollection } from '../registry.ts'
import { findMistakes } from '../storage-check.ts'
import type { Storage } from '../storage/contract.ts'

/** In milliseconds. */
interface Patience {
  /** How long a storage may take. */
  readonly deadline: number
  /** For how long an answer counts. */
  readonly fresh: number
}

interface Failure {
  readonly name: string
  readonly reason: unknown
}

/** Which storages do not respond: each is asked for one item, all at once, and not again before the answer has grown old. */
export class Health {
  readonly #collections: readonly ServedCollection[]
  readonly #patience: Patience
  #known: { readonly until: number, readonly failures: Promise<readonly Failure[]> } | undefined

  constructor (collections: readonly ServedCollection[], patience: Patience) {
    this.#collections = collections
    this.#patience = patience
  }

  failures (): Promise<readonly Failure[]> {
    const now = performance.now()
    if (this.#known === undefined || now > this.#known.until) {
      this.#known = { until: now + this.#patience.fresh, failures: this.#ask() }
    }
    return this.#known.failures
  }

  async #ask (): Promise<readonly Failure[]> {
    // A definition that is served at several places has one storage.
    const storages = new Map(this.#collections.map(({ collection }) => [collection.baseStorage, collection]))
    const { deadline } = this.#patience
    const results = await Promise.all([...storages].map(async ([storage, collection]) => {
      const reason = await failure(storage, collection.id.property, deadline) ?? await mistaken(collection, deadline)
      return reason === undefined ? [] : [{ name: collection.name, reason }]
    }))
    return results.flat()
  }
}

/** What is wrong with a storage that could not be checked when the app started. One that still cannot tell serves as it is. */
async function mistaken (collection: Collection, deadline: number): Promise<Error | undefined> {
  const mistakes = await findMistakes(collection, deadline).catch(() => [])
  return mistakes.length === 0 ? undefined : new BadTable(mistakes.join(' '))
}

/** Why it does not answer in time; undefined where it does. */
async function failure (storage: Storage<object>, property: string, deadline: number): Promise<unknown> {
  const controller = new AbortController()
  const { signal } = controller
  const late = new Promise(resolve => { signal.addEventListener('abort', () => resolve(signal.reason)) })
  const timer = setTimeout(() => controller.abort(new Error(`The storage did not answer within ${deadline} ms.`)), deadline)
  const one = { filter: undefined, search: undefined, order: [{ property, descending: false }], after: undefined, before: undefined, limit: 1, properties: [property], count: false }
  // A storage of one's own may throw instead of rejecting.
  const asked = (async () => storage.list(one, { signal, scope: undefined }))()
  return Promise.race([late, asked.then(() => undefined, error => error ?? new Error('The storage failed.'))]).finally(() => clearTimeout(timer))
}
