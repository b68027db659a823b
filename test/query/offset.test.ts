import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'
import { allStorages } from '../storages.ts'
import { links } from './goods.ts'

const Note = Type.Object({ id: Type.Integer(), group: Type.String(), authorId: Type.String() })
const Author = Type.Object({ id: Type.String(), name: Type.String() })
const authors = ['Ada', 'Grace', 'Ida'].map((name, index) => ({ id: `a${index}`, name }))
const notes = Array.from({ length: 23 }, (_, index) => ({
  id: index + 1,
  group: 'xyz'[index % 3]!,
  authorId: authors[(index * 7) % 3]!.id
}))

for (const { name, skip, open } of allStorages) {
  test(`${name}: pages by offset are the parts of the list`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const id = { generate: 'client' } as const
    const related = relate({
      authors: define({ name: 'authors', schema: Author, storage, id }),
      notes: define({ name: 'notes', schema: Note, storage, id })
    }, { notes: { author: { to: 'authors', property: 'authorId' } } })
    for (const definition of Object.values(related)) await prepare(definition)
    const app = await build(t, Object.values(related))
    for (const content of authors) await request(app, 'POST /authors', { content })
    for (const content of notes) await request(app, 'POST /notes', { content })
    const read = async (url: string) => {
      const answer = await request(app, `GET ${url}`)
      t.equal(answer.statusCode, 200, url)
      return { ids: (answer.json() as Array<{ id: number }>).map((note) => note.id), answer }
    }

    for (const query of ['', 'group=y', 'sort=-group', 'sort=author.name,-id', 'author.name.ne=Ida&sort=group']) {
      const all = (await read(`/notes?limit=100&${query}`)).ids
      for (const offset of [0, 1, 5, all.length - 1, all.length, 9999]) {
        const { ids, answer } = await read(`/notes?offset=${offset}&limit=4&count=true&${query}`)
        t.strictSame(ids, all.slice(offset, offset + 4), `${query} from ${offset}`)
        t.equal(answer.headers['x-total-count'], String(all.length))
        const sent = await request(app, 'QUERY /notes', {
          content: { offset, limit: 4, ...query === 'group=y' && { filter: { group: 'y' } } },
          type: 'application/json'
        })
        if (query === 'group=y' || query === '') {
          t.strictSame((sent.json() as Array<{ id: number }>).map((note) => note.id), ids)
          t.strictSame((await read(String(sent.headers['content-location']))).ids, ids)
        }
        const { next, prev, first } = links(answer)
        t.equal(next !== undefined, offset + 4 < all.length, 'next')
        t.equal(prev !== undefined, offset > 0 && ids.length > 0, 'prev')
        if (next !== undefined) t.strictSame((await read(next)).ids, all.slice(offset + 4, offset + 8))
        if (prev !== undefined) t.strictSame((await read(prev)).ids, all.slice(Math.max(0, offset - 4), offset))
        if (first !== undefined) t.strictSame((await read(first)).ids, all.slice(0, 4))
      }
    }
  })
}

test('an offset is bounded, and no page has a cursor as well', async (t) => {
  const definition = define({ name: 'notes', schema: Note, id: { generate: 'client' }, storage: memory({ items: notes }) })
  const app = await build(t, definition)
  for (const [query, detail] of [
    ['offset=10001', /^offset must be a whole number from 0 to 10000\. To go further, follow the link "next"/],
    ['offset=-1', /^offset must be/],
    ['offset=1.5', /^offset must be/],
    ['offset=', /^offset must be/],
    ['offset=1&offset=2', /given once/],
    ['offset=1&cursor=x', /^cursor must be left out/]
  ] as const) {
    t.match((await request(app, `GET /notes?${query}`)).json(), { status: 400, code: 'invalid-query', detail }, query)
  }
  const content = { offset: '3' }
  t.match((await request(app, 'QUERY /notes', { content, type: 'application/json' })).json(), {
    status: 422,
    errors: [{ pointer: '/offset' }]
  })
  const { next } = links(await request(app, 'GET /notes?limit=2'))
  t.strictSame((await request(app, `GET ${next}&offset=0`)).json(), notes.slice(2, 4), 'tools send the default')
})

test('list.offset: false', async (t) => {
  const definition = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'client' },
    list: { offset: false },
    storage: memory({ items: notes })
  })
  const app = Fastify()
  t.after(() => app.close())
  await app.register(swagger, { openapi: {} })
  await app.register(collection, definition)
  await app.ready()
  const answer = await request(app, 'GET /notes?offset=1')
  t.match(answer.json(), { status: 400, detail: /"offset" is unknown/ })
  t.notMatch(JSON.stringify(app.swagger()), /offset/)
})
