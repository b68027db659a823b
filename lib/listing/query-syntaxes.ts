import type { Lists } from './lists.ts'
import type { ClientParameters, Translation } from './query-parameter.ts'
import { Problem } from '../http/problems.ts'
import { badParameter } from '../request/query.ts'
import { getParameter } from './parameters.ts'
import { mergeQueries } from './list-query.ts'

/** Translates the query string of a list. Each syntax reads the parameters that the previous ones left. */
export function translateQuery (lists: Lists, parameters: ClientParameters): Translation | Problem {
  let translation = translateEmbedding(lists, parameters)
  for (const syntax of lists.querySyntaxes) {
    if (translation instanceof Problem) return translation
    const next = syntax.translate(lists, translation.rest)
    if (next instanceof Problem) return next
    translation = { listQuery: mergeQueries(translation.listQuery, next.listQuery), rest: next.rest }
  }
  return translation
}

/** Translates the parameter that embeds related items. It is the only one that a single item supports. */
export function translateEmbedding (lists: Lists, parameters: ClientParameters): Translation | Problem {
  const expand = getParameter(lists, 'expand')
  const syntax = lists.querySyntaxes.find(({ embedding }) => {
    return embedding !== undefined && parameters[embedding.parameter] !== undefined
  })
  const embedding = syntax?.embedding
  if (expand === undefined || embedding === undefined) return { listQuery: {}, rest: parameters }
  const { [embedding.parameter]: value, ...rest } = parameters
  const names = embedding.names(value)
  const listQuery = expand.read(lists, names)
  if (typeof listQuery === 'string') return badParameter(embedding.parameter, listQuery)
  // Messages name the parameter that the client has sent.
  return { listQuery: { ...listQuery, expand: { [embedding.parameter]: names } }, rest }
}
