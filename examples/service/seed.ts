import type { Definition } from 'fastify-collections'
import { progress } from './progress.ts'

/** Without a request: nothing aborts it, and all rows are visible. */
const context = { signal: new AbortController().signal, scope: undefined }

/** Inserts the items if the collection is empty. */
export async function seed<Item extends object> (
  { storage, id }: Definition<Item>,
  items: Iterable<Item>
): Promise<void> {
  const { entries } = await storage.list(
    {
      filter: undefined,
      search: undefined,
      order: [{ property: id.property, descending: false }],
      after: undefined,
      before: undefined,
      limit: 1,
      properties: undefined,
      count: false
    },
    context
  )
  if (entries.length > 0) return
  for (const item of items) await storage.insert(item, context)
}

/** Inserts many items, 500 in a transaction. Existing items are not changed. */
export async function seedMany<Item extends object> (
  { name, storage }: Definition<Item>,
  total: number,
  make: (number: number) => Item
): Promise<void> {
  const report = progress(`Seeding ${name}`, total)
  for (let done = 0; done < total;) {
    const next = Math.min(done + 500, total)
    await storage.transaction?.(async (inner) => {
      for (let number = done + 1; number <= next; number++) await inner.insert(make(number), context)
    })
    done = next
    report(done)
  }
}
