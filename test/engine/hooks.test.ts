import { test } from 'tap'
import { Type } from '@sinclair/typebox'
import { setTimeout as wait } from 'node:timers/promises'
import { json, problem } from '../../lib/index.ts'
import { hal } from '../../lib/formats/hal.ts'
import type { Change, CommittedChange, Definition, Options } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { ada, build, created, logged, modified, request, users } from '../app.ts'
import { define } from '../define.ts'

const id = Type.String({ format: 'uuid', readOnly: true })
const missingId = '0190a000-0000-7000-8000-000000000000'
const merge = 'application/merge-patch+json'
const operations = 'application/json-patch+json'

/** A collection with these properties, and the options that most tests need. */
function things (properties: Parameters<typeof Type.Object>[0], options: object = {}): Definition {
  // The options are typed as loosely as the schema.
  const loose = {
    name: 'things',
    schema: Type.Object({ id, ...properties }),
    storage: memory(),
    ...options
  } as unknown as Options<ReturnType<typeof Type.Object>>
  return define(loose)
}

interface Failed {
  readonly status: number
  readonly errors: ReadonlyArray<{ pointer: string; message: string }>
}

const pointers = (answer: { json(): unknown }): string[] =>
  (answer.json() as Failed).errors.map(({ pointer }) => pointer)

test('defaults are set on POST and PUT at any depth, and never on PATCH', async (t) => {
  const app = await build(
    t,
    things({
      role: Type.Optional(Type.String({ default: 'reader' })),
      views: Type.Integer({ default: 0, readOnly: true }),
      profile: Type.Object({ theme: Type.Optional(Type.String({ default: 'light' })) }, { default: {} }),
      lines: Type.Optional(Type.Array(Type.Object({ count: Type.Optional(Type.Integer({ default: 1 })) })))
    })
  )
  const { at, item } = await created(app, '/things', { lines: [{}, { count: 2 }] })
  t.strictSame(
    { ...item, id: 0 },
    { id: 0, role: 'reader', views: 0, profile: { theme: 'light' }, lines: [{ count: 1 }, { count: 2 }] }
  )

  const patched = await request(app, `PATCH ${at}`, {
    content: { role: null, lines: [{}], profile: { theme: null } },
    type: merge
  })
  t.equal(patched.statusCode, 200)
  t.strictSame(
    { ...patched.json(), id: 0 },
    { id: 0, views: 0, profile: {}, lines: [{}] },
    'a patch can remove properties that have defaults'
  )

  const replaced = await request(app, `PUT ${at}`, { content: { lines: [{}] } })
  t.strictSame(
    { ...replaced.json(), id: 0 },
    { id: 0, role: 'reader', views: 0, profile: { theme: 'light' }, lines: [{ count: 1 }] }
  )
})

test('an unknown property returns 422 at any depth, and nothing is stored', async (t) => {
  const app = await build(
    t,
    things({
      o: Type.Object({ a: Type.Optional(Type.Array(Type.Object({}))) }),
      open: Type.Optional(Type.Object({}, { additionalProperties: true }))
    })
  )
  const refused = await request(app, 'POST /things', {
    content: { typo: 1, o: { typo: 1, a: [{ 'a/b~': 1 }] }, open: { any: { thing: 1 } } }
  })
  t.equal(refused.statusCode, 422)
  t.strictSame(pointers(refused).sort(), ['/o/a/0/a~1b~0', '/o/typo', '/typo'])
  t.strictSame((await request(app, 'GET /things')).json(), [])

  const { at, item } = await created(app, '/things', { o: {}, open: { any: { thing: 1 } } })
  for (const [method, content] of [
    ['PUT', { o: {}, typo: 1 }],
    ['PATCH', { typo: 1 }]
  ] as const) {
    const answer = await request(app, `${method} ${at}`, { content })
    t.equal(answer.statusCode, 422)
    t.strictSame(pointers(answer), ['/typo'])
  }
  t.strictSame((await request(app, `GET ${at}`)).json(), item)
})

test('readOnly properties are ignored on POST and PUT at any depth, so that GET, edit, PUT works', async (t) => {
  const app = await build(
    t,
    things(
      {
        name: Type.String(),
        seq: Type.Optional(Type.Integer({ readOnly: true })),
        o: Type.Object({ seal: Type.Optional(Type.String({ readOnly: true })), text: Type.String() }),
        lines: Type.Array(Type.Object({ key: Type.Optional(Type.String({ readOnly: true })), n: Type.Integer() }))
      },
      {
        hooks: {
          beforeValidation: ({
            action,
            item
          }: Change<{ seq: number; o: { seal: string }; lines: Array<{ key?: string; n: number }> }>) => {
            if (action !== 'create') return item
            return {
              ...item,
              seq: 7,
              o: { ...item.o, seal: 'sealed' },
              lines: item.lines.map((line) => ({ ...line, key: `k${line.n}` }))
            }
          }
        }
      }
    )
  )
  const { at, item } = await created(app, '/things', {
    id: 'mine',
    name: 'a',
    seq: 1,
    o: { seal: 'mine', text: 't' },
    lines: [{ key: 'mine', n: 1 }, { n: 2 }]
  })
  t.not(item.id, 'mine')
  t.strictSame(item, {
    id: item.id,
    name: 'a',
    seq: 7,
    o: { seal: 'sealed', text: 't' },
    lines: [
      { key: 'k1', n: 1 },
      { key: 'k2', n: 2 }
    ]
  })

  const edited = { ...item, name: 'b', lines: [{ key: 'k2', n: 20 }, { n: 3 }, { key: 'made up', n: 4 }] }
  const put = await request(app, `PUT ${at}`, { content: edited })
  t.equal(put.statusCode, 200)
  t.strictSame(put.json(), { ...item, name: 'b', lines: [{ key: 'k2', n: 20 }, { n: 3 }, { n: 4 }] })

  const without = await request(app, `PUT ${at}`, {
    content: { name: 'c', seq: 99, o: { text: 'u', seal: 'forged' }, lines: [] }
  })
  t.strictSame(without.json(), { id: item.id, name: 'c', seq: 7, o: { text: 'u', seal: 'sealed' }, lines: [] })
})

