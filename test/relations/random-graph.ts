import fc from 'fast-check'
import type { Condition, Edge, Filter, Graph, Inclusion, ListRequest, Node, Row, Value } from './graph.ts'
import { meets } from './graph.ts'

// Random graphs, requests and changes. There are few values, so that ties, nulls and dangling ids are frequent.

export type Draw = fc.GeneratorValue

export const draws = fc.gen()

const texts = ['', 'x', 'y', 'é', '\uffee', '😀', "'", 'a,b', '*']
const integers = [-1, 0, 1, 2]

function drawOne<Item> (draw: Draw, items: readonly Item[]): Item {
  return items[draw(fc.integer, { min: 0, max: items.length - 1 })]!
}

/** Whether something happens that does so once in so many times. */
function isDrawn (draw: Draw, times: number): boolean {
  return draw(fc.integer, { min: 0, max: times - 1 }) === 1
}

function drawSome<Item> (draw: Draw, items: readonly Item[], maxLength: number): Item[] {
  const positions = items.map((_, index) => index)
  const drawn = draw(fc.shuffledSubarray, positions, { maxLength: Math.min(maxLength, items.length) })
  return (drawn as number[]).map((index) => items[index]!)
}

function toId (idType: Node['idType'], number: number): string | number {
  return idType === 'integer' ? number : `i${number}`
}

const maxRows = 6

/** A key has the id of a row, or one that no row has. */
function drawValue (draw: Draw, node: Node, property: string): string | number {
  const edge = node.edges.find((edge) => !edge.isMany && edge.property === property)
  if (edge !== undefined || property === 'id') {
    return toId(node.types[property]!, draw(fc.integer, { min: 1, max: maxRows + 1 }))
  }
  return drawOne<string | number>(draw, node.types[property] === 'integer' ? integers : texts)
}

/** Null is stored as null, or as a missing property. */
function drawRow (draw: Draw, node: Node, id: Value): Row {
  const row: Record<string, Value> = { id }
  for (const name of Object.keys(node.types)) {
    if (name === 'id') continue
    if (!isDrawn(draw, 4)) row[name] = drawValue(draw, node, name)
    else if (node.nullable.includes(name)) row[name] = null
  }
  return row
}

/** The names of the collections begin with the prefix. */
export function drawGraph (draw: Draw, prefix: string): Graph {
  const names = Array.from({ length: draw(fc.integer, { min: 3, max: 5 }) }, (_, index) => `${prefix}${index}`)
  const idTypes = new Map(names.map((name) => [name, drawOne(draw, ['string', 'integer'] as const)]))
  const edges = new Map<string, Edge[]>(names.map((name) => [name, []]))
  const keys = new Map<string, Record<string, Node['idType']>>(names.map((name) => [name, {}]))
  for (const name of names) {
    const count = draw(fc.integer, { min: 1, max: 2 })
    for (const [index, to] of Array.from({ length: count }, () => drawOne(draw, names)).entries()) {
      const property = `k${index}`
      keys.get(name)![property] = idTypes.get(to)!
      edges.get(name)!.push({ name: `one${index}`, to, isMany: false, property, equals: 'id' })
      edges.get(to)!.push({
        name: `many_${name}_${index}`,
        to: name,
        isMany: true,
        property: 'id',
        equals: property,
        limit: draw(fc.integer, { min: 1, max: 3 }),
        ...isDrawn(draw, 3) && { order: drawOne(draw, [['-a'], ['t', '-id'], ['a', '-t']]) }
      })
    }
  }
  return new Map(names.map((name): [string, Node] => {
    const idType = idTypes.get(name)!
    const types = { id: idType, a: 'integer', t: 'string', ...keys.get(name) } as const
    const others = Object.keys(types).filter((property) => property !== 'id')
    const node: Node = {
      name,
      idType,
      types,
      nullable: drawSome(draw, others, 4),
      edges: edges.get(name)!,
      softDeletes: isDrawn(draw, 3),
      access: {
        list: !isDrawn(draw, 12),
        read: !isDrawn(draw, 12),
        hidden: others.filter(() => isDrawn(draw, 12)),
        scope: isDrawn(draw, 3) ? drawScope(draw) : undefined
      },
      rows: new Map()
    }
    const count = draw(fc.integer, { min: 0, max: maxRows })
    for (let number = 1; number <= count; number++) {
      const id = toId(idType, number)
      node.rows.set(id, drawRow(draw, node, id))
    }
    return [name, node]
  }))
}

