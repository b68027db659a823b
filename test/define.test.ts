import { test } from 'tap'
import type { Test } from 'tap'
import { Type } from '@sinclair/typebox'
import type { TSchema } from '@sinclair/typebox'
import Type1 from 'typebox'
import Fastify from 'fastify'
import collection, { define, json } from '../lib/index.ts'
import { registry } from '../lib/app/registry.ts'
import { hal } from '../lib/formats/hal.ts'
import { xml } from '../lib/formats/xml.ts'
import type { Definition } from '../lib/index.ts'
import type { Shape, Storage, Supports } from '../lib/storage/index.ts'
import { memory } from '../lib/storage/memory.ts'
import { ada, build, created, modified, request, users } from './app.ts'

const id = Type.String({ format: 'uuid', readOnly: true })
const Thing = Type.Object({
  id,
  name: Type.String(),
  size: Type.Optional(Type.Integer()),
  at: Type.Optional(Type.String({ format: 'date-time' }))
})
const mergePatch = 'application/merge-patch+json'
const things = { name: 'things', schema: Thing, storage: memory() }

/** As from JavaScript, without type checks. */
const loose = define as unknown as (options: unknown) => unknown

function storageWithout (missing: keyof Supports) {
  return (shape: Shape): Storage<never> => {
    const storage = memory()<never>(shape)
    return { ...storage, name: 'bare', supports: { ...storage.supports, [missing]: false } }
  }
}

