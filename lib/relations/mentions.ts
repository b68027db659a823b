import type { Collection } from '../engine/collection.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { maxLevels } from '../query/relation-limits.ts'

/** The relations that a query refers to, and those of their items. */
export type Mentions = ReadonlyMap<string, Mentions>

/** What a query refers to. */
interface FoundMentions {
  readonly mentions: Mentions
  /** Whether it refers to more relations that follow each other than a query can have. */
  readonly isTooDeep: boolean
}

type MutableMentions = Map<string, MutableMentions>

/** How many relations a query refers to. What lists can be queried with grows with each. */
const maxMentions = 100

/**
 * Finds the relations that a query may refer to, before it is parsed: the rules of the related collections decide what
 * it can refer to. `query` is an object as the content of a QUERY has it, or the parameters of a query string.
 */
export function findMentions (collection: Collection, query: unknown): FoundMentions | Problem {
  const mentions: MutableMentions = new Map()
  const found = { mentions, isTooDeep: false, count: 0 }
  visit(query, { found, collection, mentions, level: 0 })
  return found.count <= maxMentions
    ? found
    : problem('invalid-query', { detail: `The query refers to more than ${maxMentions} relations.` })
}

interface Place {
  readonly found: { isTooDeep: boolean, count: number }
  readonly collection: Collection
  readonly mentions: MutableMentions
  readonly level: number
}

/** Names of properties lead to related collections, and so do the texts in `expand` and `sort`. */
function visit (value: unknown, place: Place): void {
  if (Array.isArray(value)) {
    for (const part of value) visit(part, place)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, part] of Object.entries(value)) {
      if (isDefaultOption(place.collection, name, part)) continue
      visitText(name, part, place)
      visit(part, follow(name, place))
    }
  }
}

/**
 * Whether a parameter is an option of an included list with its default. Tools such as Swagger UI send the defaults of
 * the document, also for relations that are not included: that means the same as leaving them out.
 */
export function isDefaultOption ({ attached: { relations } }: Collection, parameter: string, text: unknown): boolean {
  if (!parameter.startsWith('expand.')) return false
  const [name = '', option, ...others] = parameter.slice('expand.'.length).split('.')
  const relation = relations.get(name)
  if (relation?.isMany !== true || others.length > 0) return false
  return option === 'limit' ? text === String(relation.limit) : option === 'count' && text === 'false'
}

const namesInValues = /(?:^|\.)(?:expand|sort)$/

function visitText (name: string, value: unknown, place: Place): void {
  if (!namesInValues.test(name)) return
  const inner = follow(name, place)
  for (const text of [value].flat()) {
    if (typeof text !== 'string') continue
    for (const path of text.split(',')) follow(path.replace(/[^\w.]/g, ''), inner)
  }
}

/** Goes from one collection to the next, for each name of a relation in the path. */
function follow (path: string, start: Place): Place {
  let place = start
  for (const name of path.split('.')) {
    const relation = place.collection.attached.relations.get(name)
    if (relation === undefined) continue
    if (place.level === maxLevels) {
      place.found.isTooDeep = true
      continue
    }
    let mentions = place.mentions.get(name)
    if (mentions === undefined) {
      place.mentions.set(name, mentions = new Map())
      place.found.count++
    }
    const { collection } = relation.findTarget(place.collection.app)
    place = { ...place, collection, mentions, level: place.level + 1 }
  }
  return place
}
