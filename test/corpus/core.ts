import { Type } from '@sinclair/typebox'
import { define, json } from '../../lib/index.ts'
import { hal } from '../../lib/formats/hal.ts'
import { xml } from '../../lib/formats/xml.ts'
import type { Collection } from '../../lib/engine/collection.ts'
import { memory } from '../../lib/storage/memory.ts'
import { ada, alan, grace, notes, pages, unknownUser, users } from './collections.ts'
import type { Area } from './recorder.ts'

export const methods: Area = async (recorder) => {
  await recorder.serve([users(), pages({ actions: ['list', 'read'] })])
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PUT', 'PATCH', 'TRACE', 'QUERY', 'POST']) {
    await recorder.send(`${method} /users`)
  }
  const { location } = await recorder.send('POST /users', { content: ada })
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'TRACE', 'QUERY', 'PUT', 'PATCH', 'DELETE']) {
    await recorder.send(`${method} ${location}`)
  }
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'DELETE']) {
    await recorder.send(`${method} /pages`, { content: method === 'POST' ? {} : undefined })
  }
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) await recorder.send(`${method} /pages/none`)
  for (const path of [
    '/users/',
    '/users/none',
    unknownUser,
    '/users/a/b',
    '/users/%00',
    '/users/%2F',
    `/users/${'x'.repeat(120)}`,
    '/pages/UPPER',
    '/pages/a%20b'
  ]) {
    await recorder.send(`GET ${path}`)
    await recorder.send(`DELETE ${path}`)
  }
}

export const create: Area = async (recorder) => {
  await recorder.serve([users(), pages(), notes()])
  await recorder.send('POST /users', { content: ada })
  await recorder.send('POST /users', { content: ada })
  await recorder.send('POST /users', {
    content: { ...alan, id: '01900000-0000-7000-8000-000000000009', createdAt: '2000-01-01T00:00:00.000Z' }
  })
  await recorder.send('POST /users', { content: {} })
  await recorder.send('POST /users', {
    content: { email: 'alan', nme: 'Alan', password: 'abc', age: -1, address: { town: 'x' }, tags: [1, 2, 3, 4] }
  })
  await recorder.send('POST /users', { content: { ...grace, role: 'root', score: 'high', active: 1 } })
  for (const content of [
    '',
    '{',
    '[]',
    'null',
    '"text"',
    '{"name":"a","name":"b"}',
    '{"age":1e400}',
    '{"age":9007199254740993}',
    '{"__proto__":{}}',
    '{"name":"\\ud800"}',
    '{"name":"a\\u0000b"}',
    `${'['.repeat(70)}${']'.repeat(70)}`
  ]) {
    await recorder.send('POST /users', { content })
  }
  await recorder.send('POST /users')
  for (const type of [
    'text/plain',
    'application/json; charset=latin1',
    'application/json; charset=utf-8',
    'application/merge-patch+json',
    'nonsense',
    'multipart/form-data'
  ]) {
    await recorder.send('POST /users', { content: { email: 'x' }, type })
  }
  await recorder.send('POST /users', { content: ada, headers: { 'content-encoding': 'zzz' } })
  await recorder.send('POST /users', { content: ada, headers: { 'content-encoding': 'gzip' } })
  await recorder.send('POST /pages', { content: { slug: 'about', title: 'About us' } })
  await recorder.send('POST /pages', { content: { slug: 'about', title: 'Again' } })
  await recorder.send('POST /pages', { content: { slug: 'NOT A SLUG', title: 'x' } })
  await recorder.send('POST /pages', { content: { title: 'no slug' } })
  await recorder.send('POST /notes', { content: { text: 'first' } })
  await recorder.send('POST /notes', { content: { text: 'second', id: 50 } })
  await recorder.send('POST /users?fields=id', { content: alan })
}