/** Each mistake, its error, and the part of the message that says how to fix it. */
const mistakes: Array<[string, object, string, RegExp]> = [
  ['a name with a slash', { ...things, name: 'a/b' }, 'BAD_NAME', /"a\/b" is not a path segment\. Use letters/],
  ['an empty name', { ...things, name: '' }, 'BAD_NAME', /"" is not a path segment/],
  ['a name that is a parent folder', { ...things, name: '..' }, 'BAD_NAME', /"\.\." is not/],
  ['a name that ends with a dot', { ...things, name: 'a.' }, 'BAD_NAME', /"a\." is not/],
  ['a name with a parameter', { ...things, name: ':id' }, 'BAD_NAME', /":id" is not/],
  ['no name', { schema: Thing, storage: memory() }, 'BAD_NAME', /undefined is not/],
  [
    'an option that does not exist',
    { ...things, uniques: ['name'] },
    'BAD_OPTION',
    /no option "uniques"\. Available options: name, schema/
  ],
  [
    'a part of an option that does not exist',
    { ...things, list: { limit: { max: 5 } } },
    'BAD_OPTION',
    /no option "list\.limit\.max"\. Available options: list\.limit\.default, list\.limit\.maximum/
  ],
  [
    'a part of timestamps that does not exist',
    { ...things, timestamps: { create: 'at' } },
    'BAD_OPTION',
    /no option "timestamps\.create".*timestamps\.created, timestamps\.updated/
  ],
  ['a part of id that does not exist', { ...things, id: { name: 'name' } }, 'BAD_OPTION', /no option "id\.name"/],
  ['an option of another kind', { ...things, unique: 'name' }, 'BAD_OPTION', /unique is "name"\. It must be an array/],
  [
    'an id that is text',
    { ...things, id: 'name' },
    'BAD_OPTION',
    /id is "name"\. It must be an object with property, generate/
  ],
  [
    'timestamps that are true',
    { ...things, timestamps: true },
    'BAD_OPTION',
    /timestamps is true\. It must be false or/
  ],
  [
    'required tags that are neither true nor false',
    { ...things, etag: { required: 'always' } },
    'BAD_OPTION',
    /etag\.required is "always"\. It must be true or false/
  ],
  [
    'an option of tags that does not exist',
    { ...things, etag: { onPut: 'always' } },
    'BAD_OPTION',
    /there is no option "etag\.onPut"/
  ],
  [
    'a cache policy that is a number',
    { ...things, cache: 60 },
    'BAD_OPTION',
    /cache is 60\. It must be a string or an object with list, read/
  ],
  [
    'a cache policy for another action',
    { ...things, cache: { items: 'no-cache' } },
    'BAD_OPTION',
    /no option "cache\.items"/
  ],
  ['routes that are null', { ...things, routes: null }, 'BAD_OPTION', /routes is null\. It must be an object/],
  [
    'a hook that is no function',
    { ...things, hooks: { beforeValidation: {} } },
    'BAD_OPTION',
    /hooks\.beforeValidation is \{\}\. It must be a function/
  ],
  [
    'no storage',
    { name: 'things', schema: Thing },
    'BAD_OPTION',
    /storage is missing\. Add one, such as storage: memory\(\)/
  ],
  [
    'a storage that was already created',
    {
      ...things,
      storage: memory()({ name: 'things', schema: {}, id: { property: 'id', generate: 'uuid' }, unique: [] })
    },
    'BAD_STORAGE',
    /storage: memory\(\)/
  ],
  [
    'an action that does not exist',
    { ...things, actions: ['delete'] },
    'BAD_OPTION',
    /no action "delete"\. Available actions: list, create, read, replace, update, remove/
  ],
  [
    'routes of an action that does not exist',
    { ...things, routes: { delete: {} } },
    'BAD_OPTION',
    /routes names "delete"\. Use "all" or an action/
  ],
  [
    'a route option of the library',
    { ...things, routes: { read: { schema: {} } } },
    'BAD_OPTION',
    /routes\.read\.schema is set by the library itself\. Remove it/
  ],
  [
    'a page of nothing',
    { ...things, list: { limit: { default: 0 } } },
    'BAD_OPTION',
    /list\.limit is \{ default: 0, maximum: 100 \}\. Both must be integers/
  ],
  [
    'a page larger than the maximum',
    { ...things, list: { limit: { default: 50, maximum: 10 } } },
    'BAD_OPTION',
    /1 <= default <= maximum/
  ],
  ['a page of half an item', { ...things, list: { limit: { maximum: 20.5 } } }, 'BAD_OPTION', /integers/],
  ['a default page that is no number', { ...things, list: { limit: { default: '5' } } }, 'BAD_OPTION', /integers/],
  [
    'PUT that creates what the storage names',
    { ...things, id: { generate: 'storage' }, put: { create: true } },
    'BAD_OPTION',
    /Remove one of them/
  ],
  ['no formats', { ...things, formats: [] }, 'BAD_OPTION', /at least one format/],
  [
    'two formats of one name',
    { ...things, formats: [json, { ...hal, name: 'json' }] },
    'BAD_OPTION',
    /no two with the same name or media type/
  ],
  [
    'two formats of one media type',
    { ...things, formats: [json, { ...hal, mediaType: 'application/json' }] },
    'BAD_OPTION',
    /no two with the same name or media type/
  ],
  [
    'an order by a writeOnly property',
    { ...things, schema: Type.Object({ id, pin: Type.String({ writeOnly: true }) }), list: { order: ['pin'] } },
    'BAD_OPTION',
    /"pin", which is writeOnly.*Remove it from order/
  ],
  [
    'an order by objects',
    { ...things, schema: Type.Object({ id, o: Type.Object({}) }), list: { order: ['o'] } },
    'BAD_OPTION',
    /"o", whose values cannot be ordered/
  ],
  [
    'an order by nullable lists',
    {
      ...things,
      schema: Type.Object({ id, o: Type.Union([Type.Null(), Type.Array(Type.String())]) }),
      list: { order: ['-o'] }
    },
    'BAD_OPTION',
    /"o", whose values cannot be ordered/
  ],
  [
    'an order by a property behind a reference to the root',
    {
      ...things,
      schema: {
        type: 'object',
        required: ['id'],
        $defs: { Rank: { type: 'integer' } },
        properties: { id, rank: { $ref: '#/$defs/Rank' } }
      },
      list: { order: ['rank'] }
    },
    'BAD_SCHEMA',
    /cannot be compiled\. .*#\/\$defs\/Rank/
  ],
  [
    'unique of a property with a dot in its name',
    { ...things, schema: Type.Object({ id, 'a.b': Type.String() }), unique: ['a.b'] },
    'BAD_OPTION',
    /unique names "a\.b".*Use a name without a dot/
  ],
  [
    'order by a property with a dot in its name',
    { ...things, schema: Type.Object({ id, 'a.b': Type.String() }), list: { order: ['-a.b'] } },
    'BAD_OPTION',
    /order names "a\.b"/
  ],
  [
    'an id with a dot in its name',
    { ...things, schema: Type.Object({ 'a.b': Type.String() }), id: { property: 'a.b', generate: 'client' } },
    'BAD_ID',
    /"a\.b" contains a dot.*Rename it/
  ],
  [
    'a schema that is no object',
    { ...things, schema: Type.String() },
    'BAD_SCHEMA',
    /the schema does not describe an object\. Use Type\.Object/
  ],
  ['no schema', { name: 'things', storage: memory() }, 'BAD_SCHEMA', /Use Type\.Object/],
  [
    'an intersection',
    { ...things, schema: Type.Intersect([Thing, Type.Object({})]) },
    'BAD_SCHEMA',
    /Use Type\.Object/
  ],
  [
    'a type without a JSON form',
    { ...things, schema: Type.Object({ id, at: Type.Date() }) },
    'BAD_SCHEMA',
    /cannot be compiled\. .*as strings with a format/
  ],
  [
    'an invalid pattern',
    { ...things, schema: Type.Object({ id: Type.String({ pattern: '[' }) }) },
    'BAD_SCHEMA',
    /cannot be compiled/
  ],
  [
    'a reference to nothing',
    { ...things, schema: Type.Object({ id, other: Type.Ref('Other') }) },
    'BAD_SCHEMA',
    /cannot be compiled\. .*Other/
  ],
  [
    'a format that is not known',
    { ...things, schema: Type.Object({ id, phone: Type.String({ format: 'phone' }) }) },
    'BAD_SCHEMA',
    /format "phone" is unknown.*Use a format of ajv-formats, or a pattern/
  ],
  [
    'a format that is not known, in an array in a record',
    {
      ...things,
      schema: Type.Object({ id, o: Type.Record(Type.String(), Type.Array(Type.String({ format: 'phone' }))) })
    },
    'BAD_SCHEMA',
    /format "phone"/
  ],
  [
    'an invalid default',
    { ...things, schema: Type.Object({ id, n: Type.Integer({ default: '1' }) }) },
    'BAD_SCHEMA',
    /default "1" is invalid.*Change one of them/
  ],
  [
    'an invalid nested default',
    { ...things, schema: Type.Object({ id, o: Type.Object({ n: Type.Integer() }, { default: {} }) }) },
    'BAD_SCHEMA',
    /default \{\} is invalid/
  ],
  [
    'a timestamp that is no date-time',
    { ...things, timestamps: { created: 'name' } },
    'BAD_SCHEMA',
    /"name" is a timestamp\. Make it Type\.String\(\{ format: 'date-time' \}\)/
  ],
  [
    'no id',
    { ...things, schema: Type.Object({ name: Type.String() }) },
    'BAD_ID',
    /no property "id"\. Add id: Type\.String/
  ],
  [
    'an id by another name',
    { ...things, id: { property: 'slug', generate: 'client' } },
    'BAD_ID',
    /no property "slug"/
  ],
  [
    'an optional id',
    { ...things, id: { property: 'size', generate: 'client' } },
    'BAD_ID',
    /"size" is optional.*Remove Type\.Optional/
  ],
  [
    'an unknown generator of ids',
    { ...things, id: { generate: 'server' } },
    'BAD_ID',
    /id\.generate is "server"\. Use "uuid", "client", "storage" or a function/
  ],
  [
    'a UUID for an integer',
    { ...things, schema: Type.Object({ id: Type.Integer() }) },
    'BAD_ID',
    /is invalid for the schema of "id"\. Use Type\.String\(\{ format: 'uuid' \}\)/
  ],
  [
    'a function with invalid ids',
    { ...things, id: { generate: () => 'x' } },
    'BAD_ID',
    /an id such as "x" is invalid/
  ],
  [
    'a function whose ids cannot be part of a URI',
    { ...things, schema: Type.Object({ id: Type.String() }), id: { generate: () => '..' } },
    'BAD_ID',
    /an id such as "\.\."/
  ],
  [
    'unique of what is no property',
    { ...things, unique: ['email'] },
    'UNKNOWN_PROPERTY',
    /unique names "email", which is not in the schema.*Available properties: id, name, size, at/
  ],
  [
    'unique of a set with what is no property',
    { ...things, unique: [['name', 'email']] },
    'UNKNOWN_PROPERTY',
    /unique names "email"/
  ],
  [
    'order by what is no property',
    { ...things, list: { order: ['-email'] } },
    'UNKNOWN_PROPERTY',
    /order names "email"/
  ],
  [
    'a timestamp in what is no property',
    { ...things, timestamps: { updated: 'changed' } },
    'UNKNOWN_PROPERTY',
    /timestamps names "changed"/
  ],
  [
    'a property that nothing fills',
    { ...things, schema: Type.Object({ id, owner: Type.String({ readOnly: true }) }) },
    'UNFILLED_PROPERTY',
    /"owner" is required and readOnly.*Give it a default, name it in timestamps, set it in hooks\.beforeValidation, or make it optional/
  ],
  [
    'a nested property that nothing fills',
    { ...things, schema: Type.Object({ id, o: Type.Array(Type.Object({ id: Type.String({ readOnly: true }) })) }) },
    'UNFILLED_PROPERTY',
    /"o\.id" is required/
  ],
  [
    'an id of the client that no client can give',
    { ...things, schema: Type.Object({ id: Type.String({ readOnly: true }) }), id: { generate: 'client' } },
    'UNFILLED_PROPERTY',
    /"id" is required/
  ],
  [
    'timestamps that are switched off',
    {
      ...things,
      timestamps: false,
      schema: Type.Object({ id, createdAt: Type.String({ format: 'date-time', readOnly: true }) })
    },
    'UNFILLED_PROPERTY',
    /"createdAt"/
  ],
  [
    'unique in a storage without',
    { ...things, storage: storageWithout('unique'), unique: ['name'] },
    'UNSUPPORTED',
    /unique needs unique values, which the storage bare does not support\. Remove it, or use/
  ],
  [
    'order in a storage without',
    { ...things, storage: storageWithout('order'), list: { order: ['name'] } },
    'UNSUPPORTED',
    /an order by other properties than the id/
  ],
  [
    'ids by a storage that generates none',
    { ...things, storage: storageWithout('generatedIds'), id: { generate: 'storage' } },
    'UNSUPPORTED',
    /ids from the storage/
  ]
]

