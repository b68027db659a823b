import { BadTable } from '../errors/errors.ts'
import type { ServedCollection } from '../engine/registry.ts'
import { findMistakes, groupByStorage, type StorageGroup } from '../define/storage-check.ts'
import type { Storage } from '../storage/contract.ts'

/** How long each storage may take to respond, and how long the result of a check is reused, in milliseconds. */
const deadline = 1000
const reuse = 1000

interface Failure {
  readonly name: string
  readonly reason: unknown
}

/** Checks whether the storages respond. All are checked at once, and the result is reused for a while. */
export class Health {
  readonly #collections: readonly ServedCollection[]
  #last: { readonly until: number, readonly failures: Promise<readonly Failure[]> } | undefined

  constructor (collections: readonly ServedCollection[]) {
    this.#collections = collections
  }

  /** Returns the storages that do not respond. */
  findFailures (): Promise<readonly Failure[]> {
    const now = performance.now()
    if (this.#last === undefined || now > this.#last.until) {
      this.#last = { until: now + reuse, failures: this.#checkStorages() }
    }
    return this.#last.failures
  }

  async #checkStorages (): Promise<readonly Failure[]> {
    const results = await Promise.all(groupByStorage(this.#collections).map(async (group) => {
      const [{ baseStorage, name, id }] = group
      const reason = await findReadFailure(baseStorage, id.property) ?? await findTableMistake(group)
      return reason === undefined ? [] : [{ name, reason }]
    }))
    return results.flat()
  }
}

/** Checks a storage that could not be checked at boot. If the check fails again, the storage counts as healthy. */
async function findTableMistake (group: StorageGroup): Promise<Error | undefined> {
  const mistakes = await findMistakes(group, deadline).catch(() => [])
  return mistakes.length === 0 ? undefined : new BadTable(mistakes.join('\n'))
}

/** Reads one item, and returns why that failed; undefined if it succeeded in time. */
async function findReadFailure (storage: Storage<object>, property: string): Promise<unknown> {
  const controller = new AbortController()
  const { signal } = controller
  const timeout = new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason))
  })
  const timer = setTimeout(() => {
    controller.abort(new Error(`The storage did not respond within ${deadline} ms.`))
  }, deadline)
  const query = {
    filter: undefined,
    search: undefined,
    order: [{ property, descending: false }],
    after: undefined,
    before: undefined,
    limit: 1,
    properties: [property],
    count: false
  }
  const read = async (): Promise<unknown> => {
    try {
      await storage.list(query, { signal, scope: undefined })
      return undefined
    } catch (error) {
      return error ?? new Error('The storage failed.')
    }
  }
  try {
    return await Promise.race([timeout, read()])
  } finally {
    clearTimeout(timer)
  }
}