export const replace: Area = async (recorder) => {
  await recorder.serve([users(), pages()])
  const { location, etag } = await recorder.send('POST /users', { content: { ...ada, country: 'uk' } })
  await recorder.send('POST /users', { content: alan })
  await recorder.send(`PUT ${location}`, { content: { email: 'ada@example.org', name: 'Ada L.', country: 'uk' } })
  await recorder.send(`PUT ${location}`, { content: { email: 'ada@example.org', name: 'Ada L.', country: 'fr' } })
  await recorder.send(`PUT ${location}`, { content: { name: 'Ada L.' } })
  await recorder.send(`PUT ${location}`, { content: { ...ada, email: alan.email, country: 'uk' } })
  await recorder.send(`PUT ${location}`, {
    content: { ...ada, country: 'uk', id: '01900000-0000-7000-8000-000000000009' }
  })
  await recorder.send(`PUT ${location}`, { content: { ...ada, country: 'uk', createdAt: '2000-01-01T00:00:00.000Z' } })
  await recorder.send(`PUT ${location}`, { content: '{' })
  await recorder.send(`PUT ${location}`, { content: ada, type: 'application/merge-patch+json' })
  await recorder.send(`PUT ${location}`, { content: ada, headers: { 'content-range': 'bytes 0-1/2' } })
  await recorder.send(`PUT ${location}`, { content: { ...ada, country: 'uk' }, headers: { prefer: 'return=minimal' } })
  await recorder.send(`PUT ${location}`, { content: { ...ada, country: 'uk' }, headers: { 'if-match': etag } })
  await recorder.send(`PUT ${unknownUser}`, { content: ada })
  await recorder.send('PUT /users/none', { content: ada })
  await recorder.send('POST /pages', { content: { slug: 'a', title: 'A' } })
  await recorder.send('PUT /pages/a', { content: '{"slug":"a","title":"B"}' })
  await recorder.send('PUT /pages/a', { content: '{"slug":"b","title":"B"}' })
  await recorder.serve([users({ put: { create: true } }), pages({ put: { create: true } })])
  await recorder.send(`PUT ${unknownUser}`, { content: ada, headers: { 'if-none-match': '*' } })
  await recorder.send(`PUT ${unknownUser}`, { content: ada, headers: { 'if-none-match': '*' } })
  await recorder.send(`PUT ${unknownUser}`, { content: { ...ada, name: 'Ada L.' } })
  await recorder.send('PUT /users/01900000-0000-7000-8000-000000000002', { content: ada })
  await recorder.send('PUT /users/01900000-0000-7000-8000-000000000003', {
    content: alan,
    headers: { 'if-match': '*' }
  })
  await recorder.send('PUT /pages/new', { content: { slug: 'new', title: 'New' } })
  await recorder.send('PUT /pages/other', { content: { title: 'Without its slug' } })
  await recorder.send('PUT /pages/NO', { content: { title: 'x' } })
}

export const update: Area = async (recorder) => {
  await recorder.serve(users())
  const { location, etag } = await recorder.send('POST /users', { content: { ...ada, country: 'uk' } })
  await recorder.send('POST /users', { content: alan })
  const merge = (content: unknown, headers = {}) =>
    recorder.send(`PATCH ${location}`, { content, type: 'application/merge-patch+json', headers })
  const patch = (content: unknown) =>
    recorder.send(`PATCH ${location}`, { content, type: 'application/json-patch+json' })
  await merge({ name: 'Ada L.' })
  await merge({ name: 'Ada L.' }, { prefer: 'return=minimal' })
  await merge({ age: null, address: { zip: 'N1' } })
  await merge({ name: null })
  await merge({ id: 'x', createdAt: null, country: 'fr' })
  await merge({ password: 'new password' })
  await merge({ unknown: 1, role: 'root' })
  await merge({ email: alan.email })
  await merge([1])
  await merge('null')
  await merge({ name: 'Ada' }, { 'if-match': etag })
  await recorder.send(`PATCH ${location}`, { content: { name: 'By alias' } })
  await recorder.send(`PATCH ${location}`, { content: 'name=x', type: 'application/x-www-form-urlencoded' })
  await recorder.send(`PATCH ${location}`, { content: '<item/>', type: 'application/xml' })
  await patch([
    { op: 'replace', path: '/name', value: 'Patched' },
    { op: 'add', path: '/tags', value: ['x'] }
  ])
  await patch([{ op: 'test', path: '/name', value: 'other' }])
  await patch([{ op: 'remove', path: '/nothing' }])
  await patch([{ op: 'move', from: '/tags', path: '/tags/0' }])
  await patch([{ op: 'copy', from: '/name', path: '/email' }])
  await patch([{ op: 'replace', path: '/id', value: 'x' }])
  await patch([{ op: 'test', path: '/password', value: 'guess' }])
  await patch([{ op: 'explode', path: '/name' }])
  await patch({ op: 'add' })
  await patch('[')
  await recorder.send(`PATCH ${unknownUser}`, { content: {} })
  await recorder.send('PATCH /users/none', { content: {} })
}

