import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { registry } from '../../lib/app/registry.ts'
import type { Options } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'
import { define } from '../define.ts'
import { storages } from '../storages.ts'
import { getIds, without } from './goods.ts'

const Note = Type.Object({
  id: Type.Integer(),
  tags: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  sizes: Type.Optional(Type.Array(Type.Integer())),
  flags: Type.Optional(Type.Array(Type.Boolean())),
  times: Type.Optional(Type.Array(Type.String({ format: 'date-time' }))),
  colors: Type.Optional(Type.Array(Type.Union([Type.Literal('red'), Type.Literal('blue')]))),
  place: Type.Optional(Type.Object({ codes: Type.Array(Type.String()) })),
  secrets: Type.Optional(Type.Array(Type.String(), { writeOnly: true })),
  rows: Type.Optional(Type.Array(Type.Array(Type.String()))),
  mixed: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Integer()]))),
  anything: Type.Optional(Type.Array(Type.Unknown()))
})

const notes = [
  { id: 1, tags: ['a', 'b,c', 'a'], sizes: [1, 2], flags: [true], place: { codes: ['x'] } },
  { id: 2, tags: ['A', 'é'], sizes: [], colors: ['red', 'blue'], times: ['2026-01-01T12:00:00+02:00'] },
  { id: 3, tags: null, sizes: [2], flags: [false], rows: [['a']], mixed: ['a'], anything: ['a'] },
  { id: 4, tags: [], secrets: ['s'] }
]

const noteOptions = (options: Partial<Options<typeof Note>> = {}): Options<typeof Note> => ({
  name: 'notes',
  schema: Note,
  storage: memory(),
  id: { generate: 'client' },
  ...options
})

async function createNotes (app: FastifyInstance): Promise<void> {
  for (const content of notes) {
    const { statusCode, payload } = await request(app, 'POST /notes', { content })
    if (statusCode !== 201) throw new Error(payload)
  }
}

/** A query string, the same filter in QUERY, and the ids that match. */
const filters: ReadonlyArray<readonly [search: string, filter: Record<string, unknown>, expected: string]> = [
  ['tags.contains=a', { 'tags.contains': 'a' }, '1'],
  ['tags.contains=b%2Cc', { 'tags.contains': 'b,c' }, '1'],
  ['tags.contains=b', { 'tags.contains': 'b' }, ''],
  ['tags.overlaps=a,A', { 'tags.overlaps': ['a', 'A'] }, '12'],
  ['tags.overlaps=b%5C%2Cc', { 'tags.overlaps': ['b,c'] }, '1'],
  ['tags.overlaps=', { 'tags.overlaps': [] }, ''],
  ['tags.null=true', { 'tags.null': true }, '3'],
  ['sizes.contains=2', { 'sizes.contains': 2 }, '13'],
  ['sizes.overlaps=1,2,3', { 'sizes.overlaps': [1, 2, 3] }, '13'],
  ['flags.contains=false', { 'flags.contains': false }, '3'],
  ['times.contains=2026-01-01T10:00:00Z', { 'times.contains': '2026-01-01T10:00:00Z' }, '2'],
  ['times.overlaps=2026-01-01T11:00:00%2B01:00', { 'times.overlaps': ['2026-01-01T11:00:00+01:00'] }, '2'],
  ['colors.contains=red', { 'colors.contains': 'red' }, '2'],
  ['place.codes.contains=x', { 'place.codes.contains': 'x' }, '1'],
  ['tags.contains=a&sizes.contains=2', { 'tags.contains': 'a', 'sizes.contains': 2 }, '1']
]

for (const { name, skip, open } of storages) {
  test(`${name}: lists are filtered by arrays, in a query string and in QUERY`, { skip }, async (t) => {
    const { storage, prepare } = await open({ after: (close) => t.teardown(close) })
    const definition = define(noteOptions({ storage }))
    await prepare(definition)
    const app = await build(t, definition)
    await createNotes(app)
    for (const [search, filter, expected] of filters) {
      t.equal(getIds(await request(app, `GET /notes?${search}`)).join(''), expected, search)
      const answer = await request(app, 'QUERY /notes', { content: { filter } })
      t.equal(getIds(answer).join(''), expected, `QUERY ${search}`)
      const location = String(answer.headers['content-location'])
      t.equal(getIds(await request(app, `GET ${location}`)).join(''), expected, location)
      const rest = getIds(await request(app, 'QUERY /notes', { content: { filter: { not: filter } } })).join('')
      t.equal(rest, [...'1234'].filter((id) => !expected.includes(id)).join(''), `not ${search}`)
    }
  })
}

