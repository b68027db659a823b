import type { Collection } from '../collection.ts'

/** The relations that a query refers to, and those of their items. */
export type Mentions = ReadonlyMap<string, Mentions>

type MutableMentions = Map<string, MutableMentions>

/** How many relations follow each other in a query. */
export const maxLevels = 3

/**
 * Finds the relations that a query may refer to, before it is parsed: the rules of the related collections decide what
 * it can refer to. `query` is an object as the content of a QUERY has it, or the parameters of a query string.
 */
export function findMentions (collection: Collection, query: unknown): Mentions {
  const mentions: MutableMentions = new Map()
  visit(query, { collection, mentions, level: 0 })
  return mentions
}

interface Place {
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
      visitText(name, part, place)
      visit(part, follow(name, place))
    }
  }
}

const namesInValues = /(?:^|\.)(?:expand|sort|embed|_embed)$/

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
    const relation = place.level === maxLevels ? undefined : place.collection.attached.relations.get(name)
    if (relation === undefined) continue
    let mentions = place.mentions.get(name)
    if (mentions === undefined) place.mentions.set(name, mentions = new Map())
    place = { collection: relation.findTarget(place.collection).collection, mentions, level: place.level + 1 }
  }
  return place
}
