import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { build } from '../src/app.ts'
import { createTestDatabase } from './database.ts'

const writer = { authorization: 'Bearer the key of a writer' }
const editor = { authorization: 'Bearer the key of an editor' }

/** The app with an author, and functions that most tests use. */
async function service (t: TestContext) {
  const { settings, remove } = await createTestDatabase()
  const app = await build({
    HOST: '',
    PORT: 0,
    ...settings,
    WRITER_KEY: 'the key of a writer',
    EDITOR_KEY: 'the key of an editor'
  })
  t.after(async () => {
    await app.close()
    await remove()
  })
  const author = await app.inject({ method: 'POST', url: '/authors', headers: writer, payload: { name: 'Ada' } })
  const at = String(author.headers.location)
  const draft = async (title: string) =>
    String(
      (await app.inject({ method: 'POST', url: `${at}/articles`, headers: writer, payload: { title } })).headers
        .location
    )
  const patch = async (url: string, headers: object, payload: object) =>
    app.inject({ method: 'PATCH', url, headers: { ...headers }, payload })
  const publish = async (url: string, headers: object) =>
    app.inject({ method: 'POST', url: `${url}/publish`, headers: { ...headers } })
  const comment = async (url: string, headers: object) =>
    app.inject({
      method: 'POST',
      url: `${url}/comments`,
      headers: { ...headers },
      payload: { name: 'Bob', text: 'Well said.' }
    })
  return { app, at, draft, patch, publish, comment }
}

test('a new article is nested in its author, and is a draft that anonymous callers do not see', async (t) => {
  const { app, at, draft } = await service(t)
  await draft('Hello world')
  const [mine] = (await app.inject({ url: `${at}/articles`, headers: writer })).json()
  assert.deepEqual([mine.slug, mine.status, mine.publishedAt], ['hello-world', 'draft', null])
  assert.deepEqual((await app.inject('/articles')).json(), [])
  assert.equal((await app.inject(`/articles/${mine.id}`)).statusCode, 404)
})

test('only an editor publishes, and it cannot be undone', async (t) => {
  const { app, draft, patch, publish } = await service(t)
  const location = await draft('Hello world')
  assert.equal((await publish(location, writer)).statusCode, 403)
  assert.equal((await patch(location, editor, { status: 'published' })).statusCode, 422)
  const published = await publish(location, editor)
  assert.ok(Date.parse(published.json().publishedAt) > 0)
  assert.equal((await publish(location, editor)).statusCode, 409)
  const [article] = (await app.inject('/articles')).json()
  assert.equal(article.title, 'Hello world')
})

test('articles include their author and comments, and are filtered by them', async (t) => {
  const { app, at, draft, publish, comment } = await service(t)
  const { id } = (await app.inject({ url: await draft('Hello world'), headers: writer })).json()
  await publish(`/articles/${id}`, editor)
  await draft('A draft')
  assert.equal((await comment(`/articles/${id}`, {})).statusCode, 401)
  assert.equal((await comment(`/articles/${id}`, writer)).statusCode, 201)
  const [article] = (await app.inject('/articles?expand=author,comments')).json()
  assert.deepEqual([article.author.name, article.comments.items[0].text], ['Ada', 'Well said.'])
  const find = async (query: string) => (await app.inject(`/articles?${query}`)).json().length
  assert.equal(await find('author.name=Ada&comments.some.name=Bob&sort=author.name'), 1)
  assert.equal(await find('comments.count=0'), 0)
  const author = (await app.inject(`${at}?expand=articles.comments&expand.articles.count=true`)).json()
  assert.deepEqual([author.articles.total, author.articles.items[0].comments.items.length], [1, 1])
})

test('anonymous callers see no comments of a draft', async (t) => {
  const { app, draft, comment } = await service(t)
  const { id } = (await app.inject({ url: await draft('Hello world'), headers: writer })).json()
  const { headers } = await comment(`/articles/${id}`, writer)
  const url = String(headers.location)
  assert.equal((await app.inject({ url, headers: writer })).statusCode, 200)
  assert.equal((await app.inject(url)).statusCode, 404)
})

test('what others refer to is not removed', async (t) => {
  const { app, at, draft, comment } = await service(t)
  const { id } = (await app.inject({ url: await draft('Hello world'), headers: writer })).json()
  const { headers } = await comment(`/articles/${id}`, writer)
  const remove = async (url: string) => (await app.inject({ method: 'DELETE', url, headers: editor })).statusCode
  assert.deepEqual([await remove(at), await remove(`/articles/${id}`)], [409, 409])
  const payload = { title: 'Lost', authorId: '01900000-0000-7000-8000-000000000009' }
  const lost = await app.inject({ method: 'POST', url: '/articles', headers: writer, payload })
  assert.deepEqual([lost.statusCode, lost.json().errors[0].pointer], [422, '/authorId'])
  assert.deepEqual([
    await remove(String(headers.location)),
    await remove(`/articles/${id}`),
    await remove(at)
  ], [204, 204, 204])
})

test('writes require a key, and DELETE the key of an editor', async (t) => {
  const { app, draft, patch } = await service(t)
  const location = await draft('Hello world')
  assert.equal((await patch(location, {}, { title: 'Mine' })).statusCode, 401)
  assert.equal((await patch(location, { authorization: 'Bearer guessed' }, { title: 'Mine' })).statusCode, 401)
  assert.equal((await app.inject({ method: 'DELETE', url: location, headers: writer })).statusCode, 403)
  assert.equal((await app.inject({ method: 'DELETE', url: location, headers: editor })).statusCode, 204)
})

test('the slug follows the title, and old slugs redirect with 301', async (t) => {
  const { app, draft, patch, publish } = await service(t)
  const { id } = (await app.inject({ url: await draft('Hello world'), headers: writer })).json()
  await patch(`/articles/${id}`, editor, { title: 'Good evening' })
  await publish(`/articles/${id}`, editor)
  for (const slug of ['hello-world', 'good-evening']) {
    const { statusCode, headers } = await app.inject(`/articles/${slug}`)
    assert.deepEqual([statusCode, headers.location], [301, `/articles/${id}`])
  }
  assert.equal((await app.inject('/articles/nonsense')).statusCode, 404)
})

test('POST with a slug that already exists returns 409', async (t) => {
  const { app, at, draft } = await service(t)
  await draft('Hello world')
  const second = await app.inject({
    method: 'POST',
    url: `${at}/articles`,
    headers: writer,
    payload: { title: 'Hello, world!' }
  })
  assert.equal(second.statusCode, 409)
})

test('shared caches store authors; only browsers store articles, and revalidate them with 304', async (t) => {
  const { app, at, draft, publish } = await service(t)
  const location = await draft('Hello world')
  await publish(location, editor)
  assert.equal((await app.inject(at)).headers['cache-control'], 'public, max-age=300')
  const article = await app.inject(location)
  assert.equal(article.headers['cache-control'], 'private, no-cache')
  assert.equal(
    (await app.inject({ url: location, headers: { 'if-none-match': String(article.headers.etag) } })).statusCode,
    304
  )
  assert.match(String(article.headers.vary), /authorization/i)
})

test('an article is available as HAL and XML', async (t) => {
  const { app, at, draft, publish } = await service(t)
  const location = await draft('Hello world')
  await publish(location, editor)
  const hal = await app.inject({ url: location, headers: { accept: 'application/hal+json' } })
  assert.equal(hal.json()._links.up.href, at)
  assert.equal('publish' in hal.json()._links, false)
  const xml = await app.inject({ url: location, headers: { accept: 'application/xml' } })
  assert.match(xml.payload, /<title>Hello world<\/title>/)
})
