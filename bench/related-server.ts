// Servers of bench/relations.ts: articles with their author and 5 comments, by the library and hand-written.
import { hash } from 'node:crypto'
import type { Server } from 'node:http'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import collection from '../lib/index.ts'
import type { SqlAdapter } from '../lib/storage/sql.ts'
import { Article, Author, Comment, defineBlog, rows } from './blog.ts'
import { createDatabase, createFile } from './databases.ts'

type Row<Name extends string> = Record<Name, string | number | Date>
type ArticleRow = Row<'id' | 'title' | 'text' | 'authorId' | 'createdAt' | 'version'>
type AuthorRow = Row<'id' | 'name' | 'country' | 'version'>
type CommentRow = Row<'number' | 'id' | 'articleId' | 'name' | 'text' | 'createdAt' | 'version'>

/** The statements that the library sends, with the driver alone. */
interface Queries {
  listArticles (first: number, limit: number): Promise<ArticleRow[]>
  findAuthors (ids: readonly number[]): Promise<AuthorRow[]>
  /** Up to so many comments on each article. `number` is the index of the article. */
  listComments (articleIds: readonly number[], limit: number): Promise<CommentRow[]>
}

interface OpenedBlog {
  readonly adapter: SqlAdapter
  readonly queries: Queries
  run (statement: string): Promise<unknown>
}

const articles = 'SELECT "id", "title", "text", "authorId", "createdAt", "version" FROM "articles"'
const authors = 'SELECT "id", "name", "country", "version" FROM "authors"'

function createList (length: number, write: (index: number) => string): string {
  return Array.from({ length }, (_, index) => write(index)).join(', ')
}

async function openSqlite (): Promise<OpenedBlog> {
  const { DatabaseSync } = await import('node:sqlite')
  const { sqlite } = await import('../lib/storage/sqlite.ts')
  const database = new DatabaseSync(createFile())
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  const statements = new Map<string, ReturnType<typeof database.prepare>>()
  /** The columns are those of the statement. */
  function read<Found> (text: string, values: readonly number[]): Found[] {
    const known = statements.get(text) ?? database.prepare(text)
    statements.set(text, known)
    return known.all(...values) as Found[]
  }
  return {
    adapter: sqlite(database),
    run: async (statement) => { database.exec(statement) },
    queries: {
      listArticles: async (first, limit) => read(`${articles} WHERE "id" >= ? ORDER BY "id" LIMIT ?`, [first, limit]),
      findAuthors: async (ids) => {
        return read(`${authors} WHERE "id" IN (${createList(ids.length, () => '?')}) ORDER BY "id"`, ids)
      },
      listComments: async (ids, limit) => read(`WITH given(number, value) AS (
        VALUES ${createList(ids.length, (index) => `(${index}, ?)`)}
      ) SELECT given.number, found."id", found."articleId", found."name", found."text", found."createdAt",
        found."version" FROM given CROSS JOIN "comments" AS found WHERE found."id" IN (
        SELECT listed."id" FROM "comments" AS listed WHERE listed."articleId" = given.value
        ORDER BY listed."id" LIMIT ?
      ) ORDER BY given.number, found."id"`, [...ids, limit])
    }
  }
}

async function openPostgres (): Promise<OpenedBlog> {
  const { default: pg } = await import('pg')
  const { postgres } = await import('../lib/storage/postgres.ts')
  const connectionString = await createDatabase()
  const pool = new pg.Pool({ connectionString })
  const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
    return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)
  }
  const ownPool = new pg.Pool({ connectionString, types: { getTypeParser } })
  const names = new Map<string, string>()
  async function read<Found extends object> (text: string, values: readonly unknown[]): Promise<Found[]> {
    const name = names.get(text) ?? `statement_${names.size}`
    names.set(text, name)
    return (await ownPool.query<Found>({ name, text, values: [...values] })).rows
  }
  return {
    adapter: postgres(pool),
    run: (statement) => pool.query(statement),
    queries: {
      listArticles: (first, limit) => read(`${articles} WHERE "id" >= $1 ORDER BY "id" LIMIT $2`, [first, limit]),
      findAuthors: (ids) => {
        const places = createList(ids.length, (index) => `$${index + 1}`)
        return read(`${authors} WHERE "id" IN (${places}) ORDER BY "id"`, ids)
      },
      listComments: (ids, limit) => read(`SELECT given.number, page.* FROM (
        SELECT number - 1 AS number, value
        FROM unnest($1::text::bigint[]) WITH ORDINALITY AS keys (value, number)
      ) AS given CROSS JOIN LATERAL (
        SELECT listed."id", listed."articleId", listed."name", listed."text", listed."createdAt", listed."version"
        FROM "comments" AS listed WHERE listed."articleId" = given.value ORDER BY listed."id" LIMIT $2
      ) AS page`, [`{${ids.join()}}`, limit])
    }
  }
}

