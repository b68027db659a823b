import type { Collection } from '../collection.ts'
import type { Filter, Order, Query } from '../storage/contract.ts'
import { parseWords } from '../storage/search-words.ts'

/** What a client asks of a list, however it was written: in a query string, or as the content of a QUERY. */
export interface Question {
  readonly filter?: Filter
  readonly search?: string
  readonly order?: readonly Order[]
  readonly fields?: readonly string[]
  readonly limit?: number
  readonly cursor?: string
  /** How many items stand before the page, where the client counts them. */
  readonly offset?: number
  readonly count?: boolean
  /** The query parameters of features, as they are in a query string. */
  readonly features?: Readonly<Record<string, string>>
  /** Properties that features have to read beside those of `fields`. */
  readonly needs?: readonly string[]
  /** Whether a parameter that is not known was passed over, as the client prefers. */
  readonly lenient?: boolean
}

/** Both: what the first says counts, and both filters have to hold. */
export function joined (first: Question, second: Question): Question {
  const filters = [first.filter, second.filter].filter(filter => filter !== undefined)
  return { ...second, ...first, ...filters.length > 0 && { filter: conjunction(filters) }, ...joinFeatures(first, second) }
}

/** What features add to a query adds up. */
function joinFeatures (first: Question, second: Question): Pick<Question, 'features' | 'needs'> {
  return {
    ...(first.features ?? second.features) && { features: { ...second.features, ...first.features } },
    ...(first.needs ?? second.needs) && { needs: [...first.needs ?? [], ...second.needs ?? []] }
  }
}

/** Adds what one parameter says to a query. */
export function addPart (question: object, part: Question): void {
  Object.assign(question, part, part.features && joinFeatures(part, question))
}

/** One form for all that asks the same: a cursor goes with it. */
export function conjunction (filters: readonly Filter[]): Filter {
  const parts = new Map(filters.flatMap(filter => 'all' in filter ? filter.all : [filter]).map(filter => [JSON.stringify(filter), filter]))
  const [only, ...others] = parts.values()
  return only !== undefined && others.length === 0 ? only : { all: [...parts.values()] }
}

/** The same, as the storage is asked: from the beginning of the list. */
export function queryOf (collection: Collection, question: Question): Query {
  const { filter, search, order = collection.order, fields, needs = [], limit = collection.limit.default, count = false } = question
  return {
    filter,
    search: search === undefined ? undefined : { words: parseWords(search), properties: collection.listing.search },
    order,
    after: undefined,
    before: undefined,
    limit,
    properties: fields && needed(collection, [...fields, ...needs], order),
    count
  }
}

/** What must be read of an item beside what the client wants to see: its name and its place. Further links may be made of all of it. */
function needed ({ id, links }: Collection, fields: readonly string[], order: readonly Order[]): readonly string[] | undefined {
  return links !== undefined ? undefined : [...new Set([...fields, id.property, ...order.map(({ property }) => property.split('.', 1)[0]!)])]
}
