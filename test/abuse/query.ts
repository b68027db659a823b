import type { Query } from '../../lib/storage/index.ts'

/** The first ten items, by id. The tests of this folder vary it. */
export const query: Query = {
  filter: undefined,
  search: undefined,
  order: [{ property: 'id', descending: false }],
  after: undefined,
  before: undefined,
  limit: 10,
  properties: undefined,
  count: false
}