const blogs: Record<string, () => Promise<OpenedBlog>> = { sqlite: openSqlite, postgres: openPostgres }

interface ListQuery {
  Querystring: { limit: number, 'id.gte': number, expand: string, 'expand.comments.limit': number }
}

/**
 * Fastify as its guide shows it: a schema for the query and for the response, which compiles its serializer. With
 * features, it has the headers of the library as well: an entity tag of all versions, which 304 needs, and links.
 */
function createHandWritten (queries: Queries, hasFeatures: boolean) {
  const querystring = Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
    'id.gte': Type.Integer(),
    expand: Type.Literal('author,comments'),
    'expand.comments.limit': Type.Integer({ minimum: 1, maximum: 100, default: 5 })
  })
  const Expanded = Type.Object({
    ...Article.properties,
    author: Type.Union([Author, Type.Null()]),
    comments: Type.Object({ items: Type.Array(Comment), next: Type.Optional(Type.String()) })
  })
  const app = Fastify()
  app.get<ListQuery>('/articles', {
    schema: { querystring, response: { 200: Type.Array(Expanded) } }
  }, async ({ query, headers, originalUrl }, reply) => {
    const { limit, 'id.gte': first, 'expand.comments.limit': perArticle } = query
    const found = await queries.listArticles(first, limit + 1)
    const page = found.slice(0, limit)
    const authorIds = [...new Set(page.map(({ authorId }) => Number(authorId)))]
    const byId = new Map((await queries.findAuthors(authorIds)).map((author) => [author.id, author]))
    const lists = page.map((): CommentRow[] => [])
    const ids = page.map(({ id }) => Number(id))
    for (const comment of await queries.listComments(ids, perArticle + 1)) lists[Number(comment.number)]!.push(comment)
    if (hasFeatures) {
      let versions = `${found.length > limit}`
      for (const [index, { id, version, authorId }] of page.entries()) {
        versions += `\n${id} ${version} ${byId.get(authorId)?.version}`
        for (const comment of lists[index]!) versions += ` ${comment.version}`
      }
      const tag = `"${hash('sha1', versions, 'base64url')}"`
      reply.header('cache-control', 'no-cache').header('vary', 'Accept, Prefer').header('etag', tag)
      reply.header('x-content-type-options', 'nosniff')
      const next = `<${originalUrl}&after=${page.at(-1)?.id}>; rel="next"`
      reply.header('link', `${found.length > limit ? `${next}, ` : ''}<${originalUrl}>; rel="first"`)
      if (headers['if-none-match'] === tag) return reply.code(304).send()
    }
    return page.map((article, index) => {
      const all = lists[index]!
      const items = all.slice(0, perArticle)
      const next = all.length > perArticle ? `/comments?articleId=${article.id}&after=${items.at(-1)!.id}` : undefined
      return { ...article, author: byId.get(article.authorId) ?? null, comments: { items, next } }
    })
  })
  return app
}

async function createOurs (blog: ReturnType<typeof defineBlog>) {
  const app = Fastify()
  for (const definition of Object.values(blog)) await app.register(collection, definition)
  return app
}

/** Starts one of the `relatedContestants`, with a filled database. */
export async function startRelated (name: string, store: string): Promise<Server> {
  const { adapter, queries, run } = await blogs[store]!()
  const blog = defineBlog(adapter)
  for (const definition of Object.values(blog)) await adapter.createTable(definition)
  for (const statement of rows) await run(statement)
  await run('ANALYZE')
  const app = name === 'related' ? await createOurs(blog) : createHandWritten(queries, name === 'related features')
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
}
