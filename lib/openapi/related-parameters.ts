import type { Collection } from '../engine/collection.ts'
import { getFilterKeys } from '../query/conditions.ts'
import type { FilterKey } from '../query/conditions.ts'
import type { QueryableProperty } from '../query/queryable.ts'
import { maxLevels, maxPaths } from '../query/relation-limits.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { describeFilter, describeListParameter, isPlain } from './query-parameters.ts'
import { maxTextLength } from './query-text.ts'
import { findRelated } from './related.ts'
import type { Related } from './related.ts'
import { getOperationName } from './summary.ts'
import type { ActionInfo } from '../engine/action-info.ts'
import type { OperationName } from './summary.ts'

// The query parameters about related items.

/** Longer lists of choices make a document hard to read. A pattern describes them instead. */
const maxChoices = 50

/** How many properties of related items have a parameter. The description of the operation mentions the others. */
const maxConditions = 20

/** The operations that filter. */
const filteringOperations: ReadonlySet<OperationName> = new Set(['list', 'aggregate', 'updateMany', 'removeMany'])

/** Describes the parameters of an operation that are about related items, by name. */
export function describeRelatedParameters (
  collection: Collection,
  operation: ActionInfo
): Readonly<Record<string, JsonSchema>> {
  const related = findRelated(collection)
  if (related.length === 0) return {}
  const name = getOperationName(operation)
  const sort = name === 'list' ? describeRelatedSort(collection) : undefined
  return {
    ...sort && { sort },
    ...(name === 'list' || name === 'read') && describeExpand(collection, related),
    ...filteringOperations.has(name) && describeRelatedFilters(related)
  }
}

/** Says which conditions are possible beside those of the parameters; empty if there are no others. */
export function describeFurtherConditions (collection: Collection, operation: ActionInfo): string {
  if (!filteringOperations.has(getOperationName(operation))) return ''
  const names = Object.keys(describeRelatedFilters(findRelated(collection)))
  if (names.length === 0) return ''
  const some = names.find((name) => name.includes('.some.'))
  const none = some?.replace('.some.', '.none.')
  const instead = none === undefined ? '' : `, use none instead of some, such as ${none},`
  return ' Conditions about related items can be about any of their properties, have operators, ' +
    `such as ${names[0]}.in${instead} and follow further relations, up to ${maxLevels} levels.`
}

const optionTexts: Readonly<Record<string, (relation: string) => string>> = {
  limit: (relation) => `The maximum number of included ${relation}. 0 includes only how many there are`,
  sort: (relation) => `The order of the included ${relation}; prefix a property with - for descending order`,
  fields: (relation) => `Includes only these properties of ${relation}`,
  count: (relation) => `Whether the included ${relation} have a total, the number of all that match`
}

function describeExpand (collection: Collection, related: readonly Related[]): Record<string, JsonSchema> {
  const paths = describePaths(collection)
  const list = related.find(({ relation }) => relation.isMany)?.relation.name
  const hint = list === undefined ? '' : `. Conditions of an included list have names such as expand.${list}.id`
  const expand = { ...paths, description: String(paths.description) + hint }
  const parameters: Record<string, JsonSchema> = { expand }
  for (const each of related) {
    for (const [option, schema] of Object.entries(describeOptions(each))) {
      parameters[`expand.${each.relation.name}.${option}`] = schema
    }
  }
  return parameters
}

/** Describes what can be requested of an included list, or of one item. */
export function describeOptions ({ relation: { name, isMany, limit }, target }: Related): Record<string, JsonSchema> {
  const { lists } = target
  const options = isMany ? ['limit', 'sort', 'fields', 'count'] : ['fields']
  const related: Record<string, JsonSchema | undefined> = { sort: describeRelatedSort(target) }
  const offered = options.filter((option) => lists.parameters.has(option) || related[option] !== undefined)
  return Object.fromEntries(offered.map((option) => [option, {
    ...related[option] ?? describeListParameter(lists, option),
    ...option === 'limit' && { minimum: lists.parameters.has('count') ? 0 : 1, default: limit },
    description: optionTexts[option]!(name)
  }]))
}

/** Describes the paths of `expand`. */
export function describePaths (collection: Collection): JsonSchema {
  const names = [...collection.attached.relations.keys()]
  return {
    type: 'array',
    items: describePath(names, findPaths(collection)),
    minItems: 1,
    maxItems: maxPaths,
    description: `The related items to include: ${names.join(', ')}. ` +
      `A path includes what they refer to, up to ${maxLevels} levels`
  }
}

