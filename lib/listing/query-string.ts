import type { Collection } from '../definition.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Request } from '../request.ts'
import type { Condition } from '../storage/contract.ts'
import { condition, keyOf, operandOf, operatorNames } from './conditions.ts'
import { parameterNames, parameterOf } from './parameters.ts'
import type { Question } from './question.ts'
import { readFields } from './selection.ts'

const nothing: Question = Object.freeze({})
const counted: Question = Object.freeze({ count: true })

/** The question that a query string asks; 400 names what is not understood, and says what would be. */
export function askedInString (collection: Collection, { query, search, preferences }: Request): Question {
  if (search === '') return preferences.count === 'exact' ? counted : nothing
  const conditions: Condition[] = []
  const question: { -readonly [Part in keyof Question]: Question[Part] } = preferences.count === 'exact' ? { ...counted } : {}
  for (const [name, text] of Object.entries(query)) {
    const parameter = parameterOf(collection, name)
    const key = parameter === undefined ? keyOf(name, collection.listing.filterable) : undefined
    if (parameter === undefined && key === undefined) {
      if (preferences.handling !== 'lenient') throw unknown(collection, name)
      question.lenient = true
      continue
    }
    if (typeof text !== 'string') throw refused(name, 'given once; several values go into one list, as in status.in=draft,published')
    const part = parameter?.read(collection, parameter.ofText(text)) ?? condition(key!, operandOf(key!, text))
    if (typeof part === 'string') throw refused(name, part)
    if ('wanted' in part) throw refused(name, part.wanted)
    if ('is' in part) conditions.push(part)
    else Object.assign(question, part)
  }
  if (conditions.length === 0) return question
  return { ...question, filter: conditions.length === 1 ? conditions[0]! : { all: conditions } }
}

/** Of an item, only these members are wanted. */
export function askedFields (collection: Collection, { query: { fields } }: Request): readonly string[] | undefined {
  if (fields === undefined) return undefined
  const part = readFields(collection, String(fields).split(','))
  if (typeof part === 'string') throw refused('fields', part)
  return part.fields
}

function refused (name: string, wanted: string): Problem {
  return problem('bad-query', { detail: `${name} has to be ${wanted}.`, members: { parameter: name } })
}

function unknown (collection: Collection, name: string): Problem {
  const members = [...collection.listing.filterable.keys()]
  const filters = members.length === 0 ? '' : ` A list can be filtered by ${members.join(', ')}, each alone or followed by one of ${operatorNames.map(operator => `.${operator}`).join(', ')} that fits its type.`
  return problem('bad-query', { detail: `The query parameter ${JSON.stringify(name)} is not known. Known here: ${parameterNames(collection).join(', ')}.${filters}`, members: { parameter: name } })
}
