import { ProblemError } from 'fastify-collections'
import type { CollectionCalls } from 'fastify-collections'
import { progress } from './progress.ts'

/** Creates the items if the collection is empty. */
export async function seed<Item extends object> (
  calls: CollectionCalls<Item>,
  items: Iterable<Partial<Item>>
): Promise<void> {
  const { value: first } = await calls.list({ limit: 1 }).next()
  if (first !== undefined) return
  for (const item of items) await calls.create(item)
}

/** Creates many items, 500 in a transaction. Existing items are not changed. */
export async function seedMany<Item extends object> (
  calls: CollectionCalls<Item>,
  { name, total, make }: { name: string, total: number, make: (number: number) => Partial<Item> }
): Promise<void> {
  const report = progress(`Seeding ${name}`, total)
  for (let done = 0; done < total;) {
    const next = Math.min(done + 500, total)
    await calls.transaction(async (transaction) => {
      for (let number = done + 1; number <= next; number++) {
        await calls.create(make(number), { transaction }).catch(ignoreExisting)
      }
    })
    done = next
    report(done)
  }
}

function ignoreExisting (error: unknown): void {
  if (!(error instanceof ProblemError && error.code === 'not-unique')) throw error
}
