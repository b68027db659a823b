import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import type { Context, Entry, Refusal, Shape, Storage } from '../../lib/storage/contract.ts'
import { memory } from '../../lib/storage/memory.ts'
import { databases } from './databases.ts'

// What clients see of versions.

const Note = Type.Object({ id: Type.Integer(), tenant: Type.String(), text: Type.String() })

interface Item { id: number, tenant: string, text: string }

const shape: Shape = { name: 'notes', schema: Note, id: { member: 'id', by: 'client' }, unique: [] }

const context: Context = { signal: new AbortController().signal, scope: undefined }

function stored<Item> (result: Entry<Item> | Refusal | undefined): Entry<Item> {
  if (result === undefined || 'refused' in result) throw new Error(`not stored: ${JSON.stringify(result)}`)
  return result
}

/** Whether two versions have so much in common that the rest could be a counter, or come in the order in which they were made. */
async function looksCounted (storage: Storage<Item>): Promise<boolean> {
  const versions: string[] = []
  for (let id = 1; id <= 40; id++) versions.push(stored(await storage.insert({ id, tenant: 'ada', text: 'x' }, context)).version)
  const sorted = versions.toSorted()
  const near = sorted.some((version, index) => index > 0 && version.slice(0, 8) === sorted[index - 1]!.slice(0, 8))
  const byLength = versions.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return near || [sorted, byLength].some(ordered => ordered.join() === versions.join())
}

test('memory: versions tell nothing of how many writes there were', async t => {
  t.notOk(await looksCounted(memory()<Item>(shape)))
})

for (const { name, skip, open } of databases) {
  test(`${name}: versions tell nothing of how many writes there were`, { skip }, async t => {
    const database = await open()
    t.teardown(() => database.end())
    const adapter = database.adapter()
    await adapter.createTable(shape)
    t.notOk(await looksCounted(adapter<Item>(shape)))
  })
}