test('an array needs an operator of arrays, and a value of the type of its items', async (t) => {
  const app = await build(t, define(noteOptions()))
  const refused: ReadonlyArray<readonly [search: string, message: RegExp]> = [
    ['tags=a', /tags can be followed by: \.null, \.contains, \.overlaps\./],
    ['tags.eq=a', /tags can be followed by: \.null, \.contains, \.overlaps\./],
    ['tags.like=a*', /tags can be followed by/],
    ['id.contains=1', /id can be followed by: \.eq, \.ne, \.lt, \.lte, \.gt, \.gte, \.in, \.nin, \.null\./],
    ['sizes.contains=x', /sizes\.contains must be a whole number/],
    ['colors.contains=green', /colors\.contains must be one of red, blue/],
    ['colors.overlaps=green', /colors\.overlaps must be up to 1000 values, each one of red, blue/],
    ['sort=tags', /sort must be properties separated by commas.*: id; not "tags"/],
    ['secrets.contains=s', /is unknown.*A list can be filtered by: id, tags, sizes, flags, times, colors, place\.codes\./],
    ['rows.contains=a', /is unknown/],
    ['mixed.contains=a', /is unknown/],
    ['anything.contains=a', /is unknown/]
  ]
  for (const [search, message] of refused) {
    const answer = await request(app, `GET /notes?${search}`)
    t.equal(answer.statusCode, 400, search)
    t.match(answer.json().detail, message, search)
  }
  const answer = await request(app, 'QUERY /notes', { content: { filter: { 'tags.contains': ['a'], sizes: 1 } } })
  t.same(answer.json().errors, [
    { pointer: '/filter/tags.contains', message: 'must be text' },
    {
      pointer: '/filter/sizes',
      message: 'is not a known property. sizes can be followed by: .null, .contains, .overlaps.'
    }
  ])
})

test('code and scopes filter by arrays, too', async (t) => {
  const scopes = [
    { 'tags.contains': 'a' },
    { 'times.overlaps': ['2026-01-01T11:00:00+01:00'] }
  ]
  for (const [index, filter] of scopes.entries()) {
    const definition = define(noteOptions({
      access: { scope: ({ action }) => action === 'create' ? undefined : { filter } }
    }))
    const app = await build(t, definition)
    await app.register(registry)
    await createNotes(app)
    t.same(getIds(await request(app, 'GET /notes')), [index + 1])
    const found: number[] = []
    for await (const { item } of app.collection(definition).list({ filter: { 'tags.overlaps': ['a', 'A'] } })) {
      found.push(item.id)
    }
    t.same(found, [1, 2])
    const changed = await request(app, `PATCH /notes/${index + 1}`, {
      content: { tags: [], times: [] },
      fields: { 'content-type': 'application/merge-patch+json' }
    })
    t.equal(changed.statusCode, 422)
    const pointer = `/${Object.keys(filter)[0]!.split('.')[0]}`
    t.same(changed.json().errors, [{ pointer, message: 'is outside the scope of the caller' }])
  }
})

test('a storage without arrays serves the other filters, and is refused if list.filter has an array', async (t) => {
  const options = noteOptions({ storage: without('arrays') })
  const app = await build(t, define(options))
  const answer = await request(app, 'GET /notes?tags.contains=a')
  t.equal(answer.statusCode, 400)
  t.match(answer.json().detail, /A list can be filtered by: id\./)
  t.throws(() => define({ ...options, list: { filter: ['id', 'tags'] } }), {
    message: /notes.*list\.filter contains an array, which needs the conditions contains and overlaps.*memory/
  })
  t.doesNotThrow(() => define({ ...options, list: { filter: ['id'] } }))
})

test('list.filter can name arrays, list.sort and list.search cannot', (t) => {
  t.doesNotThrow(() => define(noteOptions({ list: { filter: ['tags', 'place.codes'] } })))
  t.throws(() => define(noteOptions({ list: { filter: ['rows'] } as never })), {
    message: /list\.filter contains "rows", which is not a string, number or boolean, or an array of these, that/
  })
  t.throws(() => define(noteOptions({ list: { sort: ['tags'] } })), { message: /list\.sort contains "tags"/ })
  t.throws(() => define(noteOptions({ list: { search: ['tags'] } })), { message: /list\.search contains "tags"/ })
  t.end()
})
