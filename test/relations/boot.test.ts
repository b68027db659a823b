import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import { action } from '../../lib/features/action.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { within } from '../../lib/features/within.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { build, created, modified, request } from '../app.ts'

// Mistakes in relations stop the start of the app.

const Author = Type.Object({ id: Type.Integer(), name: Type.String(), code: Type.String() })
const Article = Type.Object({
  id: Type.Integer(),
  authorId: Type.Union([Type.Integer(), Type.Null()]),
  title: Type.String()
})

const id = { generate: 'storage' } as const

function defineBoth (options: object = {}, one = memory()) {
  return {
    authors: define({ name: 'authors', schema: Author, id, storage: one, ...options }),
    articles: define({ name: 'articles', schema: Article, id, storage: one })
  }
}

type Defined = ReturnType<typeof defineBoth>

/** Another database than that of memory(). */
async function openOther () {
  const storage = sqlite(new DatabaseSync(':memory:'))
  await storage.createTable({ name: 'authors', schema: Author, id })
  return storage
}

test('relate() refuses relations that cannot work', async (t) => {
  const other = await openOther()
  const toAuthor = { to: 'authors', property: 'authorId' }
  const mistakes: ReadonlyArray<readonly [relations: object, message: RegExp, definitions?: object]> = [
    [{ books: {} }, /relations of "books", but no definition of that name\. Use one of authors, articles/],
    [{ articles: { title: toAuthor } }, /has the name of a property/],
    [{ articles: { some: toAuthor } }, /cannot have the name "some"/],
    [{ articles: { expand: toAuthor } }, /cannot have the name "expand"/],
    [{ articles: { ['__proto__']: toAuthor } }, /cannot have the name "__proto__"/],
    [{ articles: { 'the-author': toAuthor } }, /cannot have the name "the-author"/],
    [{ articles: { author: { to: 'authors', property: 'writerId' } } }, /has property: "writerId", which is not in the schema of articles\. Available properties: id, authorId, title/],
    [{ articles: { author: { to: 'people', property: 'authorId' } } }, /leads to "people", but relate\(\) got no definition of that name\. Use one of authors, articles/],
    [{ articles: { author: { to: 'authors' } } }, /either property.*or by/],
    [{ articles: { author: { ...toAuthor, by: 'id' } } }, /either property.*or by/],
    [{ articles: { author: { ...toAuthor, limit: 1 } } }, /leads to one item\. Remove limit and order/],
    [{ articles: { author: { ...toAuthor, colour: 1 } } }, /no option "colour"/],
    [{ articles: { author: { to: 'authors', property: 'title' } } }, /compares "title" \(string\) with the id "id" \(integer\)/],
    [{ authors: { articles: { to: 'articles', by: 'authorId', limit: 1000 } } }, /whole number from 0 to 100/],
    [{ authors: { articles: { to: 'articles', by: 'authorId', order: ['nothing'] } } }, /can be sorted by: id/],
    [{ authors: { articles: { to: 'articles', by: 'authorId', order: '-id' } } }, /array of properties, as in order: \['-id'\]/],
    [{ authors: { articles: { to: 'articles', by: 'authorId', order: [1] } } }, /has the order \[1\]\. Make it an array/],
    [{ articles: { inner: { to: 'articles', by: 'authorId', order: '-id' } } }, /array of properties/],
    [{ authors: { articles: { to: 'articles', by: 'writerId' } } }, /by: "writerId", which is not in the schema of articles/],
    [{ articles: { author: toAuthor } }, /does not have the action "read"/, { actions: ['list'] }],
    [{ articles: { author: { ...toAuthor, filter: true } } }, /authors is in another database/, { storage: other }]
  ]
  for (const [relations, message, options] of mistakes) {
    t.throws(
      () => relate(defineBoth(options), relations as never),
      { code: 'FST_COLLECTION_BAD_OPTION', message },
      JSON.stringify(relations)
    )
  }
  t.throws(() => relate({ ...defineBoth(), books: { name: 'books' } } as never, {} as never), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: 'Collection books: relate() needs what define() returns. ' +
      'Use relate({ books: define({ name, schema, storage }), ... }, { ... }).'
  })
  const storage = modified(({ supports }) => ({ supports: { ...supports, filter: false } }))
  t.throws(() => relate(defineBoth({ storage }), { articles: { author: toAuthor } } as never), { message: /no filters/ })
})

test('the app serves what a relation leads to', async (t) => {
  const { articles, authors } = relate(defineBoth(), { articles: { author: { to: 'authors', property: 'authorId' } } })
  const app = await build(t, articles)
  await t.rejects(async () => app.ready(), { message: /leads to authors, which the app does not serve/ })
  await t.resolves(async () => (await build(t, [articles, authors])).ready(), 'in any order')
})

test('a relation does not reveal a property that is writeOnly', async (t) => {
  const one = memory()
  const Secret = Type.Object({ id: Type.Integer(), authorId: Type.Optional(Type.Integer({ writeOnly: true })) })
  const defined = {
    authors: define({ name: 'authors', schema: Author, id, storage: one }),
    articles: define({ name: 'articles', schema: Secret, id, storage: one })
  }
  const message = /would reveal "authorId" of articles, which is writeOnly/
  for (const related of [
    relate(defined, { articles: { author: { to: 'authors', property: 'authorId' } } }),
    relate(defined, { authors: { articles: { to: 'articles', by: 'authorId' } } })
  ]) {
    await t.rejects(async () => (await build(t, Object.values(related))).ready(), { message })
  }
})

