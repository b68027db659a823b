import { Type } from '@sinclair/typebox'
import { type } from 'arktype'
import type { FastifyInstance } from 'fastify'
import { Type as Type1 } from 'typebox'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { z } from 'zod'
import { batchClient, client } from '../../lib/client/client.ts'
import type { Entry as ClientEntry } from '../../lib/client/client.ts'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import collection, { define } from '../../lib/index.ts'
import type { CollectionCalls, Definition, Entry, PageOfEntries, Transaction } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import type { PathsOf, RelatedPage } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { expect, test } from './expect.ts'

declare const app: FastifyInstance

// Schemas of both generations of TypeBox; features before and after relate().

const UserSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  country: Type.String(),
  age: Type.Integer(),
  managerId: Type.Optional(Type.String())
})
const ArticleSchema = Type1.Object({
  id: Type1.String(),
  title: Type1.String(),
  status: Type1.Union([Type1.Literal('draft'), Type1.Literal('published')]),
  words: Type1.Integer(),
  authorId: Type1.String(),
  editorId: Type1.Union([Type1.String(), Type1.Null()]),
  deletedAt: Type1.Optional(Type1.String({ format: 'date-time' }))
})
const CommentSchema = Type.Object({
  id: Type.Integer(),
  text: Type.String(),
  articleId: Type.String(),
  authorId: Type.String(),
  replyTo: Type.Optional(Type.Integer())
})

interface User { id: string; name: string; country: string; age: number; managerId?: string }
interface Article {
  id: string
  title: string
  status: 'draft' | 'published'
  words: number
  authorId: string
  editorId: string | null
  deletedAt?: string
}
interface Comment { id: number; text: string; articleId: string; authorId: string; replyTo?: number }

const related = relate({
  users: define({ name: 'users', schema: UserSchema, storage: memory() }),
  articles: define({ name: 'articles', schema: ArticleSchema, storage: memory() })
    .with(
      softDelete({ property: 'deletedAt' }),
      action('publish', { run: ({ item }) => ({ ...item, status: 'published' }) })
    ),
  comments: define({ name: 'comments', schema: CommentSchema, storage: memory(), id: { generate: 'storage' } })
}, {
  users: {
    articles: { to: 'articles', by: 'authorId', order: ['-words', 'title'] },
    manager: { to: 'users', property: 'managerId', filter: false, sort: false }
  },
  articles: {
    author: { to: 'users', property: 'authorId', references: true },
    editor: { to: 'users', property: 'editorId' },
    comments: { to: 'comments', by: 'articleId', limit: 10, filter: true }
  },
  comments: {
    author: { to: 'users', property: 'authorId' },
    article: { to: 'articles', property: 'articleId' },
    parent: { to: 'comments', property: 'replyTo' },
    replies: { to: 'comments', by: 'replyTo' }
  }
})
const { users, comments } = related
const articles = related.articles.with(
  bulk({ update: true }),
  action('archive', {
    input: Type.Object({ reason: Type.String() }),
    run: ({ item, input }) => ({ ...item, title: `${item.title} (${input.reason})` })
  })
)