export const remove: Area = async (recorder) => {
  await recorder.serve(users())
  const first = await recorder.send('POST /users', { content: ada })
  const second = await recorder.send('POST /users', { content: alan })
  const third = await recorder.send('POST /users', { content: grace })
  await recorder.send(`DELETE ${first.location}`, { headers: { 'content-type': 'application/json' } })
  await recorder.send(`DELETE ${first.location}`)
  await recorder.send(`DELETE ${second.location}`, { headers: { prefer: 'return=representation' } })
  await recorder.send(`DELETE ${third.location}`, { headers: { 'if-match': '"other.json"' } })
  await recorder.send(`DELETE ${third.location}`, { headers: { accept: 'image/png', 'if-match': third.etag } })
  await recorder.send('DELETE /users/none')
}

export const preconditions: Area = async (recorder) => {
  await recorder.serve([users(), notes({ etag: { required: true } }), pages()])
  const { location, etag } = await recorder.send('POST /users', { content: ada })
  const { etag: xmlTag } = await recorder.send(`GET ${location}`, { headers: { accept: 'application/xml' } })
  for (const method of ['GET', 'HEAD']) {
    for (const [name, value] of [
      ['if-none-match', etag],
      ['if-none-match', `W/${etag}`],
      ['if-none-match', `"a", ${etag}`],
      ['if-none-match', '*'],
      ['if-none-match', '"other"'],
      ['if-none-match', xmlTag],
      ['if-match', etag],
      ['if-match', '"other"'],
      ['if-match', `W/${etag}`],
      ['if-modified-since', 'Fri, 01 Jan 2100 00:00:00 GMT'],
      ['if-modified-since', 'Sat, 01 Jan 2000 00:00:00 GMT'],
      ['if-modified-since', 'never'],
      ['if-unmodified-since', 'Sat, 01 Jan 2000 00:00:00 GMT']
    ] as const) {
      await recorder.send(`${method} ${location}`, { headers: { [name]: value } })
    }
  }
  const list = await recorder.send('GET /users')
  await recorder.send('GET /users', { headers: { 'if-none-match': list.etag } })
  await recorder.send('POST /users', { content: alan, headers: { 'if-match': '"stale.json"' } })
  for (const [name, value] of [
    ['if-match', '"other.json"'],
    ['if-match', `W/${etag}`],
    ['if-none-match', '*'],
    ['if-none-match', etag],
    ['if-unmodified-since', 'Sat, 01 Jan 2000 00:00:00 GMT'],
    ['if-match', xmlTag]
  ] as const) {
    await recorder.send(`PATCH ${location}`, { content: { age: 1 }, headers: { [name]: value } })
  }
  await recorder.send(`PUT ${location}`, { content: '{', headers: { 'if-match': '"other.json"' } })
  await recorder.send(`PATCH ${unknownUser}`, { content: {}, headers: { 'if-match': '*' } })
  await recorder.send('POST /notes', { content: { text: 'a' } })
  await recorder.send('PATCH /notes/1', { content: { text: 'b' } })
  await recorder.send('DELETE /notes/1')
  await recorder.send('PUT /notes/1', { content: { text: 'b' }, headers: { 'if-match': '*' } })
  const page = await recorder.send('POST /pages', { content: { slug: 'a', title: 'A' } })
  await recorder.send('PATCH /pages/a', { content: { title: 'B' }, headers: { 'if-match': `W/${page.etag}` } })
}

export const preferences: Area = async (recorder) => {
  await recorder.serve(users())
  for (const prefer of [
    'return=minimal',
    'return=representation',
    'return=nonsense',
    'RETURN=minimal, return=representation',
    'handling=lenient',
    ',,;=',
    'respond-async'
  ]) {
    await recorder.send('POST /users', {
      content: { ...ada, email: `${prefer.length}@example.com` },
      headers: { prefer }
    })
  }
  await recorder.send('GET /users?unknown=1', { headers: { prefer: 'handling=lenient' } })
  await recorder.send('GET /users?unknown=1', { headers: { prefer: 'handling=strict' } })
}

const csv = {
  name: 'csv',
  mediaType: 'text/csv',
  item: (item: object) => `${Object.values(item).join()}\r\n`,
  list: (items: readonly object[]) => items.map((item) => `${Object.values(item).join()}\r\n`).join(''),
  describe: () => ({ type: 'string' })
}

