import type { Definition } from 'fastify-collections'
import { progress } from './progress.ts'

/** Nobody calls: no request that could be given up, and every row is in sight. */
const context = { signal: new AbortController().signal, scope: undefined }

/** The first items of a collection that has none. */
export async function seed<Item extends object> ({ storage, id }: Definition<Item>, items: Iterable<Item>): Promise<void> {
  const { entries } = await storage.list({ filter: undefined, search: undefined, order: [{ property: id.property, descending: false }], after: undefined, before: undefined, limit: 1, properties: undefined, count: false }, context)
  if (entries.length > 0) return
  for (const item of items) await storage.insert(item, context)
}

/** Many items, some hundred to a transaction; those that are there already are left as they are. */
export async function seedMany<Item extends object> ({ name, storage }: Definition<Item>, total: number, make: (number: number) => Item): Promise<void> {
  const told = progress(`Seeding ${name}`, total)
  for (let done = 0; done < total;) {
    const next = Math.min(done + 500, total)
    await storage.transaction?.(async inner => {
      for (let number = done + 1; number <= next; number++) await inner.insert(make(number), context)
    })
    done = next
    told(done)
  }
}