test('relate() takes definitions of any library, and returns definitions', async () => {
  app.register(collection, users)
  app.register(collection, { ...articles, prefix: '/v1' })
  expect(articles).type.toBeAssignableTo<Definition>()
  expect(articles).type.toBeAssignableTo<Definition<Article>>()
  const mixed = relate({
    tags: define({ name: 'tags', schema: z.object({ id: z.string(), label: z.string() }), storage: memory() }),
    tagged: define({
      name: 'tagged',
      schema: toStandardJsonSchema(v.object({ id: v.string(), tagId: v.string(), articleId: v.string() })),
      storage: memory()
    }),
    notes: define({ name: 'notes', schema: type({ id: 'number', 'tagId?': 'string' }), storage: memory() }),
    articles: define({ name: 'articles', schema: ArticleSchema, storage: memory() }),
    untyped: define({
      name: 'untyped',
      schema: { type: 'object', properties: { id: { type: 'string' }, tagId: { type: 'string' } }, required: ['id'] },
      storage: memory()
    })
  }, {
    tagged: { tag: { to: 'tags', property: 'tagId' }, article: { to: 'articles', property: 'articleId' } },
    tags: { tagged: { to: 'tagged', by: 'tagId' }, notes: { to: 'notes', by: 'tagId' } },
    notes: { tag: { to: 'tags', property: 'tagId' } },
    articles: { tagged: { to: 'tagged', by: 'articleId' } },
    untyped: { tag: { to: 'tags', property: 'tagId' } }
  })
  const { item } = await app.collection(mixed.articles).read('1', { expand: ['tagged.tag.notes'] })
  const [tagged] = item.tagged.items
  expect(tagged!.tagId).type.toBe<string>()
  expect(tagged!.tag!.label).type.toBe<string>()
  expect(tagged!.tag!.notes).type.toBe<RelatedPage<Readonly<{ id: number; tagId?: string }>>>()
})

const bases = {
  users: define({
    name: 'users',
    schema: Type.Object({ id: Type.String(), name: Type.String(), managerId: Type.Optional(Type.String()) }),
    storage: memory()
  }),
  articles: define({
    name: 'articles',
    schema: Type.Object({ id: Type.String(), title: Type.String(), words: Type.Integer(), authorId: Type.String() }),
    storage: memory()
  }),
  comments: define({
    name: 'comments',
    schema: Type.Object({ id: Type.Integer(), text: Type.String(), articleId: Type.String() }),
    storage: memory()
  })
}

test('relations that cannot be are compile errors', () => {
  relate(bases, {
    articles: {
      // @ts-expect-error is not assignable
      a: { to: 'user', property: 'authorId' },
      // @ts-expect-error is not assignable
      b: { to: 'users', property: 'autorId' },
      // @ts-expect-error is not assignable
      c: { to: 'users', property: 'words' },
      // @ts-expect-error is not assignable
      d: { to: 'comments', by: 'authorId' },
      // @ts-expect-error is not assignable
      e: { to: 'users', property: 'authorId', by: 'managerId' },
      // @ts-expect-error is not assignable
      f: { to: 'users' }
    }
  })
  relate(bases, {
    // @ts-expect-error is not assignable
    article: { author: { to: 'users', property: 'authorId' } },
    articles: {
      // @ts-expect-error is not assignable
      title: { to: 'users', property: 'authorId' },
      // @ts-expect-error is not assignable
      author: { to: 'users', property: 'authorId', limit: 10 },
      // @ts-expect-error is not assignable
      comments: { to: 'comments', by: 'articleId', references: true },
      // @ts-expect-error is not assignable
      others: { to: 'comments', by: 'articleId', limits: 10 },
      // @ts-expect-error is not assignable
      sorted: { to: 'comments', by: 'articleId', sort: true }
    }
  })
  relate(bases, {
    articles: {
      // @ts-expect-error is not assignable
      comments: { to: 'comments', by: 'articleId', order: ['title'] }
    }
  })
})

test('expand with paths includes what is on the way', async () => {
  const calls = app.collection(articles)
  for await (const { item } of calls.list({ expand: ['author', 'comments.author', 'comments.replies.author'] })) {
    expect(item.title).type.toBe<string>()
    expect(item.author).type.toBe<Readonly<User> | null>()
    expect(item.comments).type.toBeAssignableTo<RelatedPage<Readonly<Comment>>>()
    expect(item.comments.items[0]!.author).type.toBe<Readonly<User> | null>()
    expect(item.comments.items[0]!.replies.items[0]!.author).type.toBe<Readonly<User> | null>()
    expect(item.comments.next).type.toBe<string | undefined>()
    expect(item.comments.total).type.toBe<number | undefined>()
    expect(item).type.not.toHaveProperty('editor')
    expect(item.comments.items[0]!).type.not.toHaveProperty('parent')
    expect(item.author!).type.not.toHaveProperty('title')
    // @ts-expect-error is possibly 'null'
    expect(item.author.name).type.toBe<string>()
  }
  const { item } = await app.collection(comments).read(1, { expand: ['parent.article'] })
  expect(item.id).type.toBe<number>()
  expect(item.parent?.article?.words).type.toBe<number | undefined>()
  for await (const { entries } of calls.pages({ expand: ['author'] })) {
    expect(entries[0]!.item.author).type.toBe<Readonly<User> | null>()
  }
})

