import type { FastifyInstance } from 'fastify'
import type { Collection } from './collection.ts'
import { BadTable } from './errors.ts'
import { registered } from './registry.ts'

// What storages can find out only from the database: whether what a definition relies on is there.

/** In milliseconds, how long the storages of an app may take when it starts. After that it starts without them. */
const startTimeout = 2000

/** Storages in which no mistake was found. */
const passed = new WeakSet<Collection['storage']>()

/** Before the app serves: refuses to start if a storage reports mistakes. One that cannot tell now is logged, and left to the readiness probe. */
export async function checkStorages (app: FastifyInstance): Promise<void> {
  // A definition that is served at several paths has one storage.
  const collections = new Map(registered(app).map(({ collection }) => [collection.baseStorage, collection]))
  const results = await Promise.allSettled([...collections.values()].map(collection => checkStorage(collection, startTimeout)))
  const mistakes: string[] = []
  for (const [index, { name }] of [...collections.values()].entries()) {
    const result = results[index]!
    if (result.status === 'fulfilled') mistakes.push(...result.value)
    else app.log.warn({ err: result.reason }, `the storage of the collection ${name} could not be checked`)
  }
  if (mistakes.length > 0) throw new BadTable(mistakes.join(' '))
}

/** The mistakes in a storage that were not ruled out before. Rejects if the storage cannot tell. */
export async function findMistakes (collection: Collection, timeout: number): Promise<readonly string[]> {
  return passed.has(collection.baseStorage) ? [] : await checkStorage(collection, timeout)
}

async function checkStorage ({ name, baseStorage: storage }: Collection, timeout: number): Promise<readonly string[]> {
  if (storage.check === undefined) return []
  const controller = new AbortController()
  const { signal } = controller
  const late = new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const timer = setTimeout(() => controller.abort(new Error(`The storage did not answer within ${timeout} ms.`)), timeout)
  try {
    const mistakes = await Promise.race([storage.check({ signal }), late])
    if (mistakes.length === 0) passed.add(storage)
    return mistakes.map(mistake => `Collection ${name}: ${mistake}`)
  } finally {
    clearTimeout(timer)
  }
}
