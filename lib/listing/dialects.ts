import type { Collection } from '../collection.ts'
import type { DialectParameters, Translation } from '../features/feature.ts'
import { Problem } from '../http/problems.ts'
import { badParameter } from '../request/query.ts'
import { parameterOf } from './parameters.ts'
import { joined } from './question.ts'

/** The query string of a list, read by the dialects of the collection. Each reads what the ones before it have left. */
export function translateQuery (collection: Collection, parameters: DialectParameters): Translation | Problem {
  let translation = translateEmbedding(collection, parameters)
  for (const dialect of collection.attached.dialects) {
    if (translation instanceof Problem) return translation
    const next = dialect.translate(collection, translation.rest)
    translation = next instanceof Problem ? next : { question: joined(translation.question, next.question), rest: next.rest }
  }
  return translation
}

/** Of an item, these clients can only request related items. */
export function translateEmbedding (collection: Collection, parameters: DialectParameters): Translation | Problem {
  const expand = parameterOf(collection, 'expand')
  const used = collection.attached.dialects.find(({ embedding }) => embedding !== undefined && parameters[embedding.parameter] !== undefined)?.embedding
  if (expand === undefined || used === undefined) return { question: {}, rest: parameters }
  const { [used.parameter]: value, ...rest } = parameters
  const question = expand.read(collection, used.names(value))
  return typeof question === 'string' ? badParameter(used.parameter, question) : { question, rest }
}
