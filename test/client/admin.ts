import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { bulk } from '../../lib/features/bulk.ts'
import collection, { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import type { SqlAdapter } from '../../lib/storage/sql.ts'
import { listen } from '../wire.ts'

// What the tests of the data providers read and write: users whose id is a login, their articles, and comments.

export type StorageKind = 'memory' | 'sqlite'

export interface Article {
  readonly id: number
  readonly title: string
  readonly slug: string
  readonly authorId: string
  readonly views: number
  readonly tags: readonly string[]
  readonly place?: { readonly city: string }
  readonly note?: string
}

interface Comment {
  readonly text: string
  readonly articleId: number
}

export function defineAdmin (sql?: SqlAdapter) {
  const User = Type.Object({
    login: Type.String({ pattern: '^[a-z]+$', maxLength: 20 }),
    name: Type.String({ minLength: 1, maxLength: 60 }),
    country: Type.String({ minLength: 2, maxLength: 2 })
  })
  const Article = Type.Object({
    id: Type.Integer({ readOnly: true }),
    title: Type.String({ minLength: 3, maxLength: 80 }),
    slug: Type.String({ pattern: '^[a-z0-9-]+$', maxLength: 80 }),
    authorId: Type.String({ maxLength: 20 }),
    views: Type.Integer({ minimum: 0, default: 0 }),
    tags: Type.Array(Type.String({ maxLength: 20 }), { default: [], maxItems: 10 }),
    place: Type.Optional(Type.Object({ city: Type.String({ maxLength: 40 }) })),
    note: Type.Optional(Type.String({ maxLength: 200 })),
    updatedAt: Type.String({ format: 'date-time', readOnly: true })
  })
  const Comment = Type.Object({
    id: Type.Integer({ readOnly: true }),
    text: Type.String({ maxLength: 200 }),
    articleId: Type.Integer()
  })
  return relate({
    users: define({ name: 'users', schema: User, id: { property: 'login', generate: 'client' }, storage: sql ?? memory() }).with(bulk()),
    articles: define({
      name: 'articles',
      schema: Article,
      id: { generate: 'storage' },
      unique: ['slug'],
      timestamps: { updated: 'updatedAt' },
      list: { search: ['title'] },
      storage: sql ?? memory()
    }).with(bulk({ maximum: 1000 })),
    comments: define({ name: 'comments', schema: Comment, id: { generate: 'storage' }, storage: sql ?? memory() }).with(bulk())
  }, {
    users: { articles: { to: 'articles', by: 'authorId' } },
    articles: {
      author: { to: 'users', property: 'authorId', references: true },
      comments: { to: 'comments', by: 'articleId', limit: 2 }
    },
    comments: { article: { to: 'articles', property: 'articleId' } }
  })
}

/** Requests that a provider has sent: `PATCH /articles/1 "tag" 200`. */
export interface Recorder {
  readonly fetch: typeof fetch
  readonly sent: string[]
  /** How many requests were under way at once. */
  most: number
}

export function recordRequests (origin: string, accept?: string): Recorder {
  let count = 0
  const recorder: Recorder = {
    sent: [],
    most: 0,
    fetch: async (input, init) => {
      recorder.most = Math.max(recorder.most, ++count)
      const headers = new Headers(init?.headers)
      if (accept !== undefined) headers.set('accept', accept)
      try {
        const response = await fetch(input, { ...init, headers })
        const uri = decodeURIComponent(String(input).replace(origin, ''))
        recorder.sent.push(`${init?.method ?? 'GET'} ${uri} ${headers.get('if-match') ?? '-'} ${response.status}`)
        return response
      } finally {
        count--
      }
    }
  }
  return recorder
}

export interface Admin {
  readonly app: FastifyInstance
  readonly origin: string
  readonly articles: readonly Article[]
  readonly comments: readonly Comment[]
  /** Sends a request of another client. */
  readonly send: (method: 'GET' | 'PATCH' | 'DELETE', path: string, content?: object) => Promise<Record<string, unknown>>
}

export const countries: Readonly<Record<string, string>> = { ada: 'AT', bob: 'DE', cyd: 'CH' }

export async function serveAdmin (
  t: { after (close: () => Promise<unknown>): void },
  kind: StorageKind = 'memory',
  prepare?: (app: FastifyInstance) => unknown
): Promise<Admin> {
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  await prepare?.(app)
  const sql = kind === 'sqlite' ? sqlite(new DatabaseSync(':memory:')) : undefined
  for (const definition of Object.values(defineAdmin(sql))) {
    await sql?.createTable(definition)
    await app.register(collection, definition as never)
  }
  const post = async <Made>(url: string, payload: object): Promise<Made> => {
    const response = await app.inject({ method: 'POST', url, payload })
    if (response.statusCode !== 201) throw new Error(response.body)
    return response.json<Made>()
  }
  const logins = Object.keys(countries)
  await post('/users', logins.map((login) => ({ login, name: login[0]!.toUpperCase() + login.slice(1), country: countries[login] })))
  const articles = await post<Article[]>('/articles', Array.from({ length: 230 }, (_, index) => ({
    title: `Post ${String(index).padStart(3, '0')}`,
    slug: `post-${index}`,
    authorId: logins[index % 3],
    views: index,
    tags: index % 2 === 0 ? ['even', 'all'] : ['odd'],
    ...index % 5 === 0 && { place: { city: index % 10 === 0 ? 'Wien' : 'Rome' } }
  })))
  const comments = await post<Comment[]>('/comments', Array.from({ length: 30 }, (_, index) => ({
    text: index % 4 === 0 ? `bad ${index}` : `good ${index}`,
    articleId: articles[index % 7]!.id
  })))
  return {
    app,
    origin: `http://127.0.0.1:${await listen(app)}`,
    articles,
    comments,
    send: async (method, url, payload) => {
      const response = await app.inject({ method, url, ...payload && { payload } })
      return response.body === '' ? {} : response.json()
    }
  }
}