test('an invalid definition fails at boot with an error that states the fix', async (t) => {
  for (const [what, options, code, message] of mistakes) {
    t.throws(() => loose(options), { code: `FST_COLLECTION_${code}`, message }, what)
  }
})

test('valid combinations of options are accepted', async (t) => {
  const stamp = Type.String({ format: 'date-time', readOnly: true })
  const right: Array<[string, object]> = [
    [
      'every option',
      {
        ...things,
        id: { property: 'id', generate: 'uuid' },
        unique: ['name', ['name', 'size']],
        timestamps: { created: 'at', updated: 'at' },
        actions: ['list'],
        routes: { all: { config: {} }, read: {} },
        list: { limit: { default: 1, maximum: 1 }, order: ['-size', 'name'] },
        put: { create: true },
        etag: { required: true },
        cache: { list: 'no-store', read: 'no-cache' },
        formats: [json, hal, xml],
        links: () => ({}),
        hooks: { beforeValidation: ({ item }: { item: object }) => item, afterCommit: () => {} }
      }
    ],
    ['a cache policy for all reads', { ...things, cache: 'no-cache' }],
    [
      'options that are undefined',
      {
        ...things,
        unique: undefined,
        hooks: undefined,
        list: { limit: undefined },
        id: undefined,
        timestamps: undefined
      }
    ],
    [
      'the id alone as the order of a storage without',
      { ...things, storage: storageWithout('order'), list: { order: ['-id'] } }
    ],
    [
      'a readOnly property with a default',
      { ...things, schema: Type.Object({ id, views: Type.Integer({ readOnly: true, default: 0 }) }) }
    ],
    [
      'a readOnly property that is optional',
      { ...things, schema: Type.Object({ id, views: Type.Optional(Type.Integer({ readOnly: true })) }) }
    ],
    [
      'a readOnly property that prepare fills',
      {
        ...things,
        schema: Type.Object({ id, owner: Type.String({ readOnly: true }) }),
        hooks: { beforeValidation: ({ item }: { item: object }) => ({ ...item, owner: 'x' }) }
      }
    ],
    [
      'readOnly properties within a readOnly one',
      { ...things, schema: Type.Object({ id, o: Type.Optional(Type.Object({ x: stamp }, { readOnly: true })) }) }
    ],
    ['timestamps by convention', { ...things, schema: Type.Object({ id, createdAt: stamp, updatedAt: stamp }) }],
    [
      'a recursive schema',
      {
        ...things,
        schema: Type.Recursive((This) => Type.Object({ id, children: Type.Array(This), up: Type.Optional(This) })),
        timestamps: false,
        hooks: { beforeValidation: ({ item }: { item: object }) => item }
      }
    ],
    [
      'a default in a recursive schema',
      {
        ...things,
        schema: Type.Object({
          id,
          tree: Type.Recursive((This) => Type.Object({ children: Type.Array(This, { default: [] }) }), { default: {} })
        })
      }
    ],
    [
      'typebox 1',
      {
        ...things,
        schema: Type1.Object({ id: Type1.String({ format: 'uuid' }), name: Type1.Optional(Type1.String()) })
      }
    ],
    [
      'a schema of plain JSON',
      { ...things, schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } }
    ],
    [
      'an order by a nullable property',
      {
        ...things,
        schema: Type.Object({ id, n: Type.Union([Type.Null(), Type.Integer()]), u: Type.Unknown() }),
        list: { order: ['n', 'u'] }
      }
    ]
  ]
  for (const [what, options] of right) t.doesNotThrow(() => loose(options), what)
})

