import { Type } from '@sinclair/typebox'
import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { hash } from 'node:crypto'
import { test } from 'tap'
import type { Test } from 'tap'
import { json } from '../../../lib/index.ts'
import { hal } from '../../../lib/formats/hal.ts'
import { xml } from '../../../lib/formats/xml.ts'
import type { Definition, Options } from '../../../lib/index.ts'
import type { Storage } from '../../../lib/storage/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { within } from '../../../lib/features/within.ts'
import { build, request } from '../../app.ts'
import { controlClock } from '../../clock.ts'
import { define } from '../../define.ts'

// Entity tags after a deploy that changes the definition, while the items stay as they are.

const id = Type.Integer()
const name = Type.String()
const updatedAt = Type.String({ format: 'date-time', readOnly: true })
const item = { id: 1, name: 'Ada', secret: 'enigma', updatedAt: '2026-01-01T00:00:00.000Z' }

/** Creates a storage that both deploys use. */
function createShared (): Storage<object> {
  return memory<object>({ items: [item] })({
    name: 'people',
    schema: Type.Object({ id }),
    id: { property: 'id', generate: 'storage' },
    unique: []
  })
}

const People = Type.Object({ id, name, secret: Type.String(), updatedAt })

function people (storage: Storage<object>, options: Partial<Omit<Options<any>, 'storage'>> = {}): Definition {
  return define({
    name: 'people',
    schema: People,
    id: { generate: 'storage' },
    ...options,
    storage: () => storage
  } as Options<any>)
}

const formats = ['application/json', 'application/hal+json', 'application/xml']
const targets = ['/people/1', '/people', '/people?fields=id', '/people?count=true']

/** Requests each target in each format, and compares the responses with `known`. */
async function read (
  t: Test,
  collections: Definition | readonly Definition[],
  known?: ReadonlyMap<string, LightMyRequestResponse>
) {
  const app = await build(t, collections)
  const answers = new Map<string, LightMyRequestResponse>()
  for (const target of targets) {
    for (const accept of formats) {
      const key = `${target} ${accept}`
      const tag = known?.get(key)?.headers.etag
      answers.set(
        key,
        await request(app, `GET ${target}`, {
          fields: { accept, ...(tag !== undefined && { 'if-none-match': String(tag) }) }
        })
      )
    }
  }
  return { app, answers }
}

test('a property that becomes writeOnly changes every ETag, and an old one does not return 304', async (t) => {
  const storage = createShared()
  const before = await read(t, people(storage))
  t.match(before.answers.get('/people/1 application/json')?.body, /enigma/)
  const hideSecret = () =>
    people(storage, { schema: Type.Object({ ...People.properties, secret: Type.String({ writeOnly: true }) }) })
  const after = await read(t, hideSecret(), before.answers)
  for (const [key, answer] of after.answers) {
    t.equal(answer.statusCode, 200, key)
    t.notMatch(answer.body, /enigma/)
    t.not(answer.headers.etag, before.answers.get(key)?.headers.etag)
  }
  const stale = String(before.answers.get('/people/1 application/json')?.headers.etag)
  for (const method of ['PATCH', 'PUT', 'DELETE']) {
    t.equal(
      (
        await request(after.app, `${method} /people/1`, {
          ...(method !== 'DELETE' && { content: { name: 'Eve', secret: 'x' } }),
          fields: { 'if-match': stale }
        })
      ).statusCode,
      412,
      method
    )
  }
  const again = await read(t, hideSecret(), after.answers)
  for (const [key, answer] of again.answers) {
    t.equal(answer.statusCode, 304, `the same definition in another process: ${key}`)
  }
  const fields = {
    'if-match': String(after.answers.get('/people/1 application/xml')?.headers.etag),
    'content-type': 'application/merge-patch+json'
  }
  t.equal(
    (await request(again.app, 'PATCH /people/1', { content: { name: 'Eve' }, fields })).statusCode,
    200,
    'whatever format was read'
  )
})

test('Last-Modified is not before the process started, because the definition may have changed then', async (t) => {
  const clock = controlClock(t)
  const storage = createShared()
  const getDate = async (app: FastifyInstance) => (await request(app, 'GET /people/1')).headers['last-modified']
  const read = async (app: FastifyInstance, since: unknown) => {
    return request(app, 'GET /people/1', { fields: { 'if-modified-since': String(since) } })
  }
  const started = Date.now()
  const first = await build(t, people(storage))
  t.equal(await getDate(first), undefined)
  clock.advance(120_000)
  const date = await getDate(first)
  t.ok(Date.parse(String(date)) >= started - 1000, `${date}`)
  t.equal((await read(first, date)).statusCode, 304, 'the date that was sent is honored')

  const schema = Type.Object({ ...People.properties, secret: Type.String({ writeOnly: true }) })
  const second = await build(t, people(storage, { schema }))
  for (const since of ['Thu, 01 Jan 2026 00:00:00 GMT', date]) {
    const answer = await read(second, since)
    t.equal(answer.statusCode, 200)
    t.notMatch(answer.body, /enigma/)
  }
  clock.advance(120_000)
  t.equal((await read(second, await getDate(second))).statusCode, 304)
  t.equal(
    (await request(second, 'GET /people/1', { fields: { 'if-unmodified-since': 'Thu, 01 Jan 2015 00:00:00 GMT' } }))
      .statusCode,
    412
  )
})