export const formats: Area = async (recorder) => {
  const links = ({ item: { slug } }: { item: { slug: string } }) => ({
    related: { href: `/related/${slug}`, title: 'Related' }
  })
  await recorder.serve([pages({ formats: [json, hal, xml, csv], links }), users({ formats: [json, hal, xml] })])
  await recorder.send('POST /pages', { content: { slug: 'a', title: 'A & <B>' } })
  await recorder.send('POST /pages', {
    content: '<item><slug>b</slug><title>B</title><views>3</views></item>',
    type: 'application/xml',
    headers: { accept: 'application/xml' }
  })
  await recorder.send('POST /pages', { content: '<item><slug>c</slug>', type: 'application/xml' })
  await recorder.send('POST /pages', {
    content: '<!DOCTYPE x [<!ENTITY e "x">]><item><slug>&e;</slug></item>',
    type: 'application/xml'
  })
  await recorder.send('PUT /pages/b', {
    content: '<item><slug>b</slug><title>C</title></item>',
    type: 'application/xml'
  })
  const accepts = [
    '*/*',
    'application/json',
    'application/hal+json',
    'application/xml',
    'text/csv',
    'text/*',
    'application/xml;q=0.5, application/json;q=0.4',
    'image/png',
    'application/json;q=0',
    '',
    'nonsense',
    'application/*;q=0.1, text/csv'
  ]
  for (const accept of accepts) {
    await recorder.send('GET /pages/a', { headers: { accept } })
    await recorder.send('GET /pages?limit=1', { headers: { accept } })
  }
  await recorder.send('POST /pages', { content: { slug: 'd', title: 'D' }, headers: { accept: 'image/png' } })
  const { location } = await recorder.send('POST /users', { content: { ...ada, tags: ['x', 'y'], score: 1.5 } })
  for (const accept of ['application/hal+json', 'application/xml']) {
    await recorder.send(`GET ${location}`, { headers: { accept } })
    await recorder.send('GET /users', { headers: { accept } })
    await recorder.send(`PATCH ${location}`, { content: { age: 5 }, headers: { accept } })
    await recorder.send('POST /users', { content: {}, headers: { accept } })
  }
}

export const hooks: Area = async (recorder) => {
  const teapot = Object.assign(new Error('short and stout'), { statusCode: 418 })
  const Item = Type.Object({ id: Type.Integer(), text: Type.String(), slug: Type.String({ readOnly: true }) })
  const items = define({
    name: 'items',
    schema: Item,
    id: { generate: 'storage' },
    storage: memory(),
    hooks: {
      beforeValidation ({ item, before }) {
        if (item.text === 'throw') throw new Error('internal')
        if (item.text === 'teapot') throw teapot
        return {
          ...item,
          slug: item.text === 'invalid' ? (5 as never) : before === undefined ? item.text.toLowerCase() : before.slug
        }
      },
      afterCommit ({ after }) {
        if (after?.text === 'Late') throw new Error('after the write')
      }
    },
    routes: {
      remove: {
        preHandler: async (request) => {
          if (request.headers.authorization === undefined) throw Object.assign(new Error('No.'), { statusCode: 401 })
        }
      }
    }
  })
  await recorder.serve(items as unknown as Collection, {
    service: { description: '/openapi.json', problems: 'https://example.com/problems/' }
  })
  for (const text of ['Hello', 'throw', 'teapot', 'invalid', 'Late']) {
    await recorder.send('POST /items', { content: { text } })
  }
  for (const text of ['Changed', 'throw', 'Late']) {
    await recorder.send('PATCH /items/1', { content: { text } })
    await recorder.send('PUT /items/1', { content: { text } })
  }
  await recorder.send('DELETE /items/1')
  await recorder.send('DELETE /items/1', { headers: { authorization: 'Bearer x' } })
  await recorder.send('GET /items/1')
  await recorder.send('GET /items')
}

export const caching: Area = async (recorder) => {
  await recorder.serve([
    users({ cache: { list: 'public, max-age=10', read: 'private, max-age=60' } }),
    notes({ cache: 'no-store' })
  ])
  const { location } = await recorder.send('POST /users', { content: ada })
  for (const headers of [{}, { authorization: 'Bearer x' }, { cookie: 'a=b' }]) {
    await recorder.send(`GET ${location}`, { headers })
    await recorder.send('GET /users', { headers })
    await recorder.send(`PATCH ${location}`, { content: { age: 1 }, headers })
  }
  await recorder.send('GET /notes')
  await recorder.send('GET /notes/1')
}
