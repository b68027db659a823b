import * as features from '../features/all.ts'
import type { Definition } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { ada, alan, grace, notes, users } from './collections.ts'
import type { Area, Recorder } from './recorder.ts'

async function fill (recorder: Recorder): Promise<void> {
  for (const content of [ada, alan, grace]) await recorder.send('POST /users', { content })
}

export const lists: Area = async (recorder) => {
  await recorder.serve(users({ list: { search: ['name', 'address.city'], limit: { default: 2, maximum: 5 } } }))
  await recorder.send('GET /users')
  await recorder.send('GET /users?count=true')
  await fill(recorder)
  const queries = [
    '',
    'count=true',
    'limit=1',
    'limit=5',
    'limit=0',
    'limit=6',
    'limit=x',
    'sort=name',
    'sort=-name',
    'sort=age,name',
    'sort=password',
    'sort=',
    'sort=name,name',
    'sort=tags',
    'fields=name',
    'fields=email,name,id',
    'fields=password',
    'fields=',
    'role=admin',
    'role=nothing',
    'role.ne=reader',
    'role.in=admin,editor',
    'role.in=',
    'role.nin=admin',
    'age.gt=40',
    'age.lte=36',
    'age=old',
    'age.null=true',
    'age.null=false',
    'age.null=x',
    'name.like=A*',
    'name.like=*a*',
    'name.like=A%5C*',
    'name.like=',
    'active=true',
    'active=yes',
    'score.null=true',
    'address.city=London',
    'address.city.like=L*',
    'address=x',
    'password=x',
    'unknown=1',
    'name=Ada&name=Alan',
    'name.foo=1',
    'q=ada',
    'q=ADA%20lon',
    'q=',
    'q=zzz',
    'cursor=nonsense',
    'cursor=',
    'createdAt.gt=2000-01-01T00:00:00Z',
    'createdAt.gt=yesterday',
    'role=reader&sort=-name&limit=1&fields=name&count=true'
  ]
  for (const query of queries) await recorder.send(`GET /users?${query}`)
  let page = await recorder.send('GET /users?limit=1&sort=-name&count=true')
  for (const relation of ['next', 'next', 'prev', 'prev', 'first']) {
    page = await recorder.send(`GET ${page.link(relation)}`)
  }
  await recorder.send(`GET /users?${'x'.repeat(9000)}`)
  await recorder.send('GET /users?name=%FF')
  await recorder.send('HEAD /users?limit=1')
  await recorder.send('GET /users?limit=1', { headers: { accept: 'application/hal+json' } })
}

export const query: Area = async (recorder) => {
  await recorder.serve(users({ list: { search: ['name'] } }))
  await fill(recorder)
  const contents: unknown[] = [
    {},
    { filter: {} },
    { filter: { role: 'admin' } },
    { filter: { 'age.gt': 40, active: false } },
    { filter: { any: [{ role: 'admin' }, { name: 'Ada' }] } },
    { filter: { not: { role: 'admin' } }, sort: ['-name'] },
    {
      filter: { all: [{ 'name.like': 'A*' }, { not: { 'age.null': true } }] },
      fields: ['name'],
      limit: 1,
      count: true
    },
    { filter: { 'role.in': ['admin', 'editor'] }, q: 'a' },
    { filter: { any: [] } },
    { filter: { all: [] } },
    { filter: 1 },
    { filter: { unknown: 1, 'role.foo': 1, age: 'x' } },
    { sort: 'name', limit: 0, fields: [], nonsense: true },
    { filter: { any: {} } },
    [],
    'x',
    { cursor: 'x' },
    { filter: { 'name.like': 5 } }
  ]
  for (const content of contents) await recorder.send('QUERY /users', { content })
  await recorder.send('QUERY /users?limit=1', { content: { filter: { active: true } } })
  await recorder.send('QUERY /users')
  await recorder.send('QUERY /users', { content: '{}', type: 'text/plain' })
  await recorder.send('QUERY /users', { content: '{' })
  const list = await recorder.send('QUERY /users', { content: { filter: { role: 'admin' } } })
  await recorder.send('QUERY /users', {
    content: { filter: { role: 'admin' } },
    headers: { 'if-none-match': list.etag }
  })
}