const ids = Array.from({ length: 101 }, (_, index) => `00000000-0000-4000-8000-000000000${100 + index}`)

/** How an app responds where groups of options decide. */
async function observe (t: Test, options: object): Promise<Record<string, unknown>> {
  const items = ids.map((id) => ({ id, name: 'a' })).reverse()
  const app = await build(t, loose({ ...things, ...options, storage: memory({ items }) }) as Definition)
  const at = `/things/${ids[0]}`
  const list = (query: string) => request(app, `GET /things${query}`, { fields: { accept: 'application/json' } })
  const getType = async (accept: string) => (await request(app, `GET ${at}`, { fields: { accept } })).headers['content-type']
  const getTag = async (at: string) => String((await request(app, `GET ${at}`)).headers.etag)
  const patch = async (fields: Record<string, string>) => {
    return (await request(app, `PATCH ${at}`, { content: { size: 1 }, type: mergePatch, fields })).statusCode
  }
  const put = async (content: object) => {
    const { statusCode, headers } = await request(app, `PUT ${at}`, { content, fields: { 'if-match': await getTag(at) } })
    return `${statusCode} ${headers.etag === undefined ? 'without' : 'with'} ETag`
  }
  const missing = '/things/00000000-0000-4000-8000-000000000000'
  return {
    length: (await list('')).json().length,
    first: (await list('')).json()[0].id,
    limits: await Promise.all([50, 51, 100, 101].map(async (limit) => (await list(`?limit=${limit}`)).statusCode)),
    types: [await getType('*/*'), await getType('application/xml')],
    withoutTag: await patch({}),
    withWeakTag: await patch({ 'if-match': `W/${await getTag(at)}` }),
    exactPut: await put({ id: ids[0], name: 'b' }),
    otherPut: await put({ name: 'c' }),
    putOfMissing: (await request(app, `PUT ${missing}`, { content: { name: 'd' }, fields: { 'if-none-match': '*' } })).statusCode
  }
}