test('a relation leads to the collection as it is served', async (t) => {
  const Soft = Type.Object({ ...Author.properties, gone: Type.Optional(Type.String({ format: 'date-time' })) })
  const one = memory()
  const authors = define({ name: 'authors', schema: Soft, id, storage: one })
  const { articles } = relate(
    { authors, articles: define({ name: 'articles', schema: Article, id, storage: one }) },
    { articles: { author: { to: 'authors', property: 'authorId' } } }
  )
  const app = await build(t, [authors.with(softDelete({ property: 'gone' })), articles])
  const author = await created(app, '/authors', { name: 'Ada', code: 'a' })
  const article = await created(app, '/articles', { title: 'One', authorId: 1 })
  t.equal((await request(app, `GET ${article.at}?expand=author`)).json().author.name, 'Ada')
  await request(app, `DELETE ${author.at}`)
  t.equal((await request(app, `GET ${article.at}?expand=author`)).json().author, null)
  t.strictSame((await request(app, 'GET /articles?author.name=Ada')).json(), [])
})

test('the lists of the other collection can be filtered by the property, so that a page has a next one', async (t) => {
  const one = memory()
  const related = relate({
    authors: define({ name: 'authors', schema: Author, id, storage: one }),
    articles: define({ name: 'articles', schema: Article, id, storage: one, list: { filter: ['title'] } })
  }, { authors: { articles: { to: 'articles', by: 'authorId' } } })
  await t.rejects(async () => (await build(t, Object.values(related))).ready(), { message: /Add it to list\.filter of articles/ })
})

test('what a relation leads to is in the same database as what it is nested in', async (t) => {
  const defined = defineBoth({ storage: await openOther() })
  const Note = Type.Object({ id: Type.Integer(), articleId: Type.Integer(), authorId: Type.Integer() })
  const defineNotes = (parent: 'articles' | 'authors', property: 'articleId' | 'authorId') => {
    const notes = define({ name: 'notes', schema: Note, id, storage: memory() }).with(within(defined[parent], property))
    return relate({ ...defined, notes }, { articles: { notes: { to: 'notes', by: 'articleId' } } })
  }
  await t.rejects(
    async () => (await build(t, Object.values(defineNotes('authors', 'authorId')))).ready(),
    { message: /leads to notes, which is nested in authors, but their rows cannot be related/ }
  )
  await t.resolves(async () => (await build(t, Object.values(defineNotes('articles', 'articleId')))).ready())
})

test('collections of different databases include items, but do not filter or sort by them', async (t) => {
  const related = relate(
    defineBoth({ storage: await openOther() }),
    { articles: { author: { to: 'authors', property: 'authorId' } } }
  )
  const app = await build(t, Object.values(related))
  await created(app, '/authors', { name: 'Ada', code: 'a' })
  await created(app, '/articles', { title: 'One', authorId: 1 })
  t.equal((await request(app, 'GET /articles?expand=author')).json()[0].author.name, 'Ada')
  t.equal((await request(app, 'GET /articles?author.name=Ada')).statusCode, 400)
  t.equal((await request(app, 'GET /articles?sort=author.name')).statusCode, 400)
})

test('whatever writes the items of a reference has to check it', async (t) => {
  const defined = defineBoth()
  const { authors, articles } = relate(defined, {
    articles: { author: { to: 'authors', property: 'authorId', references: true } }
  })
  const message = /references to these items, which this definition does not check\. Register what relate\(\) returned/
  for (const definitions of [[defined.authors, articles], [authors, defined.articles]]) {
    await t.rejects(async () => (await build(t, definitions)).ready(), { code: 'FST_COLLECTION_BAD_OPTION', message })
  }
  await t.resolves(async () => (await build(t, [authors.with(action('touch', { run () {} })), articles])).ready())
})

const byAuthor = { articles: { author: { to: 'authors', property: 'authorId' } } } as const

test('an app that serves what relate() got instead of what it returned gets a warning', async (t) => {
  const message = /^Collection articles: it is served without its relations.*Register those that it returns/
  for (const toRegistered of [
    (defined: Defined) => Object.values(defined),
    (defined: Defined) => [defined.authors, defined.articles.with(action('touch', { run () {} }))],
    (defined: Defined, related: Defined) => [related.authors, defined.articles]
  ]) {
    const defined = defineBoth()
    const registered = toRegistered(defined, relate(defined, byAuthor))
    const warned = once(process, 'warning')
    await (await build(t, registered)).ready()
    const [warning] = (await warned) as [Error]
    t.match(warning, { name: 'FastifyCollectionsWarning', code: 'FST_COLLECTION_NO_RELATIONS', message })
  }
})

test('with references, the warning says that they are not checked', async (t) => {
  const defined = defineBoth()
  relate(defined, { articles: { author: { ...byAuthor.articles.author, references: true } } })
  const warned = once(process, 'warning')
  await (await build(t, Object.values(defined))).ready()
  const [warning] = (await warned) as [Error]
  t.match(warning.message, /^Collection articles: it is served without its relations, and its references are not checked/)
})

test('definitions that are served with relations, or without the other ones, get no warning', async (t) => {
  const fail = (warning: Error): void => { t.fail(warning.message) }
  process.on('warning', fail)
  t.teardown(() => process.off('warning', fail))
  const defined = defineBoth()
  const related = relate(defined, byAuthor)
  const inverse = relate(defined, { authors: { articles: { to: 'articles', by: 'authorId' } } })
  for (const registered of [
    Object.values(related),
    [related.authors, related.articles.with(action('touch', { run () {} }))],
    // At another path, without relations.
    [...Object.values(related), { ...defined.articles, prefix: '/public' }],
    [inverse.authors, related.articles],
    // Alone, there is nothing to relate to.
    [defined.articles]
  ]) {
    await t.resolves(async () => (await build(t, registered)).ready())
  }
  // A warning is emitted in the next tick.
  await setImmediate()
})