test('PUT with an id that differs from the URI returns 422, and with the same id succeeds', async (t) => {
  const app = await build(t, things({ name: Type.String() }))
  const { at, item } = await created(app, '/things', { name: 'a' })
  const contradiction = await request(app, `PUT ${at}`, { content: { id: missingId, name: 'b' } })
  t.equal(contradiction.statusCode, 422)
  t.strictSame((contradiction.json() as Failed).errors, [
    { pointer: '/id', message: `differs from the URI, which has "${item.id}"` }
  ])
  t.equal((await request(app, `PUT ${at}`, { content: { id: item.id, name: 'b' } })).statusCode, 200)
})

test('PATCH that changes a readOnly property returns 422 with its pointer; the current value is allowed', async (t) => {
  const app = await build(
    t,
    things({
      name: Type.String(),
      o: Type.Optional(
        Type.Object(
          { 'a/b': Type.Integer({ readOnly: true, default: 1 }), n: Type.Optional(Type.Integer()) },
          { default: {} }
        )
      ),
      lines: Type.Optional(
        Type.Array(Type.Object({ key: Type.Optional(Type.Integer({ readOnly: true, default: 5 })), n: Type.Integer() }))
      )
    })
  )
  const { at, item } = await created(app, '/things', { name: 'a', lines: [{ n: 1 }, { n: 2 }] })
  const refused: Array<[object, string, string[]]> = [
    [{ id: missingId }, merge, ['/id']],
    [{ id: null }, merge, ['/id']],
    [{ o: { 'a/b': 2 } }, merge, ['/o/a~1b']],
    [{ id: missingId, o: { 'a/b': 2 }, lines: [{ key: 6, n: 1 }] }, merge, ['/id', '/o/a~1b', '/lines/0/key']],
    [{ o: null }, merge, ['/o/a~1b']],
    [[{ op: 'replace', path: '/id', value: missingId }], operations, ['/id']],
    [[{ op: 'remove', path: '/o/a~1b' }], operations, ['/o/a~1b']]
  ]
  for (const [content, type, wanted] of refused) {
    const answer = await request(app, `PATCH ${at}`, { content, type })
    t.equal(answer.statusCode, 422, JSON.stringify(content))
    t.strictSame(pointers(answer).sort(), wanted.toSorted())
    t.match((answer.json() as Failed).errors[0]!.message, 'is read-only')
  }
  t.strictSame((await request(app, `GET ${at}`)).json(), item)
  for (const content of [
    { id: item.id, name: 'b' },
    { o: { 'a/b': 1, n: 2 } },
    { lines: [{ key: 5, n: 3 }, { n: 4 }] },
    { other: null }
  ]) {
    t.equal((await request(app, `PATCH ${at}`, { content })).statusCode, 200, JSON.stringify(content))
  }
  const whole = await request(app, `PATCH ${at}`, { content: 'null' })
  t.equal(whole.statusCode, 422)
  t.strictSame(pointers(whole), [''], 'a patch that leaves no object')
  t.equal((await request(app, `PATCH ${at}`)).statusCode, 400, 'a patch without content')
})

test('writeOnly properties are never sent, in any format or response', async (t) => {
  const writeOnly = () => Type.Optional(Type.String({ writeOnly: true }))
  const changes: unknown[] = []
  const app = await build(
    t,
    things(
      {
        name: Type.String(),
        s: writeOnly(),
        o: Type.Object({ s: writeOnly() }),
        keys: Type.Array(Type.Object({ n: Type.Integer(), s: writeOnly() })),
        u: Type.Union([Type.Object({ s: writeOnly() }), Type.Null()]),
        map: Type.Record(Type.String(), Type.Object({ s: writeOnly() }))
      },
      {
        hooks: {
          afterCommit: ({ after }: CommittedChange<object>) => {
            changes.push(after)
          }
        }
      }
    )
  )
  const content = {
    name: 'a',
    s: 'hidden',
    o: { s: 'hidden' },
    keys: [
      { n: 1, s: 'hidden' },
      { n: 2, s: 'hidden2' }
    ],
    u: { s: 'hidden' },
    map: { k: { s: 'hidden' } }
  }
  const answers = []
  for (const accept of ['application/json', 'application/hal+json', 'application/xml']) {
    const fields = { accept, prefer: 'return=representation' }
    const post = await request(app, 'POST /things', { content, fields })
    const at = String(post.headers.location)
    answers.push(
      post,
      await request(app, `GET ${at}`, { fields }),
      await request(app, 'GET /things', { fields }),
      await request(app, `PUT ${at}`, { content: { ...content, name: 'b' }, fields }),
      await request(app, `PATCH ${at}`, { content: { s: 'hidden too' }, fields }),
      await request(app, `PATCH ${at}`, {
        content: [{ op: 'add', path: '/o/s', value: 'hidden too' }],
        type: operations,
        fields
      }),
      await request(app, `PATCH ${at}`, { content: [{ op: 'copy', from: '/s', path: '/name' }], type: operations, fields }),
      await request(app, `PATCH ${at}`, {
        content: [{ op: 'test', path: '/s', value: 'hidden too' }],
        type: operations,
        fields
      }),
      await request(app, `PATCH ${at}`, {
        content: [{ op: 'move', from: '/keys/0/s', path: '/name' }],
        type: operations,
        fields
      }),
      await request(app, `DELETE ${at}`, { fields })
    )
  }
  for (const answer of answers) t.notOk(answer.payload.includes('hidden'), answer.payload)
  t.strictSame(
    answers.map((answer) => answer.statusCode),
    Array.from({ length: 3 }, () => [201, 200, 200, 200, 200, 200, 422, 422, 422, 200]).flat(),
    'a JSON Patch cannot refer to writeOnly properties'
  )
  t.match(changes[0], content, 'hooks receive writeOnly properties')
})