function drawScope (draw: Draw): Condition {
  return drawOne<Condition>(draw, [
    { property: 'a', is: 'lte', value: 0 },
    { property: 'a', is: 'ne', value: 1 },
    { property: 't', is: 'eq', value: 'x' },
    { property: 't', is: 'null', value: false }
  ])
}

const operators = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'nin', 'null'] as const

function drawCondition (draw: Draw, node: Node): Condition {
  const property = drawOne(draw, Object.keys(node.types))
  const is = drawOne(draw, operators)
  if (is === 'null') return { property, is, value: draw(fc.boolean) }
  if (is !== 'in' && is !== 'nin') return { property, is, value: drawValue(draw, node, property) }
  const values = Array.from({ length: 2 }, () => drawValue(draw, node, property))
  return { property, is, value: values }
}

/** What is drawn belongs to a collection, and so many relations may still follow. */
export interface Place {
  readonly graph: Graph
  readonly node: Node
  readonly levels: number
  /** Whether a query string has to be able to express it. */
  readonly isFlat: boolean
}

function follow ({ graph, levels, isFlat }: Place, edge: Edge): Place {
  return { graph, node: graph.get(edge.to)!, levels: levels - 1, isFlat }
}

export function drawFilter (draw: Draw, place: Place, depth = 0): Filter {
  if (!place.isFlat && depth < 3 && isDrawn(draw, 2)) {
    const kind = drawOne(draw, ['all', 'any', 'not'])
    if (kind === 'not') return { not: drawFilter(draw, place, depth + 1) }
    const parts = Array.from({ length: 2 }, () => drawFilter(draw, place, depth + 1))
    return kind === 'all' ? { all: parts } : { any: parts }
  }
  const count = draw(fc.integer, { min: 1, max: depth < 2 ? 2 : 1 })
  const parts = Array.from({ length: count }, () => drawTerm(draw, place, depth))
  // A query string has each parameter once, and what begins with the same relation is about the same row.
  const unique = new Map(parts.map((part) => [getKey(part), part]))
  return { all: [...unique.values()] }
}

function getKey (filter: Filter): string {
  if ('is' in filter) return `${filter.property}.${filter.is}`
  if ('count' in filter) return `${filter.relation}.count.${filter.count.is}`
  return 'has' in filter ? `${filter.relation}.${filter.has}` : ''
}

function drawTerm (draw: Draw, place: Place, depth: number): Filter {
  const { node, levels } = place
  if (levels === 0 || node.edges.length === 0 || isDrawn(draw, 2)) return drawCondition(draw, node)
  const edge = drawOne(draw, node.edges)
  if (edge.isMany && isDrawn(draw, 3)) {
    const is = drawOne(draw, operators.slice(0, 6))
    return { relation: edge.name, count: { is, value: draw(fc.integer, { min: 0, max: 3 }) } }
  }
  const has = edge.isMany ? drawOne(draw, ['some', 'none'] as const) : 'one'
  return { relation: edge.name, has, filter: drawFilter(draw, follow(place, edge), depth + 1) }
}

function drawSort (draw: Draw, { graph, node, levels }: Place): string[] {
  const related = levels === 0 ? [] : node.edges.filter(({ isMany }) => !isMany)
  const paths = [
    ...Object.keys(node.types),
    ...related.flatMap(({ name, to }) => Object.keys(graph.get(to)!.types).map((property) => `${name}.${property}`))
  ]
  return drawSome(draw, paths, 2).map((path) => draw(fc.boolean) ? `-${path}` : path)
}

export function drawRequest (draw: Draw, place: Place, isOne = false): ListRequest {
  const { node, levels } = place
  const edges = levels === 0 || isDrawn(draw, 4) ? [] : drawSome(draw, node.edges, 2)
  const fields = isDrawn(draw, 4) ? drawSome(draw, Object.keys(node.types), 3) : []
  const sort = isOne || isDrawn(draw, 3) ? [] : drawSort(draw, place)
  return {
    ...!isOne && draw(fc.boolean) && { filter: drawFilter(draw, place) },
    ...sort.length > 0 && { sort },
    ...fields.length > 0 && { fields },
    ...!isOne && isDrawn(draw, 3) && { count: true },
    expand: edges.map((edge): Inclusion => {
      const inner = drawRequest(draw, follow(place, edge), !edge.isMany)
      const limit = edge.isMany && isDrawn(draw, 3) ? draw(fc.integer, { min: 0, max: 3 }) : undefined
      return { relation: edge.name, ...inner, ...limit !== undefined && { limit } }
    })
  }
}