test('everything else that affects the bytes changes the ETags of the affected formats', async (t) => {
  const storage = createShared()
  const plain = await read(t, people(storage))
  const changes: Array<[what: string, options: Partial<Options<any>>, formats: readonly string[]]> = [
    ['the order of properties', { schema: Type.Object({ name, id, secret: Type.String(), updatedAt }) }, formats],
    [
      'a property of another type',
      { schema: Type.Object({ ...People.properties, secret: Type.Union([Type.String(), Type.Null()]) }) },
      formats
    ],
    ['a property that not every caller sees', { access: { visible: { secret: () => true } } }, formats],
    ['links', { links: () => ({ home: { href: '/' } }) }, ['application/hal+json']],
    [
      'a format that writes otherwise',
      { formats: [json, { ...hal, item: (item, links) => `${hal.item(item, links, {})} ` }, xml] },
      ['application/hal+json']
    ],
    [
      'a title, which a format could show',
      { schema: Type.Object({ ...People.properties, name: Type.String({ title: 'Name' }) }) },
      formats
    ],
    [
      'a default, which is stored in the item',
      { schema: Type.Object({ ...People.properties, name: Type.String({ default: String(Math.random()) }) }) },
      []
    ],
    ['what clients can do', { actions: ['list', 'read'], list: { limit: { default: 50 }, sort: ['name'] } }, []]
  ]
  for (const [what, options, concerned] of changes) {
    const { answers } = await read(t, people(storage, options))
    for (const [key, answer] of answers) {
      t.equal(
        answer.headers.etag !== plain.answers.get(key)?.headers.etag,
        concerned.includes(key.split(' ')[1]!),
        `${what}: ${key}`
      )
    }
  }
  const parent = people(storage)
  const notes = define({
    name: 'notes',
    schema: Type.Object({ id, person: Type.Integer() }),
    id: { generate: 'storage' },
    storage: memory()
  })
  const { answers } = await read(t, [parent, notes.with(within(parent, 'person'))])
  for (const [key, answer] of answers) {
    t.equal(
      answer.headers.etag !== plain.answers.get(key)?.headers.etag,
      key.endsWith('hal+json'),
      `a nested collection: ${key}`
    )
  }
})

test('the ETag covers the definition of expanded collections', async (t) => {
  const storage = createShared()
  const articles = memory({ items: [{ id: 1, author: 1 }] })({
    name: 'articles',
    schema: Type.Object({ id }),
    id: { property: 'id', generate: 'storage' },
    unique: []
  })
  const open = async (secret: TSchema) => {
    const related = relate({
      people: people(storage, { schema: Type.Object({ ...People.properties, secret }) }),
      articles: define({
        name: 'articles',
        schema: Type.Object({ id, author: Type.Integer() }),
        id: { generate: 'storage' },
        storage: () => articles
      })
    }, { articles: { person: { to: 'people', property: 'author' } } })
    return build(t, Object.values(related))
  }
  const [before, after] = [await open(Type.String()), await open(Type.String({ writeOnly: true }))]
  for (const url of ['/articles?expand=person', '/articles/1?expand=person']) {
    const old = await request(before, `GET ${url}`)
    t.match(old.body, /enigma/)
    const fresh = await request(after, `GET ${url}`, { fields: { 'if-none-match': String(old.headers.etag) } })
    t.equal(fresh.statusCode, 200)
    t.notMatch(fresh.body, /enigma/)
  }
  const plain = await Promise.all([before, after].map(async (app) => (await request(app, 'GET /articles/1')).headers.etag))
  t.equal(plain[0], plain[1])
})

test('the built-in formats write the bytes of the current revision', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      tags: { type: 'array', items: { type: 'string' } },
      at: { type: ['string', 'null'] }
    }
  }
  const sample = { id: 1, text: '<a & "b"> ü\u2028', tags: ['x', ''], at: null, nested: { a: 1.5, b: true, c: [] } }
  const links = { self: { href: '/a/1' }, up: { href: '/a', title: 'ü' } }
  const digests = Object.fromEntries(
    [json, hal, xml].map((format) => [
      format.name,
      hash(
        'sha256',
        [
          format.item(sample, links, schema),
          format.list([sample, { id: 2 }], { list: links, items: [links, {}] }, schema)
        ].join('\n')
      )
    ])
  )
  // A change here means that representations have other bytes: increase `revision` in lib/definition-digest.ts, then
  // enter the new digests.
  t.strictSame(digests, {
    json: 'cf26e7f9e093883b7d282369989be7cbfb03f99930682be042de2e020f64b6cf',
    hal: 'd75e323f84c149f24ec4e479f0e59b14c050c5d85c60b84df2d124beecc3678d',
    xml: '44d6833b79134832b34b23857c1ac9d65e5c0b980079f43f2f3d70de92ed9584'
  })
})

test('etag.version changes every ETag, for links that contain a value from elsewhere', async (t) => {
  const storage = createShared()
  const deploy = (host: string) => people(storage, {
    links: () => ({ picture: { href: `https://${host}/1.png` } }),
    etag: { version: host }
  })
  const before = await read(t, deploy('one.example'))
  const after = await read(t, deploy('two.example'), before.answers)
  for (const [key, answer] of after.answers) t.equal(answer.statusCode, 200, key)
  t.match(after.answers.get('/people/1 application/hal+json')?.body, /two\.example/)
  const again = await read(t, deploy('two.example'), after.answers)
  for (const [key, answer] of again.answers) t.equal(answer.statusCode, 304, key)
  const none = await read(t, people(storage, { etag: { version: undefined } }))
  const same = await read(t, people(storage), none.answers)
  for (const [key, answer] of same.answers) t.equal(answer.statusCode, 304, key)
  t.throws(() => people(storage, { etag: { version: 5 } } as never), { message: /etag\.version.*a string/ })
})