const defaults = {
  length: 20,
  first: ids[0],
  limits: [200, 200, 200, 400],
  types: ['application/json', 'application/problem+json'],
  withoutTag: 200,
  withWeakTag: 200,
  exactPut: '200 with ETag',
  otherPut: '200 without ETag',
  putOfMissing: 404
}

test('the definition is frozen and has defaults', async (t) => {
  const definition = define(things)
  t.ok(Object.isFrozen(definition))
  t.throws(() => {
    ;(definition as { name: string }).name = 'others'
  }, TypeError)
  t.match(definition, { name: 'things', id: { property: 'id', generate: 'uuid' } })
  t.strictSame([...definition.actions], ['list', 'create', 'read', 'replace', 'update', 'remove'])
  t.strictSame(await observe(t, {}), defaults)
  const app = await build(t, define({ ...things, storage: memory(), formats: [json, hal] }))
  const { at, item } = await created(app, '/things', { name: 'a' })
  t.strictSame(Object.keys(item).sort(), ['id', 'name'], 'no timestamps')
  const read = await request(app, `GET ${at}`, { fields: { accept: 'application/hal+json' } })
  t.strictSame(Object.keys(read.json()._links).sort(), ['collection', 'self'], 'no further links')
})

test('options replace all of these defaults', async (t) => {
  const options = {
    list: { limit: { default: 10, maximum: 50 }, order: ['-id'] },
    put: { create: true },
    etag: { required: true },
    formats: [xml, json]
  }
  t.strictSame(await observe(t, options), {
    length: 10,
    first: ids.at(-1),
    limits: [200, 400, 400, 400],
    types: ['application/xml', 'application/xml'],
    withoutTag: 428,
    withWeakTag: 200,
    exactPut: '200 without ETag',
    otherPut: '200 without ETag',
    putOfMissing: 201
  })
})

