import type { JsonSchema, Referrer, RelationKey, Shape } from '../contract.ts'

/** What a table is created from: the result of `define()`, its options, or as much of them as the table needs. */
export interface TableDefinition {
  /** The name of the collection, and of the table unless the storage has the option `table`. */
  readonly name: string
  /** The schema of an item: its properties become columns. */
  readonly schema: JsonSchema
  /** The property that is the primary key, and who generates it. */
  readonly id?: Partial<Shape['id']>
  /** Properties, or sets of properties, that get a unique index. */
  readonly unique?: ReadonlyArray<string | readonly string[]>
  /** `order` and `filter` get indexes. */
  readonly list?: { readonly order?: readonly string[], readonly filter?: readonly string[] }
  /** Whether to create the table of the receipts. A definition with the feature `idempotency` always gets it. */
  readonly receipts?: boolean
  /** Of a definition: what its features need. */
  readonly attached?: {
    readonly required: ReadonlySet<string>
    readonly keys: readonly RelationKey[]
    readonly referrers: readonly Referrer[]
  }
  /** Of a definition: its storage without the layers of features. */
  readonly baseStorage?: object
  /** Of the shape that a storage function gets. */
  readonly lists?: Shape['lists']
}

const keys: readonly string[] = ['name', 'schema', 'id', 'unique', 'list', 'receipts']

/** The other options of define(), which may be in the same object. */
const otherOptions: ReadonlySet<string> = new Set([
  // Of the shape that a storage function gets.
  'canonical', 'lists',
  'storage', 'timestamps', 'actions', 'routes', 'access', 'put', 'etag', 'cache', 'formats', 'links', 'hooks'
])

const usage =
  'Pass what define() returned, or { name, schema }, with id, unique and list if the definition has them, ' +
  'and receipts: true for the feature idempotency.'

/**
 * Returns the shape of a table. `opened` is the shape that the storage of the definition was opened with. Throws a
 * TypeError that says what to pass if the definition is invalid.
 */
export function toShape (definition: TableDefinition, opened: Shape | undefined): Shape {
  checkTableDefinition(definition)
  const { name, schema, id: { property = 'id', generate = 'uuid' } = {}, unique = [], list } = definition
  const lists = opened?.lists ?? definition.lists ?? toLists(list)
  return {
    name,
    schema,
    id: { property, generate },
    unique: unique.map((properties) => [properties].flat()),
    ...lists && { lists }
  }
}

function toLists ({ order = [], filter = [] }: TableDefinition['list'] = {}): Shape['lists'] {
  return {
    order: order.map((name) => ({ property: name.replace(/^-/, ''), descending: name.startsWith('-') })),
    filter
  }
}

/** Whether responses are stored for repeated requests. */
export function needsReceipts ({ receipts, attached }: TableDefinition): boolean {
  return receipts === true || attached?.required.has('receipts') === true
}

/** Callers that do not use TypeScript can pass anything. */
function checkTableDefinition (given: unknown): void {
  if (!isObject(given)) throw new TypeError(`createTable() was given ${toText(given)}. ${usage}`)
  const { name, schema, id, unique, list, receipts } = given
  if (typeof name !== 'string' || name === '') {
    const what = isObject(given.properties)
      ? 'createTable() was given a schema without a name.'
      : `The name of the table is ${toText(name)}.`
    throw new TypeError(`${what} ${usage}`)
  }
  if (schema === undefined) throw new TypeError(`The table of ${name} needs a schema. ${usage}`)
  if (!isObject(schema) || !isObject(schema.properties)) {
    throw new TypeError(`The schema of ${name} has no properties. Use Type.Object({ ... }).`)
  }
  const unknown = findUnknownKey(given)
  if (unknown !== undefined) {
    throw new TypeError(`createTable() does not know "${unknown}" of ${name}. It knows: ${keys.join(', ')}.`)
  }
  if (id !== undefined && !isObject(id)) {
    throw new TypeError(`The id is ${toText(id)} in the table of ${name}. It must be { property, generate }.`)
  }
  if (unique !== undefined && !Array.isArray(unique)) {
    throw new TypeError(`unique is ${toText(unique)} in the table of ${name}. It must be a list.`)
  }
  if (list !== undefined && !isListOptions(list)) {
    throw new TypeError(`list is ${toText(list)} in the table of ${name}. It must be { order, filter }, two lists.`)
  }
  if (receipts !== undefined && typeof receipts !== 'boolean') {
    throw new TypeError(`receipts is ${toText(receipts)} in the table of ${name}. It must be true or false.`)
  }
}

function findUnknownKey (given: Readonly<Record<string, unknown>>): string | undefined {
  // The result of define() has other keys, and a storage that is an object instead of a function.
  if (isObject(given.storage)) return undefined
  return Object.keys(given).find((key) => !keys.includes(key) && !otherOptions.has(key))
}

function isListOptions (given: unknown): boolean {
  return isObject(given) && [given.order ?? [], given.filter ?? []].every((names) => {
    return Array.isArray(names) && names.every((name) => typeof name === 'string')
  })
}

function isObject (value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toText (value: unknown): string {
  return typeof value === 'function' ? 'a function' : String(JSON.stringify(value))
}
