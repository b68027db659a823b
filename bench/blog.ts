// A blog of 1000 articles by 50 authors, with 5 comments on each, for bench/relations.ts.
import { Type } from '@sinclair/typebox'
import { define } from '../lib/index.ts'
import { relate } from '../lib/relations/relate.ts'
import type { SqlAdapter } from '../lib/storage/sql.ts'

const createdAt = Type.String({ format: 'date-time', readOnly: true })

export const Author = Type.Object({ id: Type.Integer(), name: Type.String(), country: Type.String() })
export const Article = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  text: Type.String(),
  authorId: Type.Integer(),
  createdAt
})
export const Comment = Type.Object({
  id: Type.Integer(),
  articleId: Type.Integer(),
  name: Type.String(),
  text: Type.String(),
  createdAt
})

export function defineBlog (storage: SqlAdapter) {
  const id = { generate: 'storage' } as const
  return relate({
    authors: define({ name: 'authors', schema: Author, id, storage }),
    articles: define({ name: 'articles', schema: Article, id, storage }),
    comments: define({ name: 'comments', schema: Comment, id, storage })
  }, {
    articles: {
      author: { to: 'authors', property: 'authorId' },
      comments: { to: 'comments', by: 'articleId', limit: 5 }
    }
  })
}

const time = '2026-01-01T00:00:00.000Z'
const articleText = 'A text of a usual length, such as the beginning of an article. '.repeat(3)

function list (length: number, row: (number: number) => string): string {
  return Array.from({ length }, (_, index) => row(index)).join()
}

/** The statements that fill the tables, for SQLite and PostgreSQL. */
export const rows = [
  `INSERT INTO authors (name, country, version) VALUES ${list(50, (n) => `('Author ${n}', 'AT', 'a${n}')`)}`,
  `INSERT INTO articles (title, text, "authorId", "createdAt", version) VALUES ${
    list(1000, (n) => `('Title number ${n}', '${articleText}', ${1 + n * 7 % 50}, '${time}', 'b${n}')`)}`,
  `INSERT INTO comments ("articleId", name, text, "createdAt", version) VALUES ${
    list(5000, (n) => `(${1 + n % 1000}, 'Reader ${n}', 'Comment number ${n}, of some words', '${time}', 'c${n}')`)}`
]