test('an option of a group that is undefined has its default', async (t) => {
  const options = {
    list: { limit: { default: undefined, maximum: 50 } },
    put: { create: undefined },
    etag: { required: undefined }
  }
  t.strictSame(await observe(t, options), { ...defaults, limits: [200, 400, 400, 400] })
})

test('properties can have the names of Object.prototype methods', async (t) => {
  const names = ['constructor', 'toString', 'hasOwnProperty', 'valueOf']
  const { schema } = define({
    ...things,
    schema: Type.Object({ id, ...Object.fromEntries(names.map((name) => [name, Type.Optional(Type.String())])) })
  })
  for (const name of names) t.strictSame(Object.keys(schema.properties?.[name] ?? {}), ['type'], name)
})

test('define does not modify the given schema', async (t) => {
  const schema = Type.Object({ id: Type.String({ format: 'uuid' }), at: Type.String({ format: 'date-time' }) })
  const text = JSON.stringify(schema)
  const definition = define({ name: 'things', schema, storage: memory(), timestamps: { created: 'at' } })
  t.equal(JSON.stringify(schema), text)
  t.match(definition.schema.properties, { id: { readOnly: true }, at: { readOnly: true } })
})

test('the list order ends with the id', async (t) => {
  const order = async (...properties: Array<'id' | '-id' | 'name' | '-name' | 'size'>) => {
    const orders: string[][] = []
    const storage = modified(({ list }) => ({
      list (query, context) {
        orders.push((query.order ?? []).map(({ property, descending }) => (descending ? '-' : '') + property))
        return list(query, context)
      }
    }))
    await request(await build(t, define({ ...things, storage, list: { order: properties } })), 'GET /things')
    return orders
  }
  t.strictSame(await order(), [['id']])
  t.strictSame(await order('-name', 'size'), [['-name', 'size', 'id']])
  t.strictSame(await order('-id'), [['-id']])
  t.strictSame(await order('name', '-id', 'size'), [['name', '-id']], 'the id is unique, so later keys are dropped')
})

test('the storage receives the shape of the collection', async (t) => {
  const shapes: Shape[] = []
  define({
    name: 'things',
    schema: Thing,
    unique: ['name', ['name', 'size']],
    id: { generate: () => '0190a000-0000-7000-8000-000000000000' },
    storage: (shape) => {
      shapes.push(shape)
      return memory()(shape)
    }
  })
  t.match(shapes, [
    {
      name: 'things',
      id: { property: 'id', generate: Function },
      unique: [['name'], ['name', 'size']],
      schema: { type: 'object', properties: { id: { readOnly: true } } }
    }
  ])
})