function describePath (names: readonly string[], paths: readonly string[] | undefined): JsonSchema {
  if (paths !== undefined) return { type: 'string', enum: paths }
  const pattern = `^(?:${names.join('|')})(?:\\.\\w+){0,${maxLevels - 1}}$`
  return { type: 'string', maxLength: maxTextLength, pattern }
}

/** Finds all paths of `expand`; undefined if there are too many to list them. */
function findPaths (collection: Collection): string[] | undefined {
  const paths: string[] = []
  const visit = (from: Collection, outer: string, level: number): void => {
    for (const { relation: { name }, target } of findRelated(from)) {
      if (paths.length > maxChoices) return
      paths.push(outer + name)
      if (level < maxLevels) visit(target, `${outer}${name}.`, level + 1)
    }
  }
  visit(collection, '', 1)
  return paths.length > maxChoices ? undefined : paths
}

/** Describes the order of a list that can be sorted by properties of one related item; undefined if it cannot. */
export function describeRelatedSort (collection: Collection): JsonSchema | undefined {
  const { lists } = collection
  const related = findRelated(collection).filter(({ relation }) => relation.canSort)
  const added = related.map(({ relation, target }) => addPrefix(relation.name, target.lists.sortable))
  const sortable = new Map([lists.sortable, ...added].flatMap((properties) => [...properties]))
  if (sortable.size === lists.sortable.size) return undefined
  if (sortable.size <= maxChoices) return describeListParameter({ ...lists, sortable }, 'sort')
  const names = related.map(({ relation }) => relation.name)
  const own = [...lists.sortable.keys()]
  const pattern = `^-?(?:${own.map(escapePattern).join('|')}|(?:${names.join('|')})\\..+)$`
  return {
    ...describeListParameter({ ...lists, sortable }, 'sort'),
    items: { type: 'string', maxLength: maxTextLength, pattern },
    description: 'Properties to sort by, each once; prefix one with - for descending order: ' +
      `${own.join(', ')}, and those of ${names.join(', ')}`
  }
}

function escapePattern (text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

type QueryableProperties = ReadonlyMap<string, QueryableProperty>

function addPrefix (prefix: string, properties: QueryableProperties): Map<string, QueryableProperty> {
  return new Map([...properties].map(([name, queryable]) => {
    const property = `${prefix}.${name}`
    return [property, { ...queryable, property }]
  }))
}

/**
 * Describes conditions about related items: for each of their properties one, without operators. With all of them, a
 * list would have more parameters than a person reads.
 */
function describeRelatedFilters (related: readonly Related[]): Record<string, JsonSchema> {
  const filtering = related.filter(({ relation }) => relation.canFilter)
  const share = Math.ceil(maxConditions / filtering.length)
  const schemas: Record<string, JsonSchema> = {}
  for (const { relation: { name, isMany, equals }, target } of filtering) {
    // Another property has the same value: that of the item itself.
    const filterable = [...target.lists.filterable].filter(([property]) => property !== equals).slice(0, share)
    const [prefix, start] = isMany ? [`${name}.some`, `with some ${name} whose `] : [name, `whose ${name}.`]
    for (const [property, key] of getFilterKeys(new Map(filterable), noParameters)) {
      if (isPlain(key)) schemas[`${prefix}.${property}`] = describeRelatedFilter(key, start)
    }
    if (!isMany) continue
    const { count, 'count.gte': atLeast } = describeCounts(name)
    Object.assign(schemas, { [`${name}.count`]: count, [`${name}.count.gte`]: atLeast })
  }
  return schemas
}

const noParameters: ReadonlySet<string> = new Set()

function describeRelatedFilter (key: FilterKey, start: string): JsonSchema {
  const { description, ...schema } = describeFilter(key)
  return { ...schema, description: String(description).replace(/^Only items whose /, `Only items ${start}`) }
}

const countTexts: Readonly<Record<string, string>> = {
  count: 'exactly',
  'count.lt': 'fewer than',
  'count.lte': 'at most',
  'count.gt': 'more than',
  'count.gte': 'at least'
}

/** Describes conditions about the number of related items. */
export function describeCounts (relation: string): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(countTexts).map(([name, text]) => [name, {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: 2_147_483_647,
    description: `Only items with ${text} this many ${relation}`
  }]))
}