test('without expand, items are those of the definition', () => {
  const calls = app.collection(articles)
  expect(calls.read('1')).type.toBe<Promise<Entry<Article>>>()
  expect(calls.read('1', {})).type.toBe<Promise<Entry<Article>>>()
  expect(calls.list()).type.toBe<AsyncGenerator<Entry<Article>, void>>()
  expect(calls.list({ limit: 5, sort: ['-words'] })).type.toBe<AsyncGenerator<Entry<Article>, void>>()
  expect(calls.list({ expand: [] })).type.toBe<AsyncGenerator<Entry<Article>, void>>()
  expect(calls.list({ expand: {} })).type.toBe<AsyncGenerator<Entry<Article>, void>>()
  expect(calls.pages()).type.toBe<AsyncGenerator<PageOfEntries<Article>, void>>()
})

test('paths that are only known at run time make everything optional', async () => {
  const mutable: Array<PathsOf<typeof articles>> = ['author', 'comments.author.articles']
  const frozen: ReadonlyArray<PathsOf<typeof articles>> = mutable
  for await (const { item } of app.collection(articles).list({ expand: mutable })) {
    expect(item.author).type.toBeAssignableTo<Readonly<User> | null | undefined>()
    expect(item.comments?.items[0]?.author?.articles?.items[0]?.title).type.toBe<string | undefined>()
    // @ts-expect-error is possibly 'undefined'
    expect(item.comments.items[0]!.text).type.toBe<string>()
  }
  for await (const { item } of app.collection(articles).list({ expand: frozen })) {
    // @ts-expect-error is possibly 'undefined'
    expect(item.comments.items[0]!.text).type.toBe<string>()
  }
  expect<PathsOf<typeof bases.users>>().type.toBe<never>()
})

test('expand with an object has options for each relation', async () => {
  for await (const { item } of app.collection(articles).list({
    expand: {
      author: { fields: ['id', 'name'] },
      comments: {
        limit: 5,
        sort: ['-id', 'author.name'],
        filter: { 'text.like': '*x*', author: { country: 'AT' }, any: [{ id: 1 }] },
        fields: ['id', 'text'],
        count: true,
        expand: { author: { expand: { manager: true } }, replies: { limit: 0, count: true } }
      }
    }
  })) {
    expect(item.author).type.toBe<Readonly<User> | null>()
    expect(item.comments.total).type.toBe<number | undefined>()
    expect(item.comments.items[0]!.author!.manager).type.toBe<Readonly<User> | null>()
    expect(item.comments.items[0]!.replies).type.toBe<RelatedPage<Readonly<Comment>>>()
    expect(item).type.not.toHaveProperty('editor')
  }
})

test('an expansion with unknown names or options is a compile error', () => {
  const calls = app.collection(articles)
  // @ts-expect-error is not assignable
  calls.list({ expand: ['autor'] })
  // @ts-expect-error is not assignable
  calls.list({ expand: ['comments.autor'] })
  // @ts-expect-error is not assignable
  calls.list({ expand: ['comments.author.articles.author'] })
  // @ts-expect-error is not assignable
  calls.list({ expand: ['author' as string] })
  // @ts-expect-error is not assignable
  calls.list({ expand: { author: true, autor: true } })
  // @ts-expect-error is not assignable
  calls.list({ expand: { comments: { expand: { author: true, autor: true } } } })
  // @ts-expect-error 'limit' does not exist in type
  calls.list({ expand: { author: { limit: 5 } } })
  // @ts-expect-error is not assignable
  calls.list({ expand: { author: { fields: ['id'], limit: 5 } } })
  // @ts-expect-error is not assignable
  calls.list({ expand: { comments: { limit: 5, limits: 5 } } })
  // @ts-expect-error is not assignable
  calls.list({ expand: { comments: { limit: 5, filter: { 'title.like': '*x*' } } } })
  // @ts-expect-error is not assignable
  calls.list({ expand: { comments: { limit: 5, sort: ['title'] } } })
  // @ts-expect-error is not assignable
  calls.list({ expand: { comments: { limit: 5, fields: ['title'] } } })
  // @ts-expect-error is not assignable
  calls.read('1', { expand: ['autor'] })
  // @ts-expect-error does not exist in type
  calls.read('1', { expnd: ['author'] })
})

