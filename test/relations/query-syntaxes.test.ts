import { test } from 'tap'
import { jsonServer } from '../../lib/features/query-syntaxes/json-server.ts'
import { reactAdmin } from '../../lib/features/query-syntaxes/react-admin.ts'
import { refine } from '../../lib/features/query-syntaxes/refine.ts'
import { defineBlog, serveBlog } from './blog.ts'

// Relations in the query strings of admin clients.

interface Article {
  id: string
  author?: { name: string } | null
  comments?: { items: object[] }
}

/** The ids of the articles, with what they include. */
const cases: Readonly<Record<string, ReadonlyArray<[query: string, expected: string]>>> = {
  'react-admin': [
    ['embed=["author","comments"]', 'a1 Ada 3, a2 Bob 3, a3 null 0, a4 null 0'],
    ['filter={"author.country":"AT"}', 'a1'],
    ['filter={"author":{"country":"AT"}}&embed=["author"]', 'a1 Ada'],
    ['filter={"author":{"manager":{"name":"Cleo"}}}', 'a2'],
    ['filter={"author":{"country":"AT","name":"Bob"}}', ''],
    ['filter={"author.id":["u1","u2"]}', 'a1, a2'],
    ['filter={"comments.some.text":"c1"}', 'a2'],
    ['filter={"comments.count_gte":6}', 'a1'],
    ['sort=["author.name","DESC"]', 'a3, a4, a2, a1'],
    ['embed=["author"]&range=[1,1]', 'a2 Bob'],
    ['expand=author&author.country=DE', 'a2 Bob']
  ],
  'json-server': [
    ['_embed=author&_embed=comments', 'a1 Ada 3, a2 Bob 3, a3 null 0, a4 null 0'],
    ['author.country=AT', 'a1'],
    ['author.country_ne=AT', 'a2'],
    ['author.id=u1&author.id=u2&_embed=author', 'a1 Ada, a2 Bob'],
    ['author.country=AT&author.name_like=o', ''],
    ['comments.count_gte=6', 'a1'],
    ['_sort=author.name&_order=DESC', 'a3, a4, a2, a1'],
    ['expand=comments&expand.comments.limit=1&_start=0&_end=1', 'a1 1']
  ],
  refine: [
    ['author.country_ne=AT', 'a2'],
    ['_sort=author.name&_order=asc', 'a1, a2, a3, a4'],
    ['expand=author&_start=0&_end=1', 'a1 Ada']
  ]
}

const features = { 'react-admin': reactAdmin, 'json-server': jsonServer, refine }

for (const [name, addFeature] of Object.entries(features)) {
  test(`${name} includes related items, and filters and sorts by them`, async (t) => {
    const blog = defineBlog()
    const app = await serveBlog(t, { ...blog, articles: blog.articles.with(addFeature()) })
    for (const [query, expected] of cases[name]!) {
      const response = await app.inject(`/articles?${encodeURI(query)}`)
      t.equal(response.statusCode, 200, query)
      const shown = (response.json() as Article[]).map(({ id, author, comments }) => {
        const name = author === undefined ? [] : [author === null ? 'null' : author.name]
        return [id, ...name, ...comments === undefined ? [] : [comments.items.length]].join(' ')
      })
      t.equal(shown.join(', '), expected, query)
    }
  })
}

test('unknown relations and properties are refused with the accepted names', async (t) => {
  const blog = defineBlog({ hasRules: true })
  for (const [addFeature, query, detail] of [
    [reactAdmin, 'embed=["writer"]', /^embed must be .*author, editor, comments; not "writer"/],
    [reactAdmin, 'filter={"author.nme":"x"}', /^filter must be .*"author\.nme" is not one of them/],
    [reactAdmin, 'filter={"writer":{"name":"x"}}', /^filter must be .*"writer\.name" is not one of them/],
    [reactAdmin, 'filter={"author', /^filter must be a JSON object/],
    [reactAdmin, 'filter={"author.email":"ada@example.com"}', /"author\.email" is not one of them/],
    [jsonServer, '_embed=writer', /^_embed must be .*author, editor, comments; not "writer"/],
    [jsonServer, '_sort=comments.text', /^_sort must be properties/],
    [jsonServer, 'author.email_ne=x', /"author\.email_ne" is unknown/],
    [refine, '_embed=author', /"_embed" is unknown. Available: .*expand/]
  ] as const) {
    const app = await serveBlog(t, { ...blog, articles: blog.articles.with(addFeature()) })
    const response = await app.inject({ url: `/articles?${encodeURI(query)}`, headers: { 'x-user': 'ada' } })
    t.equal(response.statusCode, 400, query)
    t.match((response.json() as { detail: string }).detail, detail, query)
  }
})

test('JSON in a parameter that is too deep is refused, and does not use up the stack', async (t) => {
  const blog = defineBlog()
  const plain = await serveBlog(t, blog)
  const app = await serveBlog(t, { ...blog, articles: blog.articles.with(reactAdmin()) })
  const deep = '['.repeat(3800) + ']'.repeat(3800)
  const parameters = [['filter', deep], ['filter', `{"title":${deep}}`], ['sort', deep], ['embed', deep]] as const
  for (const [parameter, text] of parameters) {
    const response = await app.inject(`/articles?${parameter}=${text}`)
    t.match([response.statusCode, response.json()], [400, { parameter }], `${parameter}=${text.slice(0, 20)}`)
  }
  t.match((await plain.inject(`/articles?filter=${deep}`)).json(), { status: 400, parameter: 'filter' })
  const nested = '['.repeat(200_000) + ']'.repeat(200_000)
  t.match((await plain.inject({ method: 'QUERY', url: '/articles', payload: { filter: nested } })).json(), {
    status: 422,
    errors: [{ pointer: '/filter' }]
  })
})
