import { test } from 'tap'
import type { Context, Filter, Query, Shape, Storage } from '../../lib/storage/index.ts'
import type { JsonSchema } from '../../lib/storage/contract.ts'
import { memory } from '../../lib/storage/memory.ts'
import { databases, type Available, type SqlOptions } from './databases.ts'

// Relations between existing tables, whose columns may compare in another way than the library, and between an existing
// table and a created one. What they find is compared with memory.

const context: Context = { signal: new AbortController().signal, scope: undefined }

const setup: Partial<Record<Available['name'], readonly string[]>> = {
  postgres: [
    'CREATE EXTENSION citext',
    "CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
  ]
}

interface ColumnType {
  readonly type: string
  readonly kind: 'text' | 'uuid' | 'integer'
}

const columnTypes: Readonly<Record<Available['name'], readonly ColumnType[]>> = {
  sqlite: [
    { type: 'TEXT', kind: 'text' },
    { type: 'TEXT COLLATE NOCASE', kind: 'text' },
    { type: 'TEXT COLLATE RTRIM', kind: 'text' },
    { type: 'TEXT COLLATE NOCASE', kind: 'uuid' },
    { type: 'INTEGER', kind: 'integer' }
  ],
  postgres: [
    { type: 'varchar(50)', kind: 'text' },
    { type: 'text COLLATE "C"', kind: 'text' },
    { type: 'citext', kind: 'text' },
    { type: 'text COLLATE no_case', kind: 'text' },
    { type: 'uuid', kind: 'uuid' },
    { type: 'integer', kind: 'integer' }
  ],
  mysql: [
    { type: 'VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci', kind: 'text' },
    { type: 'VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci', kind: 'text' },
    { type: 'VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin', kind: 'text' },
    { type: 'VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_swedish_ci', kind: 'text' },
    { type: 'CHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci', kind: 'uuid' },
    { type: 'INT', kind: 'integer' }
  ]
}

const schemas = {
  text: { type: 'string', maxLength: 50 },
  uuid: { type: 'string', format: 'uuid' },
  integer: { type: 'integer' }
}

const toUuid = (number: number) => `00000000-0000-4000-8000-00000000000${number}`

/** Some are equal in a column that ignores letter case or spaces at the end. */
const keys = {
  text: ['bob', 'BOB', 'bob ', 'zoe'],
  uuid: [1, 2, 3, 4].map(toUuid),
  integer: [1, 2, 3, 4]
}

function createShape (name: string, id: JsonSchema, properties: Readonly<Record<string, JsonSchema>>): Shape {
  return {
    name,
    schema: { type: 'object', properties: { id, ...properties }, required: ['id', 'label'] },
    id: { property: 'id', generate: 'client' },
    unique: []
  }
}

function query (options: Partial<Query> = {}): Query {
  return {
    filter: undefined,
    search: undefined,
    order: [{ property: 'id', descending: false }],
    after: undefined,
    before: undefined,
    limit: 100,
    properties: undefined,
    count: false,
    ...options
  }
}

/** What related conditions, orders and pages by value find. */
async function readAll (posts: Storage<object>, people: Storage<object>, values: ReadonlyArray<string | number>) {
  const isFirst: Filter = { property: 'label', is: 'eq', value: 'person 0' }
  const author = { storage: people, property: 'authorId', equals: 'id', filter: undefined }
  const written = { storage: posts, property: 'id', equals: 'authorId', filter: undefined }
  const list = async (storage: Storage<object>, options: Partial<Query>) => {
    return (await storage.list(query(options), context)).entries.map(({ id, position }) => position ?? id)
  }
  const order = [{ property: 'label', descending: true, related: author }, { property: 'id', descending: false }]
  const pages = await posts.listBy!({ property: 'authorId', values }, query({ limit: 2, count: true }), context)
  const owners = await people.listBy!({ property: 'id', values }, query(), context)
  return {
    some: await list(posts, { filter: { related: author } }),
    first: await list(posts, { filter: { related: { ...author, filter: isFirst } } }),
    none: await list(people, { filter: { not: { related: written } } }),
    two: await list(people, { filter: { related: written, count: { is: 'eq', value: 2 } } }),
    sorted: await list(posts, { order }),
    pages: pages.map(({ entries, more, total }) => [entries.map(({ id }) => id), more, total]),
    owners: owners.map(({ entries }) => entries.map(({ id }) => id))
  }
}

for (const { name, skip, open } of databases) {
  test(`${name}: rows of existing tables are related exactly`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    await database.run(...setup[name] ?? [])
    const q = name === 'mysql' ? '`' : '"'
    const text = name === 'mysql' ? 'VARCHAR(50)' : 'text'
    let count = 0
    const create = async (shape: Shape, type: string | undefined, key: string): Promise<Storage<object>> => {
      const table = `${shape.name}_${count++}`
      if (type === undefined) {
        const adapter = database.adapter({ table })
        await adapter.createTable(shape)
        return adapter<object>(shape)
      }
      const names = Object.keys(shape.schema.properties!)
      const columns = names.map((column) => {
        const columnType = column === key ? type : text
        return `${q}${column}${q} ${columnType}${column === 'id' ? ' NOT NULL PRIMARY KEY' : ''}`
      })
      await database.run(`CREATE TABLE ${table} (${columns.join(', ')}, version_text VARCHAR(40) NOT NULL)`)
      const options: SqlOptions = { table, version: { column: 'version_text', as: 'random' } }
      return database.adapter(options)<object>(shape)
    }
    for (const { type, kind } of columnTypes[name]) {
      const peopleShape = createShape('people', schemas[kind], { label: { type: 'string' } })
      const postsShape = createShape('posts', { type: 'string', maxLength: 50 }, {
        label: { type: 'string' },
        authorId: { anyOf: [schemas[kind], { type: 'null' }] }
      })
      const values = keys[kind]
      const people = values.slice(0, 3).map((id, index) => ({ id, label: `person ${index}` }))
      // The last key is dangling.
      const posts = [0, 0, 1, 2, 2, 2, 3, undefined].map((at, index) => ({
        id: `post ${index}`,
        label: 'post',
        ...at !== undefined && { authorId: values[at] }
      }))
      for (const [peopleType, postsType] of [[type, type], [type, undefined], [undefined, type]] as const) {
        const title = `people.id ${peopleType ?? 'created'}, posts.authorId ${postsType ?? 'created'}`
        const storages = {
          people: await create(peopleShape, peopleType, 'id'),
          posts: await create(postsShape, postsType, 'authorId')
        }
        const reference = { people: memory()<object>(peopleShape), posts: memory()<object>(postsShape) }
        // A column with such a key stores only one of several equal texts.
        const stored = []
        for (const person of people) {
          if ('refused' in await storages.people.insert({ ...person }, context)) continue
          stored.push(person)
          await reference.people.insert({ ...person }, context)
        }
        for (const post of posts) {
          await storages.posts.insert({ ...post }, context)
          await reference.posts.insert({ ...post }, context)
        }
        t.ok(stored.length > 0)
        t.same(
          await readAll(storages.posts, storages.people, values),
          await readAll(reference.posts, reference.people, values),
          title
        )
      }
    }
  })
}