test('filters and sorts follow relations', () => {
  const calls = app.collection(articles)
  calls.list({
    filter: {
      status: 'published',
      'words.gte': 100,
      'author.country': 'AT',
      'author.age.gte': 18,
      editor: { manager: { 'name.like': 'A*' } },
      comments: { some: { 'text.like': '*x*', author: { country: 'AT' } }, 'count.gte': 3 },
      any: [{ 'editor.country.in': ['AT', 'DE'] }, { comments: { none: { authorId: '1' } } }],
      not: { author: { articles: { count: 0 } } }
    },
    sort: ['author.name', '-editor.age', '-words']
  })
  // @ts-expect-error does not exist
  calls.list({ filter: { 'author.county': 'AT' } })
  // @ts-expect-error does not exist
  calls.list({ filter: { 'author.country.likes': 'A*' } })
  // @ts-expect-error does not exist
  calls.list({ filter: { comments: { some: { 'title.like': '*x*' } } } })
  // @ts-expect-error does not exist
  calls.list({ filter: { comments: { text: 'x' } } })
  // @ts-expect-error does not exist
  calls.list({ filter: { editor: { manager: { title: 'x' } } } })
  // @ts-expect-error is not assignable
  calls.list({ filter: { comments: { 'count.gte': '3' } } })
  // @ts-expect-error does not exist
  calls.list({ filter: { 'author.manager.name': 'Ada' } })
  // @ts-expect-error is not assignable
  calls.list({ sort: ['comments.text'] })
  // @ts-expect-error is not assignable
  calls.list({ sort: ['author.county'] })
  // @ts-expect-error is not assignable
  calls.list({ sort: ['wrds'] })
})

test('other calls are those of all collections, also in transactions', async () => {
  const calls = app.collection(articles)
  expect(calls.publish('1')).type.toBe<Promise<Entry<Article>>>()
  expect(calls.archive).type.toBeCallableWith('1', { reason: 'old' })
  // @ts-expect-error Expected 2-3 arguments, but got 1
  calls.archive('1')
  expect(calls.update('1', { title: 'New' })).type.toBe<Promise<Entry<Article>>>()
  expect(calls.createMany([{ title: 'New' }])).type.toBe<Promise<ReadonlyArray<Entry<Article>>>>()
  expect(calls.updateMany).type.toBeCallableWith({ filter: { status: 'draft' } }, { words: 1 })
  expect(app.collection(comments)).type.not.toHaveProperty('publish')
  await calls.transaction(async (transaction: Transaction) => {
    expect(transaction.collection(articles)).type.toBe<typeof calls>()
    const { item } = await transaction.collection(articles).read('1', { expand: ['author'] })
    expect(item.author).type.toBe<Readonly<User> | null>()
    expect(await transaction.lock(articles, ['1'])).type.toBe<readonly [Entry<Article>]>()
    expect(await transaction.lock(calls, ['1'])).type.toBe<readonly [Entry<Article>]>()
  })
})

test('a definition without relations has the calls that it had', () => {
  expect(app.collection(bases.users)).type.toBe<
    CollectionCalls<{ id: string; name: string; managerId?: string }>
  >()
  // @ts-expect-error 'expand' does not exist in type
  app.collection(bases.users).list({ expand: ['manager'] })
  // @ts-expect-error 'expand' does not exist in type
  app.collection(bases.users).read('1', { expand: ['manager'] })
})

