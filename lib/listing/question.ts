import type { Collection } from '../definition.ts'
import type { Filter, Order, Position, Query } from '../storage/contract.ts'
import { readCursor } from './cursor.ts'

/** What a client asks of a list, however it was written: in a query string, or as the content of a QUERY. */
export interface Question {
  readonly filter?: Filter
  readonly search?: string
  readonly order?: readonly Order[]
  readonly fields?: readonly string[]
  readonly expand?: readonly string[]
  readonly limit?: number
  readonly cursor?: string
  readonly count?: boolean
  /** Whether a parameter that is not known was passed over, as the client prefers. */
  readonly lenient?: boolean
}

/** Both: what the second says counts, and both filters have to hold. */
export function joined (first: Question, second: Question): Question {
  const filters = [first.filter, second.filter].filter(filter => filter !== undefined)
  return { ...first, ...second, ...filters.length > 1 && { filter: { all: filters } } }
}

/** The same, as the storage is asked. */
export function queryOf (collection: Collection, question: Question): Query {
  const { filter, search, order = collection.order, fields, expand = [], limit = collection.page.default, cursor, count = false } = question
  const position: { after?: Position, before?: Position } = cursor === undefined ? {} : readCursor(collection, cursor, { filter, search, order })
  return {
    filter,
    search: search === undefined ? undefined : { text: search, members: collection.listing.search },
    order,
    after: position.after,
    before: position.before,
    limit,
    members: fields && needed(collection, [...fields, ...expand.map(name => collection.relations[name]!.member)], order),
    count
  }
}

/** What has to be read of an item beside what the client wants to see: its name, its place, and its time. */
function needed ({ id, timestamps }: Collection, fields: readonly string[], order: readonly Order[]): readonly string[] {
  const others = [id.member, timestamps.created, timestamps.updated, ...order.map(({ member }) => member.split('.', 1)[0])]
  return [...new Set([...fields, ...others.filter(member => member !== undefined)])]
}
