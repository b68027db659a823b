// A graph of related collections, and what a caller gets of it according to the rules: simple rather than fast.

export type Value = string | number | null

export type Row = Readonly<Record<string, Value>>

/** A to-one relation has the id of the other row in a property; a to-many relation is the other direction. */
export interface Edge {
  readonly name: string
  readonly to: string
  readonly isMany: boolean
  /** The property of this collection. */
  readonly property: string
  /** The property of the other collection. */
  readonly equals: string
  /** How many rows are included by default. */
  readonly limit?: number
  /** In which order they are included by default. */
  readonly order?: readonly string[]
}

export interface Condition {
  readonly property: string
  readonly is: 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'nin' | 'null'
  readonly value: Value | boolean | readonly Value[]
}

export interface Node {
  readonly name: string
  readonly idType: 'string' | 'integer'
  /** The types of all properties. */
  readonly types: Readonly<Record<string, 'string' | 'integer'>>
  /** The properties that are null if they have no value. The others are missing then. */
  readonly nullable: readonly string[]
  readonly edges: readonly Edge[]
  readonly softDeletes: boolean
  readonly access: {
    readonly list: boolean
    readonly read: boolean
    readonly hidden: readonly string[]
    readonly scope: Condition | undefined
  }
  /** Without those that are deleted. */
  readonly rows: Map<Value, Row>
}

export type Graph = ReadonlyMap<string, Node>

export type Filter =
  | Condition
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | { readonly relation: string, readonly has: 'one' | 'some' | 'none', readonly filter: Filter }
  | { readonly relation: string, readonly count: Pick<Condition, 'is' | 'value'> }

export interface Inclusion extends ListRequest {
  readonly relation: string
}

export interface ListRequest {
  readonly filter?: Filter
  readonly sort?: readonly string[]
  readonly fields?: readonly string[]
  readonly limit?: number
  readonly count?: boolean
  readonly expand: readonly Inclusion[]
}

/** The request names something that the caller does not see. */
export class Refused extends Error {}

/** An included list: the whole of it, and how much of it is on the first page. */
export interface IncludedList {
  readonly all: readonly Shown[]
  readonly limit: number
  readonly total: number | undefined
}

export interface Shown {
  readonly properties: Row
  readonly one: Readonly<Record<string, Shown | null>>
  readonly many: Readonly<Record<string, IncludedList>>
}

/** Returns all rows of a list, in order, with what they include. */
export function evaluateList (caller: Caller, name: string, request: ListRequest): Shown[] {
  const node = caller.getNode(name)
  checkRequest(caller, node, request)
  return listRows(caller, node, request).map((row) => show(caller, node, { row, request }))
}

/** Returns an item, with what it includes. */
export function evaluateItem (
  caller: Caller,
  name: string,
  { id, request }: { readonly id: Value, readonly request: ListRequest }
): Shown | undefined {
  const node = caller.getNode(name)
  checkRequest(caller, node, request)
  const row = caller.getRows(node).find((row) => row['id'] === id)
  return row && show(caller, node, { row, request })
}

/** What a caller may see. */
export class Caller {
  readonly #graph: Graph
  /** The app itself sees everything. */
  readonly isApp: boolean

  constructor (graph: Graph, isApp: boolean) {
    this.#graph = graph
    this.isApp = isApp
  }

  getNode (name: string): Node {
    return this.#graph.get(name)!
  }

  sees ({ access }: Node, property: string): boolean {
    return this.isApp || !access.hidden.includes(property)
  }

  /** The rows within the scope. */
  getRows ({ rows, access: { scope } }: Node): Row[] {
    return [...rows.values()].filter((row) => this.isApp || scope === undefined || meets(row, scope))
  }

  /** A relation exists if the caller sees its property. */
  findEdge (node: Node, name: string): { readonly edge: Edge, readonly target: Node, readonly isReadable: boolean } {
    const edge = node.edges.find((edge) => edge.name === name)
    if (edge === undefined || !this.sees(node, edge.property)) throw new Refused(name)
    const target = this.getNode(edge.to)
    const { access } = target
    const isAllowed = this.isApp || (edge.isMany ? access.list : access.read)
    return { edge, target, isReadable: isAllowed && this.sees(target, edge.equals) }
  }
}

/** Whatever a request refers to, the caller has to be able to read. */
function checkRequest (caller: Caller, node: Node, request: ListRequest): void {
  const { filter, sort = [], fields = [], expand } = request
  if (filter !== undefined) checkFilter(caller, node, filter)
  for (const key of sort) checkSort(caller, node, key.replace('-', ''))
  for (const name of fields) checkProperty(caller, node, name)
  for (const inclusion of expand) {
    const { target, isReadable } = caller.findEdge(node, inclusion.relation)
    if (isReadable) checkRequest(caller, target, inclusion)
    else if (inclusion.expand.length > 0) throw new Refused(inclusion.relation)
  }
}

function checkProperty (caller: Caller, node: Node, name: string): void {
  if (!caller.sees(node, name)) throw new Refused(name)
}

function checkSort (caller: Caller, node: Node, path: string): void {
  const [first = '', second] = path.split('.')
  if (second === undefined) return checkProperty(caller, node, first)
  checkProperty(caller, findReadable(caller, node, first).target, second)
}