test('functions can be generic about definitions', () => {
  async function readName<Item extends { name: string }, Adds> (definition: Definition<Item, Adds>): Promise<string> {
    for await (const { item } of app.collection(definition).list()) expect(item.name).type.toBe<Item['name']>()
    return (await app.collection(definition).read('1')).item.name
  }
  expect(readName(users)).type.toBe<Promise<string>>()
  expect(readName(bases.users)).type.toBe<Promise<string>>()
})

test('the typed client takes the filters of calls from code', async () => {
  const remote = client<typeof articles>('/articles')
  for await (const { item: article } of remote.list({
    expand: ['author', 'comments.author'],
    filter: {
      title: 'x',
      'author.country': 'AT',
      author: { manager: { 'name.like': 'A*' } },
      comments: { some: { 'text.like': '*x*' }, none: { author: { country: 'AT' } }, 'count.gte': 3 },
      any: [{ title: 'x' }, { comments: { count: 1 } }]
    },
    sort: ['author.name', '-words']
  })) {
    expect(article.title).type.toBe<string>()
    expect(article.author?.name).type.toBe<string | undefined>()
    expect(article.comments.items[0]!.author?.country).type.toBe<string | undefined>()
    expect(article.comments.next).type.toBe<string | undefined>()
    expect(article).type.not.toHaveProperty('editor')
  }
  const article = await remote.read('1', {
    expand: { comments: { limit: 3, sort: ['-id'], filter: { author: { country: 'AT' } }, expand: { author: true } } }
  })
  expect(article.item.comments.items[0]!.author?.country).type.toBe<string | undefined>()
  for await (const { entries } of remote.pages({ expand: ['author'], limit: 5 })) {
    expect(entries[0]!.item.author?.country).type.toBe<string | undefined>()
  }
  type Read = ClientEntry<Readonly<Omit<Article, never>>>
  expect(remote.read('1')).type.toBe<Promise<Read>>()
  expect(remote.list()).type.toBe<AsyncGenerator<Read, void>>()
  expect(remote.archive).type.toBeCallableWith(article, { reason: 'old' })
  expect(remote.update).type.toBeCallableWith(article, { title: 'New' })
  expect(remote.createMany).type.toBeCallableWith([{
    title: 'New', status: 'draft', words: 1, authorId: '1', editorId: null
  }])

  // @ts-expect-error is not assignable
  remote.list({ expand: ['autor'] })
  // @ts-expect-error is not assignable
  remote.list({ expand: { author: true, autor: true } })
  // @ts-expect-error does not exist in type
  remote.list({ filter: { 'autor.country': 'AT' } })
  // @ts-expect-error does not exist in type
  remote.list({ filter: { 'author.county': 'AT' } })
  // @ts-expect-error does not exist in type
  remote.list({ filter: { author: { county: 'AT' } } })
  // @ts-expect-error does not exist in type
  remote.list({ filter: { comments: { some: { title: 'x' } } } })
  // @ts-expect-error does not exist in type
  remote.list({ 'author.country': 'AT' })
  // @ts-expect-error is not assignable
  remote.list({ expand: { comments: { limit: 5, filter: { county: 'AT' } } } })
  // @ts-expect-error is not assignable
  remote.list({ sort: ['comments.text'] })
  const seen = client<typeof articles, { writeOnly: 'words' }>('/articles')
  const { item } = await seen.read('1', { expand: ['author'] })
  expect(item).type.toBeAssignableTo<{ author: Readonly<User> | null }>()
  expect(item).type.not.toHaveProperty('words')
})

test('the parts of batches are those of definitions without relations', async () => {
  const parts = batchClient<{ '/articles': typeof articles; '/users': typeof bases.users }>('/batch')
  const [article] = await parts.batch([{ method: 'GET', path: '/articles/1' }])
  expect(article.content).type.toBe<Article>()
  const [archived] = await parts.batch([{
    method: 'POST', path: '/articles/1/archive', content: { reason: 'old' }
  }])
  expect(archived.content).type.toBe<Article>()
})
