import type { Grammar, ParseExpansion, RelationGrammar } from '../query/tree.ts'
import type { Collection } from './collection.ts'

// Which names of a query lead to other collections.

const grammars = new WeakMap<object, Grammar>()

/** Returns the relations of a collection as queries name them. */
export function getGrammar (collection: Collection): Grammar {
  let grammar = grammars.get(collection)
  if (grammar === undefined) grammars.set(collection, grammar = new CollectionGrammar(collection))
  return grammar
}

class CollectionGrammar implements Grammar {
  readonly #collection: Collection

  constructor (collection: Collection) {
    this.#collection = collection
  }

  get hasRelations (): boolean {
    return this.#collection.attached.relations.size > 0
  }

  get parseExpansion (): ParseExpansion | undefined {
    return this.#collection.attached.parseExpansion
  }

  follow (name: string): RelationGrammar | undefined {
    const { app, attached: { relations } } = this.#collection
    const relation = relations.get(name)
    if (relation === undefined) return undefined
    const { isMany, limit } = relation
    return { isMany, limit, target: getGrammar(relation.findTarget(app).collection) }
  }
}