function findReadable (caller: Caller, node: Node, name: string): ReturnType<Caller['findEdge']> {
  const found = caller.findEdge(node, name)
  if (!found.isReadable) throw new Refused(name)
  return found
}

function checkFilter (caller: Caller, node: Node, filter: Filter): void {
  if ('all' in filter) for (const part of filter.all) checkFilter(caller, node, part)
  else if ('any' in filter) for (const part of filter.any) checkFilter(caller, node, part)
  else if ('not' in filter) checkFilter(caller, node, filter.not)
  else if ('is' in filter) checkProperty(caller, node, filter.property)
  else {
    const { target } = findReadable(caller, node, filter.relation)
    if ('filter' in filter) checkFilter(caller, target, filter.filter)
  }
}

function matches (caller: Caller, node: Node, { row, filter }: { row: Row, filter: Filter }): boolean {
  if ('all' in filter) return filter.all.every((part) => matches(caller, node, { row, filter: part }))
  if ('any' in filter) return filter.any.some((part) => matches(caller, node, { row, filter: part }))
  if ('not' in filter) return !matches(caller, node, { row, filter: filter.not })
  if ('is' in filter) return meets(row, filter)
  const { edge, target } = caller.findEdge(node, filter.relation)
  const related = findRelated(caller, { edge, target, row })
  if ('count' in filter) return meets({ count: related.length }, { property: 'count', ...filter.count })
  const isFound = related.some((other) => matches(caller, target, { row: other, filter: filter.filter }))
  return filter.has === 'none' ? !isFound : isFound
}

/** Null is equal to nothing. */
function findRelated (
  caller: Caller,
  { edge, target, row }: { readonly edge: Edge, readonly target: Node, readonly row: Row }
): Row[] {
  const value = row[edge.property] ?? null
  return value === null ? [] : caller.getRows(target).filter((other) => other[edge.equals] === value)
}

/** A missing property counts as null. */
export function meets (row: Row, { property, is, value: given }: Condition): boolean {
  const value = row[property] ?? null
  const difference = value === null ? NaN : compare(value, given as Value)
  switch (is) {
    case 'eq': return value === given
    case 'ne': return value !== given
    case 'lt': return difference < 0
    case 'lte': return difference <= 0
    case 'gt': return difference > 0
    case 'gte': return difference >= 0
    case 'in': return (given as readonly Value[]).includes(value)
    case 'nin': return !(given as readonly Value[]).includes(value)
    case 'null': return (value === null) === given
  }
}

/** Null is greater than every value. Texts are in the order of code points. */
function compare (a: Value, b: Value): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Number(a) - Number(b)
}

/** A related row that is missing or invisible sorts as null. */
function getSortValue (caller: Caller, node: Node, { row, path }: { row: Row, path: string }): Value {
  const [first = '', second] = path.split('.')
  if (second === undefined) return row[first] ?? null
  const { edge, target } = caller.findEdge(node, first)
  return findRelated(caller, { edge, target, row })[0]?.[second] ?? null
}

function listRows (caller: Caller, node: Node, { filter, sort = [] }: ListRequest): Row[] {
  const keys = [...sort, 'id'].map((key) => ({ path: key.replace('-', ''), sign: key.startsWith('-') ? -1 : 1 }))
  const getValue = (row: Row, path: string): Value => getSortValue(caller, node, { row, path })
  return caller.getRows(node)
    .filter((row) => filter === undefined || matches(caller, node, { row, filter }))
    .sort((a, b) => keys.reduce((difference, { path, sign }) => {
      return difference || compare(getValue(a, path), getValue(b, path)) * sign
    }, 0))
}

function show (caller: Caller, node: Node, { row, request }: { row: Row, request: ListRequest }): Shown {
  const { fields, expand } = request
  const isShown = (name: string): boolean => caller.sees(node, name) && fields?.includes(name) !== false
  const one: Record<string, Shown | null> = {}
  const many: Record<string, IncludedList> = {}
  for (const inclusion of expand) {
    const { relation } = inclusion
    const { edge, target, isReadable } = caller.findEdge(node, relation)
    if (edge.isMany) {
      many[relation] = isReadable ? includeMany(caller, { edge, target, row, inclusion }) : nothing
    } else {
      const [related] = isReadable ? findRelated(caller, { edge, target, row }) : []
      one[relation] = related === undefined ? null : show(caller, target, { row: related, request: inclusion })
    }
  }
  return { properties: Object.fromEntries(Object.entries(row).filter(([name]) => isShown(name))), one, many }
}

const nothing: IncludedList = { all: [], limit: 0, total: undefined }

interface Included {
  readonly edge: Edge
  readonly target: Node
  readonly row: Row
  readonly inclusion: Inclusion
}

function includeMany (caller: Caller, { edge, target, row, inclusion }: Included): IncludedList {
  const related = findRelated(caller, { edge, target, row })
  // The order would reveal the values of hidden properties.
  const order = edge.order?.filter((key) => caller.sees(target, key.replace('-', ''))) ?? []
  const all = listRows(caller, target, { sort: order, ...inclusion })
    .filter((row) => related.includes(row))
    .map((row) => show(caller, target, { row, request: inclusion }))
  const limit = inclusion.limit ?? edge.limit ?? 10
  return { all, limit, total: inclusion.count === true || limit === 0 ? all.length : undefined }
}
