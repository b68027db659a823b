import type { Format } from './format.ts'
import type { Links } from '../http/link.ts'

/**
 * `application/vnd.fastify-collections.entries+json`: JSON in which each item has its id and its entity tag. Every
 * collection that offers JSON offers it as well, for clients that write what they have read from a list.
 */
export const entries: Format = {
  name: 'entries',
  mediaType: 'application/vnd.fastify-collections.entries+json',
  keepsItems: true,
  hasLinks: false,
  hasTags: true,
  item: (item, _links, _schema, entry) => JSON.stringify({ ...entry, item }),
  list: (items, { list }, _schema, { entries = [], total } = {}) => JSON.stringify({
    entries: items.map((item, index) => ({ ...entries[index], item })),
    next: getCursor(list),
    total
  }),
  describe: (schema) => schema
}

/** Returns the cursor of the next page; null for the last page. */
function getCursor ({ next }: Links): string | null {
  return next === undefined ? null : new URLSearchParams(next.href.split('?', 2)[1]).get('cursor')
}

/** Adds the format of entries to those of a definition that offer JSON. */
export function addEntries (formats: readonly Format[]): readonly Format[] {
  return findJson(formats) === undefined ? formats : [...formats, entries]
}

/** Returns the format of plain JSON. */
export function findJson (formats: readonly Format[]): Format | undefined {
  return formats.find(({ mediaType }) => mediaType === 'application/json')
}