export const bulk: Area = async (recorder) => {
  await recorder.serve(users().with(features.bulk({ maximum: 3 })))
  await recorder.send('POST /users', { content: [ada, alan] })
  await recorder.send('POST /users', { content: [grace, ada] })
  await recorder.send('POST /users', { content: [grace, { name: '' }, 5] })
  await recorder.send('POST /users', { content: [] })
  await recorder.send('POST /users', { content: [1, 2, 3, 4] })
  await recorder.send('POST /users', { content: [grace], headers: { prefer: 'return=minimal' } })
  await recorder.send('POST /users', {
    content: [{ ...grace, email: 'g@example.com' }],
    headers: { accept: 'application/hal+json' }
  })
  await recorder.send('GET /users?fields=name')
}

/** With plain responses before them, which name the entity tags that the content has. */
export const entries: Area = async (recorder) => {
  await recorder.serve(users({ list: { limit: { default: 2 } } }))
  await fill(recorder)
  const headers = { accept: 'application/vnd.fastify-collections.entries+json, application/json;q=0.9' }
  for (const target of [
    '/users?sort=name&count=true',
    '/users?sort=name&offset=1',
    '/users?sort=name&offset=2',
    '/users?fields=name',
    '/users?name=nobody',
    '/users?limit=0'
  ]) {
    await recorder.send(`GET ${target}`, { headers })
  }
  const { link } = await recorder.send('GET /users?sort=name', { headers })
  await recorder.send(`GET ${link('next')}`, { headers })
  await recorder.send('QUERY /users', { content: { filter: { name: 'Ada' } }, headers })
  const { location } = await recorder.send('POST /users', { content: { ...ada, email: 'a@example.com' } })
  const { etag } = await recorder.send(`GET ${location}`, { headers })
  await recorder.send(`GET ${location}?fields=name`, { headers })
  await recorder.send(`HEAD ${location}`, { headers })
  await recorder.send(`GET ${location}`, { headers: { ...headers, 'if-none-match': etag } })
  await recorder.send(`GET ${location}`, { headers: { 'if-none-match': etag } })
  await recorder.send(`DELETE ${location}`, { headers: { ...headers, 'if-match': '"other"' } })
  await recorder.send(`DELETE ${location}`, { headers: { ...headers, prefer: 'return=representation', 'if-match': etag } })
}

export const expansion: Area = async (recorder) => {
  const { people, articles } = relate(
    { people: users({ id: { generate: counter() } }), articles: notes({ name: 'articles' }) },
    { articles: { author: { to: 'people', property: 'owner' } } }
  )
  await recorder.serve([people as Definition, articles as Definition])
  const { location } = await recorder.send('POST /users', { content: ada })
  const owner = location.split('/').at(-1)!
  for (const content of [{ text: 'a', owner }, { text: 'b', owner: 'nobody' }, { text: 'c' }]) {
    await recorder.send('POST /articles', { content })
  }
  for (const target of [
    '/articles?expand=author',
    '/articles/1?expand=author',
    '/articles/2?expand=author',
    '/articles/1?expand=author&fields=text',
    '/articles?expand=nothing',
    '/articles?expand=',
    '/articles?fields=text&expand=author&limit=1'
  ]) {
    await recorder.send(`GET ${target}`)
  }
  const expanded = await recorder.send('GET /articles/1?expand=author')
  await recorder.send('GET /articles/1?expand=author', { headers: { 'if-none-match': expanded.etag } })
  await recorder.send(`PATCH ${location}`, { content: { name: 'Changed' } })
  await recorder.send('GET /articles/1?expand=author', { headers: { 'if-none-match': expanded.etag } })
  await recorder.send('QUERY /articles', { content: { expand: ['author'], filter: { text: 'a' } } })
}

function counter (): () => string {
  let count = 0
  return () => `01900000-0000-7000-8000-${String(++count).padStart(12, '0')}`
}