test('PUT keeps a writeOnly property that it leaves out, and sets one that it contains', async (t) => {
  const stored: Array<Record<string, unknown>> = []
  const secret = Type.String({ writeOnly: true })
  const app = await build(
    t,
    things(
      {
        name: Type.String(),
        s: secret,
        o: Type.Object({ s: secret, n: Type.Integer() }),
        keys: Type.Array(Type.Object({ n: Type.Integer(), s: secret }))
      },
      {
        hooks: {
          afterCommit: ({ after }: CommittedChange<Record<string, unknown>>) => {
            stored.push(after!)
          }
        }
      }
    )
  )
  const { at } = await created(app, '/things', {
    name: 'a',
    s: '1',
    o: { s: '2', n: 0 },
    keys: [
      { n: 1, s: '3' },
      { n: 2, s: '4' }
    ]
  })
  const { id, ...kept } = stored[0]!
  const seen = (await request(app, `GET ${at}`)).json()

  t.equal(
    (await request(app, `PUT ${at}`, { content: { ...seen, name: 'b', keys: seen.keys.toReversed() } })).statusCode,
    200
  )
  t.strictSame(stored[1], {
    ...kept,
    id,
    name: 'b',
    keys: [
      { n: 2, s: '4' },
      { n: 1, s: '3' }
    ]
  })

  await request(app, `PUT ${at}`, { content: { ...seen, s: 'new', o: { n: 5 } } })
  t.match(stored[2], { s: 'new', o: { s: '2', n: 5 } })

  const unknown = await request(app, `PUT ${at}`, { content: { ...seen, keys: [{ n: 3 }] } })
  t.equal(unknown.statusCode, 422)
  t.strictSame(pointers(unknown), ['/keys/0/s'], 'a new element of an array has no value to keep')

  const patch = [
    { op: 'replace', path: '/keys/0/n', value: 9 },
    { op: 'move', from: '/keys/1', path: '/keys/0' },
    { op: 'replace', path: '/name', value: 'c' }
  ]
  t.equal((await request(app, `PATCH ${at}`, { content: patch, type: operations })).statusCode, 200)
  t.strictSame(
    stored.at(-1),
    {
      ...stored[2],
      name: 'c',
      keys: [
        { n: 2, s: '4' },
        { n: 9, s: '3' }
      ]
    },
    'a JSON Patch keeps writeOnly properties'
  )

  await request(app, `PATCH ${at}`, { content: { o: { s: 'merged' } } })
  t.match(stored.at(-1), { o: { s: 'merged', n: 5 } })
})

test('an immutable property can be set only on create', async (t) => {
  const app = await build(
    t,
    things({
      name: Type.String(),
      tenant: Type.Optional(Type.String({ immutable: true })),
      o: Type.Optional(Type.Object({ born: Type.Optional(Type.Integer({ immutable: true })) }))
    })
  )
  const { at, item } = await created(app, '/things', { name: 'a', tenant: 'x', o: { born: 1 } })
  t.match(item, { tenant: 'x', o: { born: 1 } })
  const refused: Array<[string, object, string[]]> = [
    ['PUT', { ...item, tenant: 'y' }, ['/tenant']],
    ['PUT', { name: 'b', tenant: 'y', o: {} }, ['/tenant', '/o/born']],
    ['PUT', { name: 'b' }, ['/tenant', '/o/born']],
    ['PATCH', { tenant: 'y', o: { born: 2 } }, ['/tenant', '/o/born']],
    ['PATCH', { tenant: null }, ['/tenant']]
  ]
  for (const [method, content, wanted] of refused) {
    const answer = await request(app, `${method} ${at}`, { content })
    t.equal(answer.statusCode, 422)
    t.strictSame(pointers(answer).sort(), wanted.toSorted())
    t.equal((answer.json() as Failed).errors[0]!.message, 'cannot be changed once it is set')
  }
  t.equal((await request(app, `PUT ${at}`, { content: { ...item, name: 'b' } })).statusCode, 200)
  t.equal((await request(app, `PATCH ${at}`, { content: { tenant: 'x', name: 'c' } })).statusCode, 200)
})

test('nullable properties, unions and recursive schemas are accepted and validated', async (t) => {
  const Tree = Type.Recursive((This) =>
    Type.Object({
      name: Type.String(),
      children: Type.Array(This),
      pin: Type.Optional(Type.String({ writeOnly: true }))
    })
  )
  const app = await build(
    t,
    things({
      nick: Type.Union([Type.String(), Type.Null()]),
      shape: Type.Union([
        Type.Object({ kind: Type.Literal('circle'), radius: Type.Number() }),
        Type.Object({ kind: Type.Literal('square'), side: Type.Number() })
      ]),
      tree: Tree
    })
  )
  const tree = { name: 'a', children: [{ name: 'b', pin: '1', children: [{ name: 'c', children: [] }] }] }
  const { at, item } = await created(app, '/things', { nick: null, shape: { kind: 'square', side: 2 }, tree })
  t.match(item, {
    nick: null,
    shape: { kind: 'square', side: 2 },
    tree: { children: [{ name: 'b', children: [{ name: 'c' }] }] }
  })
  t.notOk(JSON.stringify(item).includes('pin'))
  const refused = await request(app, `PUT ${at}`, {
    content: {
      nick: 5,
      shape: { kind: 'square', side: '2', radius: 1 },
      tree: { name: 'a', children: [{ name: 1, children: [{ name: 'c', children: [], typo: 1 }] }] }
    }
  })
  t.equal(refused.statusCode, 422)
  t.strictSame(pointers(refused).sort(), [
    '/nick',
    '/shape/radius',
    '/shape/side',
    '/tree/children/0/children/0/typo',
    '/tree/children/0/name'
  ])
  const nulled = await request(app, `PATCH ${at}`, {
    content: [{ op: 'replace', path: '/nick', value: null }],
    type: operations
  })
  t.equal(nulled.statusCode, 200)
})

