import type { FastifyInstance } from 'fastify'
import type { Collection } from '../engine/collection.ts'
import { BadTable } from '../errors/errors.ts'
import { getRegistered } from '../engine/registry.ts'
import type { StorageUse } from '../storage/contract.ts'

// Checks whether the database has everything that a definition needs, such as tables and columns.

/** In milliseconds: how long the storages may take at boot. After that, the app starts without their results. */
const startTimeout = 2000

/** Storages without mistakes. */
const checkedStorages = new WeakSet<Collection['storage']>()

/**
 * Refuses to start the app if a storage reports mistakes. A storage that cannot be checked now is logged, and checked
 * again by the readiness probe.
 */
export async function checkStorages (app: FastifyInstance): Promise<void> {
  const collections = groupByStorage(getRegistered(app))
  const results = await Promise.allSettled(collections.map((group) => checkStorage(group, startTimeout)))
  const mistakes: string[] = []
  for (const [index, [{ name }]] of collections.entries()) {
    const result = results[index]!
    if (result.status === 'rejected') {
      app.log.warn({ err: result.reason }, `the storage of the collection ${name} could not be checked`)
      continue
    }
    mistakes.push(...result.value.mistakes)
    for (const warning of result.value.warnings) app.log.warn({ collection: name }, warning)
  }
  if (mistakes.length > 0) throw new BadTable(mistakes.join('\n'))
}

/** The collections of one storage: a definition can be served at several paths, or with other features. */
export type StorageGroup = readonly [Collection, ...Collection[]]

/** Groups the collections of an app by their storage. */
export function groupByStorage (registered: ReadonlyArray<{ readonly collection: Collection }>): StorageGroup[] {
  const groups = new Map<Collection['storage'], [Collection, ...Collection[]]>()
  for (const { collection } of registered) {
    const group = groups.get(collection.baseStorage)
    if (group === undefined) groups.set(collection.baseStorage, [collection])
    else group.push(collection)
  }
  return [...groups.values()]
}

/** What these collections do with their storage. */
export function getStorageUse (group: readonly Collection[]): StorageUse {
  const creates = group.some(({ actions, put }) => actions.has('create') || (actions.has('replace') && put.create))
  return {
    creates,
    writes: creates || group.some(({ actions }) => actions.has('replace') || actions.has('update')),
    receipts: group.some(({ attached }) => attached.required.has('receipts')),
    keys: group.flatMap(({ attached }) => attached.keys),
    referrers: group.flatMap(({ attached }) => attached.referrers)
  }
}

/** Returns the mistakes in a storage, unless an earlier check found none. Rejects if the storage cannot be checked. */
export async function findMistakes (group: StorageGroup, timeout: number): Promise<readonly string[]> {
  return checkedStorages.has(group[0].baseStorage) ? [] : (await checkStorage(group, timeout)).mistakes
}

interface Findings {
  readonly mistakes: readonly string[]
  readonly warnings: readonly string[]
}

async function checkStorage (group: StorageGroup, timeout: number): Promise<Findings> {
  const [{ name, baseStorage: storage }] = group
  if (storage.check === undefined) return { mistakes: [], warnings: [] }
  const controller = new AbortController()
  const { signal } = controller
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  const timer = setTimeout(() => {
    controller.abort(new Error(`The storage did not respond within ${timeout} ms.`))
  }, timeout)
  try {
    const findings = await Promise.race([storage.check({ signal, use: getStorageUse(group) }), late])
    const mistakes = findings.filter((finding) => typeof finding === 'string')
    const warnings = findings.filter((finding) => typeof finding === 'object')
    if (mistakes.length === 0) checkedStorages.add(storage)
    return {
      mistakes: mistakes.map((mistake) => `Collection ${name}: ${mistake}`),
      warnings: warnings.map(({ warning }) => `Collection ${name}: ${warning}`)
    }
  } finally {
    clearTimeout(timer)
  }
}
