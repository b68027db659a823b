import Fastify from 'fastify'
import { Type } from '@sinclair/typebox'
import type { TSchema } from '@sinclair/typebox'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import collection, { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'

// A process of its own, with a small heap: contents of 1 MiB with as many errors as possible.

const names = [...'abcdefghijklmnopqrst']
const Line = Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])))
const Tree = Type.Recursive((This) =>
  Type.Object({ ...Line.properties, left: Type.Optional(This), right: Type.Optional(This) }, { $id: 'Tree' })
)
const Choice = Type.Recursive(
  (This) => Type.Union([Line, Type.Object({ of: Type.Array(This) }), Type.Object({ of: Type.Array(This), x: Line })]),
  { $id: 'Choice' }
)
const LineOrMap = Type.Union([Line, Type.Object({ x: Type.String(), y: Type.String() })])

/** The values in an array or object of about this many bytes. */
const size = 1_000_000
const repeat = (value: string) => Array.from({ length: Math.floor(size / (value.length + 1)) }, () => value).join(',')
const members = (value: string) => {
  const length = Math.floor(size / (value.length + 10))
  return Array.from({ length }, (_, index) => `"k${index}":${value}`).join(',')
}
const tree = (levels: number): string => {
  return levels === 0 ? '{}' : `{"left":${tree(levels - 1)},"right":${tree(levels - 1)}}`
}
const choice = (levels: number): string => {
  return levels === 0 ? `{"of":[${'{},'.repeat(2000)}{}]}` : `{"of":[${choice(levels - 1)}]}`
}

/** By kind: the schema of the property, and its value as JSON. */
const kinds: Record<string, [schema: TSchema, value: string]> = {
  objects: [Type.Array(Line), `[${repeat('{}')}]`],
  'nullable objects': [Type.Union([Type.Array(Line), Type.Null()]), `[${repeat('{}')}]`],
  'objects in arrays of arrays': [Type.Array(Type.Array(Line)), `[${repeat('[{},{}]')}]`],
  'values of another type': [Type.Array(Type.Integer()), `[${repeat('""')}]`],
  'unknown properties': [Type.Object({}), `{${members('1')}}`],
  'unknown properties of an intersection': [
    Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })]),
    `{${members('1')}}`
  ],
  'a record': [Type.Record(Type.String(), Line), `{${members('{}')}}`],
  'patterns of names': [Type.Object({}, { patternProperties: { '^k': Line } }), `{${members('{}')}}`],
  'names of properties': [
    Type.Unsafe({ type: 'object', propertyNames: { enum: names }, additionalProperties: true }),
    `{${members('1')}}`
  ],
  // Each error below it has the name in its pointer.
  'a long name': [
    Type.Record(Type.String(), Type.Array(Line)),
    `{"${'~'.repeat(900_000)}":[${Array(600).fill('{}').join(',')}]}`
  ],
  unions: [Type.Array(LineOrMap), `[${repeat('{}')}]`],
  contains: [Type.Array(Type.Unknown(), { contains: Line }), `[${repeat('{}')}]`],
  'equal items': [Type.Array(Line, { uniqueItems: true }), `[${repeat('{}')}]`],
  'a tree': [Tree, tree(15)],
  'a tree of unions': [Type.Array(Choice), `[${choice(6)},${repeat('0000000').replaceAll('0000000', '0,0,0,0')}]`]
}

const answers: Record<string, string> = {}

type Method = 'POST' | 'PUT' | 'PATCH'

async function send (name: string, method: Method, url: string, payload: string, type = 'application/json') {
  const answer = await app.inject({ method, url, payload, headers: { 'content-type': type } })
  const { status, errors = [] } = answer.json()
  answers[name] = `${status} ${errors.length}`
}

let app = Fastify()

async function start (schema: TSchema): Promise<string> {
  await app.close()
  app = Fastify()
  const Item = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), value: Type.Optional(schema) })
  await app.register(collection, define({ name: 'items', schema: Item, storage: memory() })
    .with(bulk({ maximum: 10_000 }))
    .with(action('check', { input: Type.Object({ value: schema }), run () {} })))
  const { id } = (await app.inject({ method: 'POST', url: '/items', payload: {} })).json()
  return `/items/${id}`
}

/** One of how many kinds is sent. */
const every = Number(process.argv[2])
for (const [index, [kind, [schema, value]]] of Object.entries(kinds).entries()) {
  if (index % every > 0) continue
  await start(schema)
  await send(kind, 'POST', '/items', `{"value":${value}}`)
}

const [schema, value] = kinds.objects!
const url = await start(schema)
await send('PUT', 'PUT', url, `{"value":${value}}`)
await send('merge patch', 'PATCH', url, `{"value":${value}}`, 'application/merge-patch+json')
const operations = `[{"op":"add","path":"/value","value":${value}}]`
await send('JSON patch', 'PATCH', url, operations, 'application/json-patch+json')
await send('input', 'POST', `${url}/check`, `{"value":${value}}`)
await send('a bulk of one', 'POST', '/items', `[{"value":${value}}]`)
await send('a bulk of many', 'POST', '/items', `[${Array(10_000).fill('{"value":[{}]}').join(',')}]`)
await app.close()

process.send!(answers)
process.disconnect()
