import { tracingChannel } from 'node:diagnostics_channel'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { define } from '../../lib/index.ts'
import type { Definition, StatementEvent } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { build, request } from '../app.ts'
import { databases } from '../storage/databases.ts'
import type { SqlAdapter } from '../storage/databases.ts'

const User = Type.Object({ id: Type.Integer(), name: Type.String({ maxLength: 50 }) })
const Article = Type.Object({ id: Type.Integer(), title: Type.String({ maxLength: 50 }), authorId: Type.Integer() })
const Comment = Type.Object({
  id: Type.Integer(),
  text: Type.String({ maxLength: 50 }),
  articleId: Type.Integer(),
  authorId: Type.Integer()
})

function defineBlog (storage: SqlAdapter): Readonly<Record<string, Definition>> {
  const id = { generate: 'storage' } as const
  const list = { limit: { default: 20, maximum: 100 } }
  return relate({
    users: define({ name: 'users', schema: User, storage, id }),
    articles: define({ name: 'articles', schema: Article, storage, id, list }),
    comments: define({ name: 'comments', schema: Comment, storage, id })
  }, {
    users: { articles: { to: 'articles', by: 'authorId' } },
    articles: { author: { to: 'users', property: 'authorId' }, comments: { to: 'comments', by: 'articleId', limit: 5 } },
    comments: { author: { to: 'users', property: 'authorId' } }
  })
}

/** 10 users, 100 articles, and up to 7 comments on each. */
function getRows (): string[] {
  const articles = Array.from({ length: 100 }, (_, index) => `('Title ${index}', ${1 + index % 10}, 'v')`)
  const comments = Array.from({ length: 400 }, (_, index) => {
    return `('Text ${index}', ${1 + index * 7 % 100 % (1 + index % 90)}, ${1 + index % 10}, 'v')`
  })
  return [
    `INSERT INTO users (name, version) VALUES ${Array.from({ length: 10 }, (_, index) => `('User ${index}', 'v')`)}`,
    `INSERT INTO articles (title, "authorId", version) VALUES ${articles}`,
    `INSERT INTO comments (text, "articleId", "authorId", version) VALUES ${comments}`
  ]
}

const channel = tracingChannel<unknown, StatementEvent>('fastify-collections:statement')

/** Returns the statements of a request. */
async function trace (app: FastifyInstance, url: string): Promise<string[]> {
  const texts: string[] = []
  const note = ({ text }: StatementEvent): void => {
    texts.push(text)
  }
  channel.start.subscribe(note as (message: unknown) => void)
  const { statusCode, payload } = await request(app, `GET ${url}`)
  channel.start.unsubscribe(note as (message: unknown) => void)
  if (statusCode !== 200) throw new Error(payload)
  return texts
}

for (const { name: kind, skip, open } of databases) {
  test(`${kind}: the number of statements does not depend on the number of rows`, { skip }, async (t) => {
    const database = await open()
    t.after(() => database.end())
    const adapter = database.adapter()
    const definitions = defineBlog(adapter)
    for (const definition of Object.values(definitions)) await adapter.createTable(definition)
    for (const sql of getRows()) await database.run(kind === 'mysql' ? sql.replaceAll('"', '`') : sql)
    const app = await build(t, Object.values(definitions))
    // The tables are checked when the app starts.
    await app.ready()
    const cases: ReadonlyArray<[query: string, statements: number]> = [
      ['', 1],
      ['&author.name=User 3', 1],
      ['&author.name.ne=User 3&comments.some.author.name=User 5&comments.count.gte=2', 1],
      ['&sort=-author.name,title', 1],
      ['&expand=author', 2],
      ['&expand=author,comments', 3],
      ['&expand=author,comments.author', 4],
      ['&expand=author,comments.author&author.name.ne=User 3&sort=author.name&comments.none.text=Text 7', 4],
      ['&expand=comments&expand.comments.author.name.ne=User 5&expand.comments.sort=-author.name', 2],
      ['&expand=comments&expand.comments.limit=0', 2]
    ]
    for (const [query, statements] of cases) {
      for (const limit of [1, 20, 100]) {
        const texts = await trace(app, `/articles?limit=${limit}${query}`.replaceAll(' ', '%20'))
        t.equal(texts.length, statements, `limit=${limit}${query}`)
      }
    }
  })
}
