import type { Walk } from './plan.ts'
import type { Row } from './transaction.ts'

// What must be true of the pages of a list while others write: docs/lists.md.

/** A row as it is in the responses. */
export interface ListedRow {
  readonly text: string
  readonly row: Row
}

/** The rows that the model has shown as text. */
export function parseRows (body: unknown): ListedRow[] {
  const texts = JSON.parse(String(body)) as string[]
  return texts.map((text) => ({ text, row: Object.fromEntries(JSON.parse(text)) }))
}

/**
 * Compares the items of all pages with the lists that were possible meanwhile. Returns what is wrong.
 */
export function checkWalk (
  walk: Walk,
  returned: readonly ListedRow[],
  lists: ReadonlyArray<readonly ListedRow[]>
): string[] {
  const known = new Set(lists.flat().map(({ text }) => text))
  const invented = returned.filter(({ text }) => !known.has(text)).map(({ text }) => `no list has ${text}`)
  // So an item that keeps its position is not returned twice.
  const unordered = returned.slice(1)
    .filter(({ row }, index) => comparePositions(walk, returned[index]!.row, row) >= 0)
    .map(({ row }) => `${String(row.id)} is not in the order of the list`)
  const ids = new Set(returned.map(({ row }) => row.id))
  const skipped = lists[0]!
    .filter(({ row }) => !ids.has(row.id) && lists.every((list) => list.some((other) => isSamePlace(walk, row, other))))
    .map(({ row }) => `${String(row.id)} was skipped, although it existed the whole time`)
  return [...invented, ...unordered, ...skipped]
}

function isSamePlace (walk: Walk, row: Row, { row: other }: ListedRow): boolean {
  return comparePositions(walk, row, other) === 0
}

/** Null and missing values are greater than all others. The id is always the last property. */
function comparePositions ({ property, isDescending }: Walk, a: Row, b: Row): number {
  const order = compareValues(a[property], b[property])
  return (isDescending ? -order : order) || compareValues(a.id, b.id)
}

function compareValues (a: unknown = null, b: unknown = null): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return (a as string | number) < (b as string | number) ? -1 : 1
}
