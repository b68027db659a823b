import { test } from 'tap'
import { request } from '../app.ts'
import { links } from '../query/goods.ts'
import { serveBlog } from './blog.ts'

// Lists that are filtered and sorted by what is related.

test('unprefixed dotted names filter the list itself', async (t) => {
  const app = await serveBlog(t)
  const filters: ReadonlyArray<readonly [query: string, ids: readonly string[]]> = [
    ['author.country=AT', ['a1']],
    ['author.country.in=AT,DE', ['a1', 'a2']],
    ['author.manager.country=AT', ['a2']],
    ['author.name=Ada&author.country=AT', ['a1']],
    ['author.name=Ada&author.country=DE', []],
    ['comments.some.text=c2', ['a1']],
    ['comments.some.text.like=c1*', ['a1', 'a2']],
    ['comments.some.text=c2&comments.some.author.name=Bob', ['a1']],
    ['comments.some.text=c2&comments.some.author.name=Ada', []],
    ['comments.none.text=c2', ['a2', 'a3', 'a4']],
    ['comments.count=0', ['a3', 'a4']],
    ['comments.count.gte=6', ['a1']],
    ['comments.count.in=0,5', ['a2', 'a3', 'a4']],
    ['comments.count.gt=0&title=Two', ['a2']],
    ['expand=comments&expand.comments.text=c2&comments.some.text=c1', ['a2']]
  ]
  for (const [query, ids] of filters) {
    const answer = await request(app, `GET /articles?${query}`)
    t.equal(answer.statusCode, 200, answer.body)
    t.strictSame(answer.json().map(({ id }: { id: string }) => id), ids, query)
  }
  t.strictSame(
    (await request(app, 'GET /users?articles.some.comments.count.gt=5')).json().map(({ id }: { id: string }) => id),
    ['u1']
  )
})

test('QUERY filters with nested objects', async (t) => {
  const app = await serveBlog(t)
  const filters: ReadonlyArray<readonly [filter: object, ids: readonly string[]]> = [
    [{ 'comments.some.text': 'c2', 'comments.some.author.name': 'Ada' }, []],
    // An object of its own is about a comment of its own.
    [{ all: [{ 'comments.some.text': 'c2' }], 'comments.some.author.name': 'Ada' }, ['a1']],
    [{ author: { country: 'AT' } }, ['a1']],
    [{ 'author.country': 'AT' }, ['a1']],
    [{ author: { manager: { name: 'Cleo' } } }, ['a2']],
    [{ comments: { some: { text: 'c2', author: { name: 'Bob' } }, 'count.gte': 3 } }, ['a1']],
    [{ comments: { none: {} } }, ['a3', 'a4']],
    [{ not: { author: { country: 'AT' } } }, ['a2', 'a3', 'a4']],
    [{ any: [{ author: { name: 'Bob' } }, { comments: { count: 10 } }] }, ['a1', 'a2']]
  ]
  for (const [filter, ids] of filters) {
    const answer = await request(app, 'QUERY /articles', { content: { filter } })
    t.equal(answer.statusCode, 200, answer.body)
    t.strictSame(answer.json().map(({ id }: { id: string }) => id), ids, JSON.stringify(filter))
  }
})

test('a cursor continues a QUERY, whatever the order of its conditions', async (t) => {
  const app = await serveBlog(t)
  const conditions = [{ 'title.ne': 'x' }, { author: { 'country.ne': 'x' } }, { comments: { none: { text: 'x' } } }]
  const inside = [{ 'text.ne': 'x' }, { author: { 'name.ne': 'x' } }]
  for (const filter of [{ all: conditions }, { all: conditions.toReversed() }, { comments: { some: { all: inside } } },
    { comments: { some: { all: inside.toReversed() } } }]) {
    const first = await request(app, 'QUERY /articles?limit=1', { content: { filter } })
    t.equal(first.statusCode, 200, first.body)
    const { next } = links(first)
    const equivalent = String(first.headers['content-location'])
    // The query string has the same conditions as the content, in another order.
    for (const target of [`QUERY ${next}`, `QUERY ${equivalent}&cursor=${next!.split('cursor=')[1]}`]) {
      const second = await request(app, target, { content: { filter } })
      t.equal(second.statusCode, 200, second.body)
      t.equal(second.json()[0].id, 'a2')
    }
  }
})

test('a list is sorted by a property of a related item; a missing one sorts as null', async (t) => {
  const app = await serveBlog(t)
  for (const [sort, ids] of [
    ['author.name', ['a1', 'a2', 'a3', 'a4']],
    ['-author.name,-id', ['a4', 'a3', 'a2', 'a1']],
    ['author.country,-title', ['a1', 'a2', 'a3', 'a4']]
  ] as const) {
    const whole = await request(app, `GET /articles?sort=${sort}`)
    t.equal(whole.statusCode, 200, whole.body)
    const found = whole.json().map(({ id }: { id: string }) => id)
    t.strictSame(found, ids, sort)
    const paged: string[] = []
    for (let url: string | undefined = `/articles?sort=${sort}&limit=1`; url !== undefined;) {
      const page = await request(app, `GET ${url}`)
      paged.push(...page.json().map(({ id }: { id: string }) => id))
      url = /<([^>]*)>; rel="next"/.exec(String(page.headers.link ?? ''))?.[1]
    }
    t.strictSame(paged, found, `${sort}, page by page`)
  }
})

test('a cursor of another query is refused', async (t) => {
  const app = await serveBlog(t)
  const { headers } = await request(app, 'GET /articles?sort=author.name&limit=1')
  const next = /<([^>]*)>; rel="next"/.exec(String(headers.link))![1]!
  t.match((await request(app, `GET ${next.replace('author.name', 'author.country')}`)).json(), {
    status: 400,
    parameter: 'cursor'
  })
})
