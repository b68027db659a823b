import type { ActionInfo } from '../../engine/action-info.ts'
import type { Collection } from '../../engine/collection.ts'
import { getGrammar } from '../../engine/grammar.ts'
import { toPointer } from '../../http/json-pointer.ts'
import type { Problem } from '../../http/problems.ts'
import type { Lists } from '../../query/lists.ts'
import { parseQueryObject } from '../../query/parse.ts'
import { getItemParameters } from '../../query/resolve.ts'
import type { QueryTree } from '../../query/tree.ts'
import { validationProblem } from '../../schema/failures.ts'

interface QuerySource {
  readonly collection: Collection
  readonly action: ActionInfo
  readonly lists: Lists
}

/** Parses the query of a call: an object, as calls from code and the content of QUERY have it. */
export function parseQuery ({ collection, action, lists }: QuerySource, query: object): QueryTree | Problem {
  // What is requested of one item is only what the result has of it.
  const known = [...getItemParameters(lists), 'expand']
  const unknown = action.query === 'item' ? Object.keys(query).filter((name) => !known.includes(name)) : []
  if (unknown.length === 0) return parseQueryObject(getGrammar(collection), query)
  const message = `is not a known property. Known properties: ${known.join(', ')}`
  return validationProblem(unknown.map((name) => ({ pointer: toPointer([name]), message })))
}
