import type { Operation } from '../engine/operation.ts'
import type { Entry } from '../storage/contract.ts'
import type { CallerRelation } from './caller-relations.ts'
import type { Inclusion } from './expansion.ts'
import { include } from './include.ts'

interface Naming {
  /** Relations to one item. */
  readonly relations: readonly CallerRelation[]
  readonly operation: Operation
  /** The properties that name an item, the best first. */
  readonly names: readonly string[]
}

/** How many characters of a name are read. */
const maxLength = 100

/**
 * Reads the names of the items that the entries refer to: one statement for each relation. An item has a name if the
 * caller can read one of the properties.
 */
export async function readTitles (
  entries: ReadonlyArray<Entry<object>>,
  { relations, operation, names }: Naming
): Promise<(entry: Entry<object>) => Readonly<Record<string, string>>> {
  const inclusions = relations.flatMap((relation): Inclusion[] => {
    const property = names.find((name) => relation.reading?.lists.visible.has(name))
    return property === undefined ? [] : [{ ...relation, listQuery: { fields: [property] }, inclusions: [] }]
  })
  const addition = await include(entries, inclusions, operation)
  return (entry) => {
    const titles: Record<string, string> = {}
    for (const [name, related] of Object.entries(addition.add(entry))) {
      const [title] = Object.values(Object(related) as object) as unknown[]
      if (typeof title === 'string' && title !== '') titles[name] = title.slice(0, maxLength)
    }
    return titles
  }
}
