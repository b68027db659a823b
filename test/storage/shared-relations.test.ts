import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { build, request } from '../app.ts'

// A filter to a related item and back, such as comments by the other comments of their author. SQLite evaluates EXISTS
// for each row, so with one author of all comments it would read all of them for each.

const Author = Type.Object({ id: Type.Integer(), name: Type.String() })
const Comment = Type.Object({
  id: Type.Integer(),
  authorId: Type.Union([Type.Integer(), Type.Null()]),
  text: Type.String()
})

const size = 300

test('sqlite: a filter to a related item and back reads each row a few times', async (t) => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  let reads = 0
  database.function('counted', (text) => {
    reads++
    return text
  })
  database.exec(`
    CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE stored (id INTEGER PRIMARY KEY, authorId INTEGER, text TEXT NOT NULL);
    CREATE INDEX by_author ON stored (authorId);
    CREATE VIEW comments AS SELECT id, authorId, counted(text) AS text FROM stored;
    INSERT INTO authors VALUES (1, 'Ada'), (2, 'Bob'), (3, 'Eve');
    INSERT INTO stored VALUES (1, NULL, 'a'), (2, 2, 'zzz'), (3, 2, 'b')`)
  const insert = database.prepare("INSERT INTO stored VALUES (?, 1, 'c')")
  for (let id = 4; id <= size; id++) insert.run(id)

  const options = { id: { generate: 'client' }, storage: sqlite(database, { version: { derived: true } }) } as const
  const { authors, comments } = relate({
    authors: define({ ...options, name: 'authors', schema: Author, list: { filter: ['name'] } }),
    comments: define({ ...options, name: 'comments', schema: Comment, list: { filter: ['authorId', 'text'] } })
  }, {
    authors: { comments: { to: 'comments', by: 'authorId' } },
    comments: { author: { to: 'authors', property: 'authorId' } }
  })
  const app = await build(t, [authors, comments])
  for (const [filter, total] of [
    ['author.comments.some.text=zzz', 2],
    ['author.comments.none.text=zzz', size - 3],
    ['author.comments.count=2', 2],
    ['author.comments.count.gte=3', size - 3],
    ['author.comments.count.lt=3', 2],
    ['author.comments.count.gte=200', size - 3],
    ['author.comments.count.lt=200', 2],
    ['author.comments.some.author.name=Bob', 2],
    ['author.comments.none.author.name=Bob', size - 3]
  ] as const) {
    reads = 0
    const answer = await request(app, `GET /comments?count=true&limit=10&${filter}`)
    t.equal(answer.statusCode, 200)
    t.equal(answer.headers['x-total-count'], String(total), filter)
    // The list, the count, and the comments of authors.
    t.ok(reads <= 5 * size, `${filter}: ${reads}`)
  }
})
