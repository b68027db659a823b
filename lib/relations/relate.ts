import { defineRelations } from './define-relations.ts'
import type { GivenRelations } from './relation.ts'
import type { Checked, Definitions, RelatedDefinitions, RelationsOf } from '../engine/relation-types.ts'

/**
 * Relates definitions to each other, and returns them with their relations: `GET /articles?expand=author,comments`.
 * Queries can include related items, filter by them and sort by them, over HTTP, from code and with the typed client.
 * `property` is a property of the collection itself that holds an id, and `by` is one of the other collection.
 *
 * @example
 * export const { users, articles, comments } = relate({
 *   users: define({ name: 'users', schema: User, storage }),
 *   articles: define({ name: 'articles', schema: Article, storage }),
 *   comments: define({ name: 'comments', schema: Comment, storage })
 * }, {
 *   users: { articles: { to: 'articles', by: 'authorId' } },
 *   articles: {
 *     author: { to: 'users', property: 'authorId' },
 *     comments: { to: 'comments', by: 'articleId', limit: 10 }
 *   }
 * })
 */
export function relate<const Of extends Definitions, const Relations extends RelationsOf<Of>> (
  definitions: Of,
  relations: Relations & Checked<Of, Relations>
): RelatedDefinitions<Of, Relations> {
  // The types of the relations are only known to the compiler.
  const related: Definitions = defineRelations(definitions, relations as unknown as GivenRelations)
  return related as RelatedDefinitions<Of, Relations>
}

export type {
  AddedRelations,
  Definitions,
  Expanded,
  ExpandManyOptions,
  ExpandObject,
  ExpandOneOptions,
  ExpandPath,
  Expansion,
  Graph,
  GraphOf,
  PathsOf,
  PlaceOf,
  RelatedDefinitions,
  RelatedFilter,
  RelatedPage,
  RelationsOf,
  SortKey,
  ToMany,
  ToOne
} from '../engine/relation-types.ts'
export type { ReadCallOptions, RelatedCalls, RelatedQuery } from '../engine/call-types.ts'