test('a collection with a recursive schema serves its items', async (t) => {
  const Node = Type.Recursive(
    (This) =>
      Type.Object({
        id: Type.Optional(Type.String({ readOnly: true })),
        name: Type.String(),
        next: Type.Union([This, Type.Null()])
      }),
    { $id: 'Node' }
  )
  const app = await build(t, [
    things({ node: Node }),
    things(
      {},
      {
        name: 'nodes',
        schema: Type.Recursive((This) => Type.Object({ id: Type.String(), children: Type.Array(This) })),
        id: { generate: 'client' }
      }
    )
  ])
  t.equal(
    (await request(app, 'POST /things', { content: { node: { name: 'a', next: { name: 'b', next: null } } } })).statusCode,
    201
  )
  const refused = await request(app, 'POST /nodes', {
    content: { id: 'a', children: [{ id: 'b', children: [{ id: 'c' }] }] }
  })
  t.strictSame(pointers(refused), ['/children/0/children/0/children'])
  t.equal(
    (await request(app, 'POST /nodes', { content: { id: 'a', children: [{ id: 'b', children: [] }] } })).statusCode,
    201
  )
})

test('generated ids are in order of creation, whatever the client sends', async (t) => {
  const app = await build(t, things({ n: Type.Integer() }))
  const ids: unknown[] = []
  for (let n = 0; n < 30; n++) ids.push((await created(app, '/things', { id: missingId, n })).item.id)
  t.strictSame(ids.toSorted(), ids)
  for (const each of ids) t.match(each, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  const list = (await request(app, 'GET /things?limit=100')).json() as Array<{ n: number }>
  t.strictSame(
    list.map(({ n }) => n),
    Array.from({ length: 30 }, (_, n) => n)
  )
})

test('an id set by the client is kept as it is, and an existing id returns 409 without an overwrite', async (t) => {
  const pages = define({
    name: 'pages',
    schema: Type.Object({ slug: Type.String(), title: Type.String() }),
    id: { property: 'slug', generate: 'client' },
    storage: memory()
  })
  const app = await build(t, pages)
  for (const slug of [
    'about',
    'a/b',
    'a b',
    'ünï/çödé',
    '100%',
    'x?y#z',
    '%2F',
    'é'.repeat(300),
    'a'.repeat(1000),
    'x/'.repeat(80),
    '...',
    '日本',
    '😀',
    "it's",
    '__proto__',
    'constructor'
  ]) {
    const { at, item } = await created(app, '/pages', { slug, title: 'first' })
    t.strictSame(item, { slug, title: 'first' })
    t.equal(at, `/pages/${encodeURIComponent(slug)}`)
    const duplicate = await request(app, 'POST /pages', { content: { slug, title: 'second' } })
    t.equal(duplicate.statusCode, 409)
    t.match(duplicate.json(), { code: 'not-unique', errors: [{ pointer: '/slug' }] })
    t.strictSame((await request(app, `GET ${at}`)).json(), item, slug.slice(0, 20))
    t.equal((await request(app, `PUT ${at}`, { content: { title: 'put' } })).json().title, 'put')
    t.equal((await request(app, `PATCH ${at}`, { content: { title: 'patched', slug } })).json().title, 'patched')
    const renamed = await request(app, `PATCH ${at}`, { content: { slug: 'other' } })
    t.equal(renamed.statusCode, 422)
    t.strictSame(pointers(renamed), ['/slug'])
    t.equal((await request(app, `DELETE ${at}`)).statusCode, 204)
    t.equal((await request(app, `GET ${at}`)).statusCode, 404)
  }
  const missing = await request(app, 'POST /pages', { content: { title: 'no id' } })
  t.strictSame((missing.json() as Failed).errors, [{ pointer: '/slug', message: 'is required' }])
  for (const slug of ['', '.', '..']) {
    const unreachable = await request(app, 'POST /pages', { content: { slug, title: 'x' } })
    t.equal(unreachable.statusCode, 422)
    t.strictSame((unreachable.json() as Failed).errors, [{ pointer: '/slug', message: 'cannot be part of a URI' }])
  }
  t.strictSame((await request(app, 'GET /pages')).json(), [])
})

test('a storage generates integer ids, and a function any ids', async (t) => {
  let count = 100
  const app = await build(t, [
    things({ name: Type.String(), id: Type.Integer() }, { id: { generate: 'storage' } }),
    things(
      { name: Type.String(), id: Type.Integer() },
      { name: 'prepared', id: { generate: 'storage' }, hooks: { beforeValidation: ({ item }: Change<object>) => item } }
    ),
    things(
      { name: Type.String(), id: Type.String({ pattern: '^inv-' }) },
      { name: 'invoices', id: { generate: () => `inv-${count++}` } }
    )
  ])
  for (const path of ['/things', '/prepared']) {
    const ids = [await created(app, path, { name: 'a', id: 77 }), await created(app, path, { name: 'b' })].map(
      ({ item }) => item.id
    )
    t.strictSame(ids, [1, 2])
    t.strictSame((await request(app, `PUT ${path}/2`, { content: { name: 'c' } })).json(), { id: 2, name: 'c' })
    t.strictSame((await request(app, `PUT ${path}/2`, { content: { id: 2, name: 'c' } })).statusCode, 200)
    t.strictSame(pointers(await request(app, `PUT ${path}/2`, { content: { id: '2', name: 'c' } })), ['/id'])
    for (const segment of ['02', '2.0', 'x', '3', '9007199254740993']) {
      t.equal((await request(app, `GET ${path}/${segment}`)).statusCode, 404, segment)
    }
  }
  const first = await created(app, '/invoices', { name: 'a' })
  t.match(first.at, /^\/invoices\/inv-10\d$/)
  t.equal((await request(app, `GET ${first.at}`)).statusCode, 200)
  t.not((await created(app, '/invoices', { name: 'b' })).at, first.at)
})

test('timestamps are set by convention, by option, or not at all', async (t) => {
  const stamp = Type.String({ format: 'date-time', readOnly: true })
  const forged = '2001-01-01T00:00:00.000Z'
  const app = await build(t, [
    things({ name: Type.String(), createdAt: stamp, updatedAt: stamp }),
    things(
      {
        name: Type.String(),
        since: Type.String({ format: 'date-time' }),
        changed: Type.String({ format: 'date-time' })
      },
      { name: 'named', timestamps: { created: 'since', updated: 'changed' } }
    ),
    things({ name: Type.String(), createdAt: Type.Optional(stamp) }, { name: 'none', timestamps: false })
  ])
  for (const [path, born, touched] of [
    ['/things', 'createdAt', 'updatedAt'],
    ['/named', 'since', 'changed']
  ] as const) {
    const start = Date.now()
    const { at, item } = await created(app, path, { name: 'a', [born]: forged, [touched]: forged })
    t.equal(item[born], item[touched])
    const createdAt = Date.parse(String(item[born]))
    t.ok(start <= createdAt && createdAt <= Date.now())
    await wait(5)
    const put = (await request(app, `PUT ${at}`, { content: { name: 'b', [born]: forged } })).json()
    t.equal(put[born], item[born])
    t.ok(put[touched] > String(item[touched]))
    await wait(5)
    const patched = (await request(app, `PATCH ${at}`, { content: { name: 'c' } })).json()
    t.equal(patched[born], item[born])
    t.ok(patched[touched] > put[touched])
    t.strictSame(pointers(await request(app, `PATCH ${at}`, { content: { [born]: forged, [touched]: forged } })), [
      `/${born}`,
      `/${touched}`
    ])
  }
  t.strictSame(Object.keys((await created(app, '/none', { name: 'a' })).item), ['id', 'name'])
})

test('unique properties and unique sets are enforced on POST, PUT and PATCH', async (t) => {
  const app = await build(
    t,
    things(
      { email: Type.String(), tenant: Type.String(), name: Type.String() },
      { unique: ['email', ['tenant', 'name']] }
    )
  )
  await created(app, '/things', { email: 'a', tenant: 'x', name: 'n' })
  const { at, item } = await created(app, '/things', { email: 'b', tenant: 'y', name: 'n' })
  for (const [target, content, properties] of [
    ['POST /things', { email: 'a', tenant: 'z', name: 'z' }, ['/email']],
    ['POST /things', { email: 'c', tenant: 'x', name: 'n' }, ['/tenant', '/name']],
    [`PUT ${at}`, { email: 'a', tenant: 'y', name: 'n' }, ['/email']],
    [`PATCH ${at}`, { tenant: 'x' }, ['/tenant', '/name']]
  ] as const) {
    const answer = await request(app, target, { content })
    t.equal(answer.statusCode, 409)
    t.strictSame(pointers(answer), properties)
  }
  t.strictSame((await request(app, `GET ${at}`)).json(), item)
  t.equal(
    (await request(app, `PUT ${at}`, { content: { email: 'b', tenant: 'y', name: 'm' } })).statusCode,
    200,
    'an item does not conflict with its own values'
  )
})

test('beforeValidation gets the action, the item and the previous item, and returns the item to write', async (t) => {
  const seen: Array<Change<Record<string, unknown>>> = []
  const app = await build(
    t,
    things(
      {
        title: Type.String(),
        slug: Type.String({ readOnly: true }),
        tags: Type.Array(Type.String(), { default: [] })
      },
      {
        hooks: {
          async beforeValidation (change: Change<Record<string, unknown>>) {
            seen.push({ ...change, item: structuredClone(change.item) })
            // A hook may also change its argument.
            change.item.slug = String(change.item.title).toLowerCase()
            ;(change.item.tags as string[]).push(change.action)
            return change.item
          }
        }
      }
    )
  )
  const { at, item } = await created(app, '/things', { title: 'Hello', slug: 'forged' })
  t.strictSame(item, { id: item.id, title: 'Hello', slug: 'hello', tags: ['create'] })
  t.strictSame((await request(app, `PUT ${at}`, { content: { title: 'Other' } })).json(), {
    ...item,
    title: 'Other',
    slug: 'other',
    tags: ['replace']
  })
  t.strictSame((await request(app, `PATCH ${at}`, { content: { title: 'Third' } })).json(), {
    ...item,
    title: 'Third',
    slug: 'third',
    tags: ['replace', 'update']
  })
  t.strictSame((await request(app, `PATCH ${at}`, { content: [], type: operations })).json(), {
    ...item,
    title: 'Third',
    slug: 'third',
    tags: ['replace', 'update', 'update']
  })
  t.strictSame(
    seen.slice(0, 3).map(({ action, item, before }) => [action, item, before]),
    [
      ['create', { id: item.id, title: 'Hello', tags: [] }, undefined],
      ['replace', { id: item.id, title: 'Other', slug: 'hello', tags: [] }, item],
      [
        'update',
        { id: item.id, title: 'Third', slug: 'other', tags: ['replace'] },
        { ...item, title: 'Other', slug: 'other', tags: ['replace'] }
      ]
    ]
  )
  t.ok(seen.every(({ request }) => request?.server !== undefined))
})

test('the item that beforeValidation returns is validated', async (t) => {
  const { lines, logger } = logged()
  let give: (item: Record<string, unknown>) => unknown = (item) => item
  const app = await build(
    t,
    [
      things(
        { name: Type.String(), owner: Type.Integer({ readOnly: true }) },
        { hooks: { beforeValidation: ({ item }: Change<Record<string, unknown>>) => give(item) } }
      ),
      things(
        { id: Type.String({ readOnly: true }), name: Type.String() },
        {
          name: 'slugs',
          id: { generate: 'client' },
          put: { create: true },
          hooks: { beforeValidation: ({ item }: Change<Record<string, unknown>>) => give(item) }
        }
      )
    ],
    { logger }
  )
  const unfilled = await request(app, 'POST /things', { content: { name: 'a' } })
  t.equal(unfilled.statusCode, 422)
  t.strictSame(pointers(unfilled), ['/owner'])
  give = (item) => ({ ...item, owner: 'x', typo: 1 })
  t.strictSame(pointers(await request(app, 'POST /things', { content: { name: 'a' } })).sort(), ['/owner', '/typo'])
  give = (item) => ({ ...item, owner: 1 })
  const { at } = await created(app, '/things', { name: 'a' })

  give = (item) => ({ ...item, id: String(item.name).toLowerCase() })
  t.strictSame((await created(app, '/slugs', { name: 'Hello' })).at, '/slugs/hello', 'the hook may set the id')
  t.strictSame(pointers(await request(app, 'POST /slugs', { content: { name: '..' } })), ['/id'])
  t.equal((await request(app, 'PUT /slugs/hello', { content: { name: 'Hello' } })).statusCode, 200)
  t.strictSame(lines, [])

  for (const [target, content] of [
    ['PUT /slugs/hello', { name: 'Other' }],
    ['PATCH /slugs/hello', { name: 'Other' }],
    ['PUT /slugs/new', { name: 'Other' }]
  ] as const) {
    const changed = await request(app, target, { content })
    t.equal(changed.statusCode, 500, 'an id cannot change')
    t.match(lines.pop(), { err: { message: /beforeValidation of the collection slugs changed the id/ } })
  }
  give = () => null
  t.equal((await request(app, `PATCH ${at}`, { content: { name: 'b' } })).statusCode, 500)
  t.match(lines.pop(), {
    err: { message: /beforeValidation of the collection things returned no item\. Return the item/ }
  })
  t.strictSame(lines, [])
})

test('an error thrown by beforeValidation rejects the write with its own status', async (t) => {
  let fail: (change: Change<object>) => unknown = ({ item }) => item
  const { lines, logger } = logged()
  const actions: string[] = []
  const app = await build(
    t,
    things(
      { name: Type.String() },
      {
        hooks: {
          beforeValidation: (change: Change<object>) => fail(change),
          afterCommit: ({ action }: CommittedChange<object>) => {
            actions.push(action)
          }
        }
      }
    ),
    { logger }
  )
  const { at, item } = await created(app, '/things', { name: 'a' })
  const thrown: Array<[string, (change: Change<object>) => never, number, object]> = [
    [
      '@fastify/sensible',
      ({ request }) => {
        throw request?.server.httpErrors.forbidden('Not yours.')
      },
      403,
      { code: 'forbidden', status: 403, detail: 'Not yours.' }
    ],
    [
      '@fastify/sensible, another status',
      ({ request }) => {
        throw request?.server.httpErrors.imateapot()
      },
      418,
      { status: 418 }
    ],
    [
      'a problem',
      () => {
        throw problem('conflict', { detail: 'Closed.', properties: { since: 1 } })
      },
      409,
      { code: 'conflict', detail: 'Closed.', since: 1 }
    ],
    [
      'an error with a status',
      () => {
        throw Object.assign(new Error('Pay first.'), { statusCode: 402 })
      },
      402,
      { status: 402, detail: 'Pay first.' }
    ]
  ]
  for (const [what, throws, status, content] of thrown) {
    fail = throws
    for (const [target, sent] of [
      ['POST /things', { name: 'b' }],
      [`PUT ${at}`, { name: 'b' }],
      [`PATCH ${at}`, { name: 'b' }]
    ] as const) {
      const answer = await request(app, target, { content: sent })
      t.equal(answer.statusCode, status, what)
      t.equal(answer.headers['content-type'], 'application/problem+json')
      t.match(answer.json(), content)
    }
  }
  t.strictSame(lines, [], 'client errors are not logged as failures')

  fail = () => {
    throw new Error('password=hunter2 at /srv/app.ts')
  }
  const failed = await request(app, 'POST /things', { content: { name: 'b' } })
  t.equal(failed.statusCode, 500)
  t.strictSame(failed.json(), {
    type: 'about:blank',
    title: 'Internal Server Error',
    status: 500,
    detail: 'The request failed because of an error in the server. Repeat it later, or report it.',
    instance: '/things',
    code: 'internal-error'
  })
  t.equal(lines.length, 1)
  t.match(lines[0], { err: { message: 'password=hunter2 at /srv/app.ts', stack: /hooks\.test\.ts/ } })

  t.strictSame((await request(app, 'GET /things')).json(), [item])
  t.strictSame(actions, ['create'])
})

test('afterCommit runs for every completed write, with the item before and after', async (t) => {
  const changes: Array<CommittedChange<object>> = []
  const app = await build(
    t,
    users({
      put: { create: true },
      hooks: {
        afterCommit: async (change) => {
          changes.push(change)
        }
      }
    })
  )
  const { at, item } = await created(app, '/users', { ...ada, password: 'secret' })
  await request(app, `PUT ${at}`, { content: { ...ada, name: 'Put' } })
  await request(app, `PATCH ${at}`, { content: { name: 'Patched' } })
  await request(app, `DELETE ${at}`)
  await request(app, `PUT /users/${missingId}`, { content: ada })
  t.match(
    changes.map(({ action, before, after }) => ({ action, before, after })),
    [
      { action: 'create', before: undefined, after: { ...item, password: 'secret' } },
      { action: 'replace', before: { name: 'Ada' }, after: { name: 'Put', password: 'secret' } },
      { action: 'update', before: { name: 'Put' }, after: { name: 'Patched' } },
      { action: 'remove', before: { name: 'Patched' }, after: undefined },
      { action: 'create', before: undefined, after: { id: missingId } }
    ]
  )
  t.strictSame(
    changes.map(({ request }) => request?.method),
    ['POST', 'PUT', 'PATCH', 'DELETE', 'PUT']
  )
})

test('afterCommit does not run for rejected writes or for reads', async (t) => {
  const actions: string[] = []
  const app = await build(
    t,
    users({
      hooks: {
        afterCommit: ({ action }) => {
          actions.push(action)
        }
      }
    })
  )
  const { at } = await created(app, '/users', ada)
  const refused = [
    await request(app, 'POST /users', { content: ada }),
    await request(app, 'POST /users', { content: { name: 1 } }),
    await request(app, 'POST /users', { content: '{' }),
    await request(app, `PUT ${at}`, { content: { name: 'x' } }),
    await request(app, `PUT ${at}`, { content: ada, fields: { 'if-match': '"stale"' } }),
    await request(app, `PATCH ${at}`, { content: { id: missingId } }),
    await request(app, `DELETE ${at}`, { fields: { 'if-match': '"stale"' } }),
    await request(app, `DELETE /users/${missingId}`),
    await request(app, `PUT /users/${missingId}`, { content: ada })
  ]
  t.strictSame(
    refused.map((answer) => answer.statusCode),
    [409, 422, 400, 422, 412, 422, 412, 404, 404]
  )
  await request(app, `GET ${at}`)
  await request(app, 'GET /users')
  t.strictSame(actions, ['create'])
})

test('an error thrown by afterCommit is logged and does not affect the response', async (t) => {
  const { lines, logger } = logged()
  const app = await build(
    t,
    users({
      hooks: {
        afterCommit ({ action }) {
          if (action === 'update') throw new Error('at once')
          return Promise.reject(new Error('later'))
        }
      }
    }),
    { logger }
  )
  const post = await request(app, 'POST /users', { content: ada })
  t.equal(post.statusCode, 201)
  const at = String(post.headers.location)
  t.equal((await request(app, `PATCH ${at}`, { content: { name: 'x' } })).statusCode, 200)
  t.equal((await request(app, `GET ${at}`)).json().name, 'x')
  t.equal((await request(app, `DELETE ${at}`)).statusCode, 204)
  t.match(lines, [
    { msg: 'the hook afterCommit of the collection users failed after the action create', err: { message: 'later' } },
    { msg: 'the hook afterCommit of the collection users failed after the action update', err: { message: 'at once' } },
    { msg: 'the hook afterCommit of the collection users failed after the action remove' }
  ])
  t.equal(lines.length, 3)
})

test('a storage error returns a bare 500 and does not run afterCommit', async (t) => {
  const { lines, logger } = logged()
  const actions: string[] = []
  const app = await build(
    t,
    users({
      storage: modified(() => ({
        insert: async () => {
          throw new Error('SQLITE_CORRUPT in /var/db')
        }
      })),
      hooks: {
        afterCommit: ({ action }) => {
          actions.push(action)
        }
      }
    }),
    { logger }
  )
  const answer = await request(app, 'POST /users', { content: ada })
  t.equal(answer.statusCode, 500)
  t.notMatch(answer.payload, /SQLITE|var/)
  t.equal(lines.length, 1)
  t.strictSame(actions, [])
})

test('an internal error while a patch is applied returns 500', async (t) => {
  const { lines, logger } = logged()
  const broken = Object.defineProperty({ id: missingId }, 'name', {
    enumerable: true,
    get () {
      throw new Error('broken')
    }
  })
  const app = await build(
    t,
    things(
      { name: Type.String() },
      { storage: modified(() => ({ find: async (id) => ({ id, item: broken, version: '1' }) })) }
    ),
    { logger }
  )
  const answer = await request(app, `PATCH /things/${missingId}`, {
    content: [{ op: 'test', path: '/name', value: 'x' }],
    type: operations
  })
  t.equal(answer.statusCode, 500)
  t.match(lines, [{ err: { message: 'broken' } }])
})

test('with put.create, PUT creates a missing item with the id of the URI', async (t) => {
  const actions: string[] = []
  const app = await build(t, [
    things(
      { name: Type.String(), role: Type.String({ default: 'reader' }), born: Type.String({ format: 'date-time' }) },
      {
        put: { create: true },
        timestamps: { created: 'born' },
        hooks: {
          beforeValidation: ({ action, item }: Change<object>) => {
            actions.push(action)
            return item
          }
        }
      }
    ),
    things(
      { name: Type.String(), id: Type.String() },
      { name: 'slugs', id: { generate: 'client' }, put: { create: true } }
    )
  ])
  const at = `/things/${missingId}`
  const put = await request(app, `PUT ${at}`, { content: { name: 'a' } })
  t.equal(put.statusCode, 201)
  t.equal(put.headers.location, at)
  t.match(put.json(), { id: missingId, name: 'a', role: 'reader', born: /^20/ })
  const again = await request(app, `PUT ${at}`, { content: { id: missingId, name: 'b' } })
  t.equal(again.statusCode, 200)
  t.equal(again.json().born, put.json().born)
  t.strictSame(actions, ['create', 'replace'])

  const contradiction = await request(app, 'PUT /slugs/one', { content: { id: 'two', name: 'a' } })
  t.equal(contradiction.statusCode, 422)
  t.strictSame(pointers(contradiction), ['/id'])
  t.equal((await request(app, 'PUT /slugs/one', { content: { id: 'one', name: 'a' } })).statusCode, 201)
  t.equal((await request(app, 'PUT /slugs/two', { content: { name: 'a' } })).statusCode, 201)
  t.equal((await request(app, 'PUT /slugs/three', { content: '"text"' })).statusCode, 422)
  t.equal(
    (await request(app, 'PUT /things/not-a-uuid', { content: { name: 'a' } })).statusCode,
    404,
    'no item can have that id'
  )
  t.equal((await request(app, 'PUT /slugs/%2E%2E', { content: { name: 'a' } })).statusCode, 404)
})

test('an item with additional properties cannot add links to HAL (draft-kelly-json-hal-11, section 4.1)', async (t) => {
  const Open = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }) }, { additionalProperties: true })
  const app = await build(t, define({ name: 'open', schema: Open, storage: memory() }))
  const answer = await request(app, 'POST /open', {
    content: { _links: { self: { href: 'https://elsewhere.example/' } } },
    fields: { accept: 'application/hal+json' }
  })
  t.equal(answer.statusCode, 201)
  t.strictSame(answer.json()._links, { self: { href: answer.headers.location }, collection: { href: '/open' } })
})