test('timestamps are found by convention, set by option, or turned off', async (t) => {
  const stamp = Type.String({ format: 'date-time', readOnly: true })
  const old = '2000-01-01T00:00:00.000Z'
  /** The properties that the library sets when an item is created, and those that it sets when an item changes. */
  const getTimestamps = async (properties: Record<string, TSchema>, timestamps?: unknown) => {
    const names = Object.keys(properties)
    const stored = { id: ids[0]!, ...Object.fromEntries(names.map((name) => [name, old])) }
    const definition = loose({
      name: 'things',
      schema: Type.Object({ id, name: Type.Optional(Type.String()), ...properties }),
      storage: memory({ items: [stored] }),
      timestamps,
      // The other properties that are required and readOnly.
      hooks: { beforeValidation: ({ item }: { item: object }) => ({ ...stored, ...item }) }
    })
    const app = await build(t, definition as Definition)
    const writable = names.filter((name) => properties[name]!.readOnly !== true)
    const { item } = await created(app, '/things', Object.fromEntries(writable.map((name) => [name, old])))
    const update = await request(app, `PATCH /things/${stored.id}`, { content: { name: 'b' }, type: mergePatch })
    t.equal(update.statusCode, 200)
    return [item, update.json()].map((item) => names.filter((name) => item[name] !== old))
  }
  const none = [[], []]
  t.strictSame(await getTimestamps({ createdAt: stamp, updatedAt: stamp }), [['createdAt', 'updatedAt'], ['updatedAt']])
  t.strictSame(await getTimestamps({ updatedAt: stamp }), [['updatedAt'], ['updatedAt']])
  t.strictSame(
    await getTimestamps({ createdAt: Type.String({ format: 'date-time' }), updatedAt: Type.String({ readOnly: true }) }),
    none,
    'only readOnly date-times'
  )
  t.strictSame(await getTimestamps({ createdAt: stamp, updatedAt: stamp }, false), none)
  t.strictSame(await getTimestamps({ createdAt: stamp, at: stamp }, { updated: 'at' }), [['at'], ['at']])
})

test('register accepts only what define returned', async (t) => {
  for (const given of [undefined, {}, things, { prefix: '/v1' }, { storage: things.storage }]) {
    const app = Fastify()
    t.after(() => app.close())
    const register = app.register as (plugin: unknown, options: unknown) => PromiseLike<unknown>
    await t.rejects(
      async () => {
        await register.call(app, collection, given)
      },
      {
        code: 'FST_COLLECTION_NO_DEFINITION',
        message: /needs what define\(\) returns.*or \{ \.\.\.definition, prefix \}/
      }
    )
  }
})

test('one definition can be registered under two prefixes with one storage', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const definition = users()
  await app.register(registry)
  await app.register(collection, { ...definition, prefix: '/v1' })
  await app.register(
    async (nested) => {
      await nested.register(collection, definition)
    },
    { prefix: '/v2' }
  )
  const { at, item } = await created(app, '/v1/users', ada)
  t.match(at, /^\/v1\/users\//)
  const other = await request(app, `GET /v2/users/${item.id}`)
  t.strictSame(other.json(), item)
  t.strictSame(
    app.collections.map(({ path }) => path),
    ['/v1/users', '/v2/users']
  )
})

test('registering two collections on one path fails', async (t) => {
  const duplicate = {
    code: 'FST_COLLECTION_DUPLICATE_PATH',
    message:
      /^Collection users: another route already serves GET \/users\..* Register it only once, or use another prefix or constraints/
  }
  const app = await build(t, users())
  await t.rejects(async () => {
    await app.register(collection, users())
  }, duplicate)

  const own = Fastify()
  t.after(() => own.close())
  own.get('/v1/users', async () => 'own')
  await t.rejects(
    async () => {
      await own.register(collection, { ...users(), prefix: '/v1' })
    },
    { ...duplicate, message: /GET \/v1\/users/ }
  )
})

test('route constraints separate versions on one path', async (t) => {
  const withVersion = (version: string) => users({ routes: { all: { constraints: { version } } } })
  const app = await build(t, [withVersion('1.0.0'), withVersion('2.0.0')])
  const answer = await request(app, 'POST /users', { content: ada, fields: { 'accept-version': '1.x' } })
  t.equal(answer.statusCode, 201)
  t.strictSame((await request(app, 'GET /users', { fields: { 'accept-version': '1.x' } })).json().length, 1)
  t.strictSame((await request(app, 'GET /users', { fields: { 'accept-version': '2.x' } })).json().length, 0)
})

test('other errors of Fastify routes are passed on unchanged', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await t.rejects(
    async () => {
      await app.register(collection, users({ routes: { read: { bodyLimit: -1 } } }))
    },
    { code: 'FST_ERR_ROUTE_BODY_LIMIT_OPTION_NOT_INT' }
  )
})
