import type { Collection } from '../collection.ts'
import type { DialectParameters, Translation } from '../features/feature.ts'
import { Problem } from '../http/problems.ts'
import { badParameter } from '../request/query.ts'
import { getParameter } from './parameters.ts'
import { mergeQueries } from './list-query.ts'

/** Translates the query string of a list. Each dialect reads the parameters that the previous ones left. */
export function translateQuery (collection: Collection, parameters: DialectParameters): Translation | Problem {
  let translation = translateEmbedding(collection, parameters)
  for (const dialect of collection.attached.dialects) {
    if (translation instanceof Problem) return translation
    const next = dialect.translate(collection, translation.rest)
    if (next instanceof Problem) return next
    translation = { listQuery: mergeQueries(translation.listQuery, next.listQuery), rest: next.rest }
  }
  return translation
}

/** Translates the parameter that embeds related items. It is the only one that a single item supports. */
export function translateEmbedding (collection: Collection, parameters: DialectParameters): Translation | Problem {
  const expand = getParameter(collection, 'expand')
  const dialect = collection.attached.dialects.find(({ embedding }) => {
    return embedding !== undefined && parameters[embedding.parameter] !== undefined
  })
  const embedding = dialect?.embedding
  if (expand === undefined || embedding === undefined) return { listQuery: {}, rest: parameters }
  const { [embedding.parameter]: value, ...rest } = parameters
  const listQuery = expand.read(collection, embedding.names(value))
  if (typeof listQuery === 'string') return badParameter(embedding.parameter, listQuery)
  return { listQuery, rest }
}
