import type { FastifyInstance } from 'fastify'
import type { Collection } from './collection.ts'
import { BadTable } from './errors.ts'
import { getRegistered } from './registry.ts'

// Asks storages whether the database has everything that a definition needs, such as tables and columns.

/** In milliseconds: how long the storages may take at boot. After that, the app starts without their results. */
const startTimeout = 2000

/** Storages without mistakes. */
const checkedStorages = new WeakSet<Collection['storage']>()

/**
 * Refuses to start the app if a storage reports mistakes. A storage that cannot be checked now is logged, and checked
 * again by the readiness probe.
 */
export async function checkStorages (app: FastifyInstance): Promise<void> {
  // A definition that is served at several paths has one storage.
  const collections = new Map(getRegistered(app).map(({ collection }) => [collection.baseStorage, collection]))
  const checks = [...collections.values()].map((collection) => checkStorage(collection, startTimeout))
  const results = await Promise.allSettled(checks)
  const mistakes: string[] = []
  for (const [index, { name }] of [...collections.values()].entries()) {
    const result = results[index]!
    if (result.status === 'fulfilled') mistakes.push(...result.value)
    else app.log.warn({ err: result.reason }, `the storage of the collection ${name} could not be checked`)
  }
  if (mistakes.length > 0) throw new BadTable(mistakes.join(' '))
}

/** Returns the mistakes in a storage, unless an earlier check found none. Rejects if the storage cannot be checked. */
export async function findMistakes (collection: Collection, timeout: number): Promise<readonly string[]> {
  return checkedStorages.has(collection.baseStorage) ? [] : await checkStorage(collection, timeout)
}

async function checkStorage ({ name, baseStorage: storage }: Collection, timeout: number): Promise<readonly string[]> {
  if (storage.check === undefined) return []
  const controller = new AbortController()
  const { signal } = controller
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  const timer = setTimeout(() => {
    controller.abort(new Error(`The storage did not respond within ${timeout} ms.`))
  }, timeout)
  try {
    const mistakes = await Promise.race([storage.check({ signal }), late])
    if (mistakes.length === 0) checkedStorages.add(storage)
    return mistakes.map((mistake) => `Collection ${name}: ${mistake}`)
  } finally {
    clearTimeout(timer)
  }
}