test('links of the definition are typed by its items and included in HAL', async (t) => {
  const app = await build(
    t,
    users({ formats: [hal, json], links: ({ item }) => ({ mail: { href: `mailto:${item.email}` } }) })
  )
  const { item } = await created(app, '/users', ada)
  t.match(item._links, { mail: { href: 'mailto:ada@example.com' }, self: {}, collection: {} })
})

test('a writeOnly property that cannot be changed cannot be guessed by writing it', async (t) => {
  const schema = Type.Object({
    id: Type.String({ format: 'uuid' }),
    title: Type.String(),
    pin: Type.String({ writeOnly: true, immutable: true }),
    hash: Type.Optional(Type.String({ writeOnly: true, readOnly: true })),
    cards: Type.Optional(
      Type.Array(
        Type.Object({ code: Type.Optional(Type.String({ writeOnly: true, immutable: true })), name: Type.String() })
      )
    )
  })
  const app = await build(
    t,
    define({
      name: 'vaults',
      schema,
      storage: memory(),
      hooks: { beforeValidation: ({ item }) => ({ hash: 'h', ...item }) }
    })
  )
  const at = String(
    (await request(app, 'POST /vaults', { content: { title: 'a', pin: '1234', cards: [{ code: '1', name: 'x' }] } }))
      .headers.location
  )
  const patches: Array<[content: object, type: string, pointers: string[]]> = [
    [{ pin: '1234' }, 'application/merge-patch+json', ['/pin']],
    [{ pin: '0000' }, 'application/merge-patch+json', ['/pin']],
    [{ hash: 'h', pin: null }, 'application/merge-patch+json', ['/hash', '/pin']],
    [{ cards: [{ code: '1', name: 'x' }] }, 'application/merge-patch+json', ['/cards/0/code']],
    [[{ op: 'add', path: '/pin', value: '1234' }], 'application/json-patch+json', ['/pin']],
    [[{ op: 'add', path: '/pin', value: '0000' }], 'application/json-patch+json', ['/pin']]
  ]
  for (const [content, type, pointers] of patches) {
    const answer = await request(app, `PATCH ${at}`, { content, type })
    t.equal(answer.statusCode, 422, JSON.stringify(content))
    t.strictSame(
      (answer.json() as Failed).errors.map(({ pointer }) => pointer),
      pointers
    )
  }
  t.strictSame(pointers(await request(app, `PATCH ${at}`, { content: { nope: { pin: '1' } } })), ['/nope'])
  t.equal((await request(app, `PATCH ${at}`, { content: 'x', type: merge })).statusCode, 400)
  t.equal((await request(app, `PATCH ${at}`, { content: '3', type: merge })).statusCode, 422)
  t.equal((await request(app, `PUT ${at}`, { content: '3', type: 'application/json' })).statusCode, 422)
  t.strictSame(pointers(await request(app, `PUT ${at}`, { content: { title: 'a', cards: 'x', nope: { pin: '1' } } })), [
    '/nope',
    '/cards'
  ])
  for (const pin of ['1234', '0000']) {
    const answer = await request(app, `PUT ${at}`, { content: { title: pin, pin, cards: [{ code: pin, name: 'x' }] } })
    t.equal(answer.statusCode, 200, pin)
  }
  t.equal((await request(app, `PATCH ${at}`, { content: { title: 'b' } })).statusCode, 200)
  t.equal(
    (
      await request(app, `PATCH ${at}`, {
        content: [{ op: 'replace', path: '/title', value: 'c' }],
        type: 'application/json-patch+json'
      })
    ).statusCode,
    200
  )
})