/** Writes the parameters of a query string. The filter is flat. */
export function toParameters (request: ListRequest): URLSearchParams {
  const parameters = new URLSearchParams()
  const paths: string[] = []
  const visit = ({ filter, sort, fields, limit, count, expand }: ListRequest, path: string): void => {
    const prefix = path === '' ? '' : `expand.${path}`
    if (filter !== undefined) addConditions(parameters, filter, prefix)
    if (sort !== undefined) parameters.set(`${prefix}sort`, sort.join())
    if (fields !== undefined) parameters.set(`${prefix}fields`, fields.join())
    if (limit !== undefined) parameters.set(`${prefix}limit`, String(limit))
    if (count !== undefined) parameters.set(`${prefix}count`, String(count))
    for (const inclusion of expand) {
      paths.push(path + inclusion.relation)
      visit(inclusion, `${path}${inclusion.relation}.`)
    }
  }
  visit(request, '')
  if (paths.length > 0) parameters.set('expand', paths.join())
  return parameters
}

function addConditions (parameters: URLSearchParams, filter: Filter, prefix: string): void {
  const add = ({ property, is, value }: Condition): void => {
    const text = Array.isArray(value)
      ? value.map((each) => String(each).replace(/[\\,]/g, '\\$&')).join()
      : String(value)
    // `count` alone is a parameter of an included list.
    const isBare = is === 'eq' && !property.endsWith('.count')
    parameters.set(`${prefix}${property}${isBare ? '' : `.${is}`}`, text)
  }
  if ('all' in filter) for (const part of filter.all) addConditions(parameters, part, prefix)
  else if ('is' in filter) add(filter)
  else if ('count' in filter) add({ property: `${filter.relation}.count`, ...filter.count })
  else if ('has' in filter) {
    addConditions(parameters, filter.filter, `${prefix}${filter.relation}.${filter.has === 'one' ? '' : `${filter.has}.`}`)
  }
}

/** Writes the content of a QUERY, which calls from code take as well. */
export function toContent ({ filter, expand, ...rest }: ListRequest): Record<string, unknown> {
  return {
    ...rest,
    ...filter && { filter: toFilterContent(filter) },
    ...expand.length > 0 && {
      expand: Object.fromEntries(expand.map(({ relation, ...inner }) => {
        const content = toContent(inner)
        return [relation, Object.keys(content).length === 0 ? true : content]
      }))
    }
  }
}

function toFilterContent (filter: Filter): object {
  if ('all' in filter) return { all: filter.all.map(toFilterContent) }
  if ('any' in filter) return { any: filter.any.map(toFilterContent) }
  if ('not' in filter) return { not: toFilterContent(filter.not) }
  if ('is' in filter) return { [`${filter.property}.${filter.is}`]: filter.value }
  if ('count' in filter) return { [filter.relation]: { [`count.${filter.count.is}`]: filter.count.value } }
  const inner = toFilterContent(filter.filter)
  return { [filter.relation]: filter.has === 'one' ? inner : { [filter.has]: inner } }
}

/** A change of what the caller does not see. */
export interface Change {
  readonly node: Node
  readonly row: Row
  readonly kind: 'create' | 'create deleted' | 'replace' | 'remove'
}

/** Draws changes that the caller must not notice. They are not applied. */
export function drawInvisibleChanges (draw: Draw, graph: Graph): Change[] {
  const changes: Change[] = []
  for (const node of graph.values()) {
    for (const row of node.rows.values()) {
      const after = isInvisible(node, row) ? drawRow(draw, node, row['id']!) : changeHidden(draw, node, row)
      const isSame = isInvisible(node, after) === isInvisible(node, row)
      if (isInvisible(node, row) && isDrawn(draw, 4)) changes.push({ node, row, kind: 'remove' })
      else if (isSame) changes.push({ node, row: after, kind: 'replace' })
    }
    // Ids that dangled so far may get a row.
    for (let number = 1; number <= maxRows + 1; number++) {
      const row = drawRow(draw, node, toId(node.idType, number))
      if (node.rows.has(row['id']!)) continue
      if (isInvisible(node, row)) changes.push({ node, row, kind: 'create' })
      else if (node.softDeletes) changes.push({ node, row, kind: 'create deleted' })
    }
  }
  return changes
}

function isInvisible ({ access: { list, read, scope } }: Node, row: Row): boolean {
  return (!list && !read) || (scope !== undefined && !meets(row, scope))
}

function changeHidden (draw: Draw, node: Node, row: Row): Row {
  const { hidden } = node.access
  const kept = Object.entries(row).filter(([name]) => !hidden.includes(name))
  const drawn = Object.entries(drawRow(draw, node, row['id']!)).filter(([name]) => hidden.includes(name))
  return Object.fromEntries([...kept, ...drawn])
}
