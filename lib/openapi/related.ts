import type { Collection } from '../engine/collection.ts'

// Collections can refer to each other in circles, over many paths. So a document describes parameters for one level of
// relations, and its schemas refer to each other.

type Relation = Collection['attached']['relations'] extends ReadonlyMap<string, infer Each> ? Each : never

/** A relation of a collection. */
export interface Related {
  readonly relation: Relation
  /** The collection that it leads to. */
  readonly target: Collection
  /** The prefix of the routes of that collection. */
  readonly prefix: string
}

export function findRelated (collection: Collection): Related[] {
  return [...collection.attached.relations.values()].map((relation) => {
    const { collection: target, path } = relation.findTarget(collection.app)
    return { relation, target, prefix: path.slice(0, -`/${target.name}`.length) }
  })
}
