import type { JsonSchema, Shape } from '../contract.ts'

/** What a table is created from: the result of `define()`, its options, or as much of them as the table needs. */
export interface TableDefinition {
  readonly name: string
  readonly schema: JsonSchema
  readonly id?: Partial<Shape['id']>
  readonly unique?: ReadonlyArray<string | readonly string[]>
  /** Whether to create the table of the receipts. A definition with the feature `idempotency` always gets it. */
  readonly receipts?: boolean
  /** Of a definition: what its features need. */
  readonly attached?: { readonly required: ReadonlySet<string> }
  /** Set in an older version of a collection, which has no table of its own. */
  readonly versionOf?: string | undefined
}

const keys: readonly string[] = ['name', 'schema', 'id', 'unique', 'receipts']

/** The other options of define(), which may be in the same object. */
const otherOptions: ReadonlySet<string> = new Set([
  // Of the shape that a storage function gets.
  'canonical', 'lists',
  'storage', 'timestamps', 'actions', 'routes', 'access', 'list', 'put', 'etag', 'cache', 'formats', 'links', 'hooks'
])

const usage =
  'Pass what define() returned, or { name, schema }, with id and unique if the definition has them, ' +
  'and receipts: true for the feature idempotency.'

/** Returns the shape of a table. Throws a TypeError that says what to pass if the definition is invalid. */
export function toShape (definition: TableDefinition): Shape {
  checkTableDefinition(definition)
  const { name, schema, id: { property = 'id', generate = 'uuid' } = {}, unique = [] } = definition
  return {
    name,
    schema,
    id: { property, generate },
    unique: unique.map((properties) => [properties].flat())
  }
}

/** Whether responses are stored for repeated requests. */
export function needsReceipts ({ receipts, attached }: TableDefinition): boolean {
  return receipts === true || attached?.required.has('receipts') === true
}

/** Callers that do not use TypeScript can pass anything. */
function checkTableDefinition (given: unknown): void {
  if (!isObject(given)) throw new TypeError(`createTable() was given ${toText(given)}. ${usage}`)
  const { name, schema, id, unique, receipts, versionOf } = given
  if (typeof name !== 'string' || name === '') {
    const what = isObject(given.properties)
      ? 'createTable() was given a schema without a name.'
      : `The name of the table is ${toText(name)}.`
    throw new TypeError(`${what} ${usage}`)
  }
  if (versionOf !== undefined) {
    throw new TypeError(
      `This is an older version of ${String(versionOf)}, which has no table of its own. ` +
      'Pass the definition of the current version.'
    )
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
  if (receipts !== undefined && typeof receipts !== 'boolean') {
    throw new TypeError(`receipts is ${toText(receipts)} in the table of ${name}. It must be true or false.`)
  }
}

function findUnknownKey (given: Readonly<Record<string, unknown>>): string | undefined {
  // The result of define() has other keys, and a storage that is an object instead of a function.
  if (isObject(given.storage)) return undefined
  return Object.keys(given).find((key) => !keys.includes(key) && !otherOptions.has(key))
}

function isObject (value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toText (value: unknown): string {
  return typeof value === 'function' ? 'a function' : String(JSON.stringify(value))
}