test('a problem thrown by the app is not logged as a failure, but an error with status 500 or above is', async (t) => {
  const lines: Array<Record<string, unknown>> = []
  const logger = {
    level: 'info',
    stream: {
      write: (line: string) => {
        lines.push(JSON.parse(line))
      }
    }
  }
  let fail: () => void = () => {}
  const hook = async (): Promise<void> => fail()
  const places: Array<[string, Definition]> = [
    [
      'prepare',
      things(
        { name: Type.String() },
        {
          hooks: {
            beforeValidation: ({ item }: Change<object>) => {
              fail()
              return item
            }
          }
        }
      )
    ],
    ['onRequest', things({ name: Type.String() }, { routes: { create: { onRequest: hook } } })],
    ['preHandler', things({ name: Type.String() }, { routes: { create: { preHandler: hook } } })],
    ['onSend', things({ name: Type.String() }, { routes: { create: { onSend: hook } } })],
    [
      'access',
      things(
        { name: Type.String() },
        {
          access: {
            allow: () => {
              fail()
              return true
            }
          }
        }
      )
    ],
    [
      'caller',
      things(
        { name: Type.String() },
        {
          access: {
            authenticate: () => {
              fail()
              return 'ada'
            }
          }
        }
      )
    ],
    [
      'scope',
      things(
        { name: Type.String() },
        {
          access: {
            scope: () => {
              fail()
              return undefined
            }
          }
        }
      )
    ]
  ]
  for (const [place, definition] of places) {
    const app = await build(t, definition, { logger, disableRequestLogging: true })
    const getLogLevels = async (thrown: unknown): Promise<unknown[]> => {
      lines.length = 0
      let once = true
      fail = () => {
        if (!once) return
        once = false
        throw thrown
      }
      const { statusCode } = await request(app, 'POST /things', { content: { name: 'a' } })
      return [statusCode, ...lines.map(({ level, msg }) => `${level} ${msg}`)]
    }
    t.strictSame(await getLogLevels(problem('conflict')), [409], place)
    t.strictSame(
      await getLogLevels(problem('service-unavailable', { detail: 'Back at noon.' })),
      [503, '30 request refused'],
      place
    )
    t.match(lines, [{ problem: { status: 503, code: 'service-unavailable', detail: 'Back at noon.' } }])
    t.strictSame(
      await getLogLevels(Object.assign(new Error('on purpose'), { statusCode: 503 })),
      [503, '50 request failed'],
      `${place}, logged as by Fastify`
    )
    t.match(lines, [{ err: { message: 'on purpose' } }])
  }
})
