import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { json } from '../../../lib/index.ts'
import { xml } from '../../../lib/formats/xml.ts'
import type { AccessOptions, Definition, Options } from '../../../lib/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { bulk } from '../../../lib/features/bulk.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { modified, request as sendRequest } from '../../app.ts'
import { controlClock } from '../../clock.ts'
import { define } from '../../define.ts'

const Person = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  salary: Type.Optional(Type.Integer({ minimum: 0 })),
  notes: Type.Optional(Type.Object({ text: Type.String() })),
  updatedAt: Type.Optional(Type.String({ format: 'date-time', readOnly: true }))
})
const updatedAt = '2026-01-01T00:00:00.000Z'
const items = [
  { id: 1, name: 'Ada', salary: 300, notes: { text: 'brilliant' }, updatedAt },
  { id: 2, name: 'Bob', salary: 100, updatedAt },
  { id: 3, name: 'Carl', salary: 200, updatedAt }
]

const authentication: Pick<AccessOptions, 'authenticate' | 'challenge' | 'vary'> = {
  authenticate: ({ request }) => request.headers['x-user']?.toString()
}
const hr = ({ caller }: { caller: string | undefined }): boolean => caller === 'hr'

function people (options: Partial<Options<typeof Person>> = {}): Definition {
  const visible: NonNullable<Options<typeof Person>['access']>['visible'] = {
    salary: hr,
    notes: async ({ caller }) => caller === 'hr' || caller === 'boss'
  }
  return define({
    name: 'people',
    schema: Person,
    id: { generate: 'storage' },
    storage: memory({ items }),
    ...options,
    access: { ...authentication, visible, ...options.access }
  })
}

type SendRequest = (
  target: string,
  user?: string,
  content?: unknown,
  fields?: Record<string, string>,
  type?: string
) => Promise<LightMyRequestResponse>

async function serve (t: Test, ...collections: readonly Definition[]): Promise<SendRequest> {
  const app = Fastify()
  t.after(() => app.close())
  for (const each of collections) await app.register(collection, each)
  return async (target, user, content, fields, type) =>
    sendRequest(app, target, {
      ...(content !== undefined && { content }),
      ...(type !== undefined && { type }),
      fields: { ...(user !== undefined && { 'x-user': user }), ...fields }
    })
}

const patchType = 'application/json-patch+json'

test('a restricted property is visible only to permitted callers in every representation', async (t) => {
  const request = await serve(t, people().with(bulk()))
  const checkShown = async (
    target: string,
    user: string,
    content?: unknown,
    fields?: Record<string, string>
  ): Promise<[boolean, boolean]> => {
    const { payload, statusCode } = await request(target, user, content, fields)
    t.ok(statusCode < 300, `${target} ${payload}`)
    return [payload.includes('salary'), payload.includes('brilliant')]
  }
  for (const fields of [{}, { accept: 'application/hal+json' }, { accept: 'application/xml' }]) {
    for (const [target, content] of [
      ['GET /people/1'],
      ['GET /people'],
      ['GET /people?sort=-name'],
      ['QUERY /people', {}],
      ['PATCH /people/1', {}],
      ['PUT /people/1', { name: 'Ada' }]
    ] as const) {
      // A response cached for one caller must not be sent to another, in any order.
      t.strictSame(
        await checkShown(
          target,
          'hr',
          content === undefined || !target.startsWith('PUT')
            ? content
            : { name: 'Ada', salary: 300, notes: { text: 'brilliant' } },
          fields
        ),
        [true, true],
        `hr ${target}`
      )
      t.strictSame(await checkShown(target, 'ada', content, fields), [false, false], `ada ${target}`)
      t.strictSame(
        await checkShown(
          target,
          'boss',
          !target.startsWith('PUT') ? content : { name: 'Ada', notes: { text: 'brilliant' } },
          fields
        ),
        [false, true],
        `boss ${target}`
      )
      t.strictSame(await checkShown(target, 'ada', content, fields), [false, false], `ada again ${target}`)
    }
  }
  t.strictSame(await checkShown('POST /people', 'ada', { name: 'New' }), [false, false])
  t.strictSame(await checkShown('POST /people', 'ada', [{ name: 'New' }, { name: 'Newer' }]), [false, false])
  t.strictSame(
    await checkShown('DELETE /people/1', 'ada', undefined, { prefer: 'return=representation' }),
    [false, false]
  )
})

test('a caller cannot filter, sort, select or page by a property that it cannot see', async (t) => {
  const request = await serve(
    t,
    people({ list: { search: ['name', 'notes.text'], order: ['-salary'] } })
  )
  for (const query of [
    'salary=100',
    'salary.gt=1',
    'salary.null=true',
    'notes.text=brilliant',
    'sort=salary',
    'sort=-salary',
    'fields=salary',
    'fields=name,notes'
  ]) {
    const answer = await request(`GET /people?${query}`, 'ada')
    t.equal(answer.statusCode, 400, query)
    t.notMatch(
      answer.json().detail.replaceAll(query.split('=')[0]!, ''),
      /Known.*salary/,
      'the message does not name it'
    )
    t.equal((await request(`GET /people?${query}`, 'hr')).statusCode, 200, query)
  }
  t.equal((await request('GET /people/1?fields=salary', 'ada')).statusCode, 400)
  t.strictSame((await request('GET /people/1?fields=name', 'ada')).json(), { name: 'Ada' })
  for (const content of [
    { filter: { salary: 100 } },
    { filter: { not: { 'salary.lt': 5 } } },
    { sort: ['salary'] },
    { fields: ['salary'] }
  ]) {
    t.equal((await request('QUERY /people', 'ada', content)).statusCode, 422)
    t.equal((await request('QUERY /people', 'hr', content)).statusCode, 200)
  }
  t.strictSame((await request('GET /people?q=brilliant', 'ada')).json(), [])
  t.equal((await request('GET /people?q=brilliant', 'hr')).json().length, 1)
  t.equal((await request('GET /people?q=ada', 'ada')).json().length, 1)
  const ids = async (user: string): Promise<number[]> =>
    (await request('GET /people', user)).json().map(({ id }: { id: number }) => id)
  t.strictSame(await ids('hr'), [1, 3, 2])
  t.strictSame(await ids('ada'), [1, 2, 3], 'the default order would reveal the values')
  const next = String((await request('GET /people?limit=1', 'ada')).headers.link)
  t.notMatch(Buffer.from(/cursor=([\w-]+)/.exec(next)![1]!, 'base64url').toString(), /300/)
  const foreign = /<([^>]+)>; rel="next"/.exec(String((await request('GET /people?limit=1', 'hr')).headers.link))![1]
  t.equal((await request(`GET ${foreign}`, 'ada')).statusCode, 400)
})

test('search returns 400 if the caller can see none of the searched properties', async (t) => {
  const request = await serve(t, people({ list: { search: ['notes.text'] } }))
  t.equal((await request('GET /people?q=brilliant', 'ada')).statusCode, 400)
  t.equal((await request('GET /people?q=brilliant', 'hr')).statusCode, 200)
})

test('writing a property that the caller cannot see returns 422 as an unknown property', async (t) => {
  const request = await serve(t, people({ formats: [json, xml] }).with(bulk()))
  const getErrors = async (target: string, content: unknown, type?: string): Promise<unknown> => {
    const answer = await request(target, 'ada', content, {}, type)
    t.equal(answer.statusCode, 422, `${target} ${JSON.stringify(content)} ${answer.payload}`)
    return answer
      .json()
      .errors?.map(({ pointer, message }: { pointer: string; message: string }) => `${pointer} ${message}`)
  }
  const unknown = ['/salary is not a known property']
  t.strictSame(await getErrors('POST /people', { name: 'x', salary: 1 }), unknown)
  t.strictSame(await getErrors('POST /people', [{ name: 'x' }, { name: 'x', salary: 1 }, 7]), [
    '/1/salary is not a known property'
  ])
  t.strictSame(await getErrors('PUT /people/1', { name: 'x', salary: 300 }), unknown)
  t.strictSame(
    await getErrors('PUT /people/1', '<item><name>x</name><salary>300</salary></item>', 'application/xml'),
    unknown
  )
  for (const salary of [300, 1, null]) {
    t.strictSame(await getErrors('PATCH /people/1', { salary }), unknown, 'whatever its value')
  }
  t.strictSame(await getErrors('PATCH /people/1', [{ op: 'add', path: '/salary', value: 300 }], patchType), unknown)
  t.strictSame(await getErrors('PATCH /people/1', [{ op: 'copy', from: '/name', path: '/salary' }], patchType), unknown)
  await getErrors('PATCH /people/1', [{ op: 'copy', from: '/salary', path: '/name' }], patchType)
  await getErrors('PATCH /people/1', [{ op: 'remove', path: '/salary' }], patchType)
  await getErrors('PATCH /people/1', '"text"')
  t.equal((await request('GET /people/1', 'hr')).json().salary, 300)
})

test('PUT and PATCH keep properties that the caller cannot see', async (t) => {
  const request = await serve(t, people())
  const readHidden = async (): Promise<unknown> => {
    const { salary, notes } = (await request('GET /people/1', 'hr')).json()
    return { salary, notes }
  }
  const before = await readHidden()
  const { updatedAt: _moment, ...seen } = (await request('GET /people/1', 'ada')).json()
  t.strictSame(seen, { id: 1, name: 'Ada' })
  for (const [target, content, type] of [
    ['PUT /people/1', { ...seen, name: 'A' }],
    ['PATCH /people/1', { name: 'B' }],
    ['PATCH /people/1', [{ op: 'replace', path: '/name', value: 'C' }], patchType],
    ['PATCH /people/1', [{ op: 'replace', path: '', value: { id: 1, name: 'D', updatedAt: 'x' } }], patchType]
  ] as const) {
    const value = JSON.parse(
      JSON.stringify(content).replace('"x"', JSON.stringify((await request('GET /people/1', 'ada')).json().updatedAt))
    )
    const answer = await request(target, 'ada', value, {}, type)
    t.equal(answer.statusCode, 200, answer.payload)
    t.strictSame(await readHidden(), before)
  }
  t.equal((await request('GET /people/1', 'ada')).json().name, 'D')
})

test('a JSON Patch test reveals neither the value nor the existence of a hidden property', async (t) => {
  const request = await serve(t, people())
  const tried = await Promise.all(
    [300, 1, null].map((value) =>
      request('PATCH /people/1', 'ada', [{ op: 'test', path: '/salary', value }], {}, patchType)
    )
  )
  const missing = await request('PATCH /people/2', 'ada', [{ op: 'test', path: '/nothing', value: 1 }], {}, patchType)
  for (const answer of tried) t.equal(answer.statusCode, missing.statusCode)
  t.equal(new Set(tried.map(({ payload }) => payload)).size, 1)
  const [has, has0] = await Promise.all(
    [1, 2].map(async (id) =>
      request(
        `PATCH /people/${id}`,
        'ada',
        [{ op: 'replace', path: '', value: { id, name: 'x', updatedAt } }],
        {},
        patchType
      )
    )
  )
  t.equal(has!.statusCode, has0!.statusCode, 'although one of them has notes')
  t.equal(
    (await request('PATCH /people/1', 'hr', [{ op: 'test', path: '/salary', value: 300 }], {}, patchType)).statusCode,
    200
  )
})

test('ETag and Last-Modified do not reveal changes of properties that the caller cannot see', async (t) => {
  const clock = controlClock(t)
  for (const hidesDate of [true, false]) {
    const request = await serve(t, people({ access: { visible: { salary: hr, ...(hidesDate && { updatedAt: hr }) } } }))
    clock.advance(120_000)
    const tags = async (user: string): Promise<unknown[]> =>
      Promise.all(
        ['/people/1', '/people', '/people/1?fields=name', '/people?fields=name'].map(
          async (url) => (await request(`GET ${url}`, user)).headers.etag
        )
      )
    const [mine, theirs] = [await tags('ada'), await tags('hr')]
    for (const [index, tag] of mine.entries()) t.not(tag, theirs[index])
    if (hidesDate) t.notOk('last-modified' in (await request('GET /people/1', 'ada')).headers)
    else t.ok('last-modified' in (await request('GET /people/1', 'ada')).headers)
    t.ok('last-modified' in (await request('GET /people/1', 'hr')).headers)
    t.equal((await request('PATCH /people/1', 'hr', { salary: 301 })).statusCode, 200)
    if (hidesDate) t.strictSame(await tags('ada'), mine)
    else t.not((await tags('ada'))[0], mine[0], 'the visible date has changed')
    t.not((await tags('hr'))[0], theirs[0])
    t.equal(
      (await request('GET /people/1', 'ada', undefined, { 'if-none-match': String((await tags('ada'))[0]) })).statusCode,
      304
    )
    t.equal(
      (await request('GET /people/1', 'hr', undefined, { 'if-none-match': String(mine[0]) })).statusCode,
      200,
      'an ETag of another caller does not match'
    )
    t.equal(
      (await request('GET /people/1', 'ada', undefined, { 'if-none-match': String((await tags('hr'))[0]) })).statusCode,
      200
    )
    if (hidesDate) {
      t.equal(
        (await request('GET /people/1', 'ada', undefined, { 'if-modified-since': new Date().toUTCString() })).statusCode,
        200
      )
    }
    const tag = String((await tags('ada'))[0])
    t.equal((await request('PATCH /people/1', 'ada', { name: 'New' }, { 'if-match': tag })).statusCode, 200)
    t.equal((await request('PATCH /people/1', 'ada', { name: 'Newer' }, { 'if-match': tag })).statusCode, 412)
    t.equal((await request('GET /people/1', 'hr')).json().salary, 301)
  }
})

test('Last-Modified of the storage is not sent to a caller who cannot see all properties', async (t) => {
  const storage = modified(({ find, insert }) => {
    insert({ id: 1, name: 'Ada', salary: 1 }, { signal: new AbortController().signal, scope: undefined })
    return {
      find: async (id, context) => {
        const entry = await find(id, context)
        return entry && { ...entry, modified: new Date(updatedAt) }
      }
    }
  })
  const clock = controlClock(t)
  const request = await serve(t, people({ storage, timestamps: false }))
  clock.advance(120_000)
  t.ok('last-modified' in (await request('GET /people/1', 'hr')).headers)
  t.notOk('last-modified' in (await request('GET /people/1', 'ada')).headers)
})

test('parallel writers who see different properties lose no updates', async (t) => {
  const request = await serve(t, people())
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? request('PATCH /people/1', 'hr', { salary: 1000 + index })
        : request('PUT /people/1', 'ada', { name: `Ada ${index}` })
    )
  )
  t.ok(answers.every(({ statusCode }) => statusCode === 200))
  const { salary, name, notes } = (await request('GET /people/1', 'hr')).json()
  t.ok(salary >= 1000)
  t.match(name, /Ada \d/)
  t.strictSame(notes, { text: 'brilliant' })
})

test('an expanded item contains only properties that the caller can see', async (t) => {
  const Task = Type.Object({ id: Type.Integer(), personId: Type.Integer(), secretId: Type.Integer() })
  const { persons, tasks } = relate({
    persons: people(),
    tasks: define({
      name: 'tasks',
      schema: Task,
      id: { generate: 'storage' },
      storage: memory({ items: [{ id: 1, personId: 1, secretId: 2 }] }),
      access: { ...authentication, visible: { secretId: hr } }
    })
  }, {
    tasks: { person: { to: 'persons', property: 'personId' }, secret: { to: 'persons', property: 'secretId' } }
  })
  const request = await serve(t, persons, tasks)
  const person = async (user: string): Promise<unknown> => (await request('GET /tasks/1?expand=person', user)).json().person
  t.match(await person('hr'), { salary: 300, notes: { text: 'brilliant' } })
  t.strictSame(await person('ada'), { id: 1, name: 'Ada', updatedAt })
  t.strictSame((await request('GET /tasks?expand=person&fields=id', 'boss')).json(), [
    { id: 1, person: { id: 1, name: 'Ada', notes: { text: 'brilliant' }, updatedAt } }
  ])
  t.equal(
    (await request('GET /tasks/1?expand=secret', 'ada')).statusCode,
    400,
    'a hidden property cannot be expanded'
  )
  t.equal((await request('GET /tasks/1?expand=secret', 'hr')).json().secret.name, 'Bob')
  const tag = (await request('GET /tasks/1?expand=person', 'ada')).headers.etag
  await request('PUT /people/1', 'hr', { name: 'Ada', salary: 7, notes: { text: 'brilliant' } })
  t.not((await request('GET /tasks/1?expand=person', 'ada')).headers.etag, tag, 'the visible date has changed')
})

test('a required property that the caller cannot see needs a default or a beforeValidation hook', async (t) => {
  const Job = Type.Object({
    id: Type.Integer(),
    title: Type.String(),
    level: Type.Integer(),
    grade: Type.Integer({ default: 3 })
  })
  const jobs = (options: Partial<Options<typeof Job>> = {}): Definition =>
    define({
      name: 'jobs',
      schema: Job,
      id: { generate: 'storage' },
      storage: memory(),
      ...options,
      access: { ...authentication, visible: { level: hr, grade: hr }, ...options.access }
    })
  const without = await serve(t, jobs())
  t.strictSame((await without('POST /jobs', 'ada', { title: 'x' })).json().errors, [
    { pointer: '', message: 'has an invalid property that is hidden from the caller' }
  ])
  t.equal((await without('POST /jobs', 'hr', { title: 'x', level: 1 })).statusCode, 201)
  const filling = await serve(
    t,
    jobs({ hooks: { beforeValidation: ({ item }) => ({ ...item, level: item.level ?? 9 }) } })
  )
  t.strictSame((await filling('POST /jobs', 'ada', { title: 'x' })).json(), { id: 1, title: 'x' })
  t.strictSame((await filling('GET /jobs/1', 'hr')).json(), { id: 1, title: 'x', level: 9, grade: 3 })
  t.strictSame((await filling('PUT /jobs/1', 'ada', { title: 'y' })).json(), { id: 1, title: 'y' })
  t.strictSame((await filling('GET /jobs/1', 'hr')).json(), { id: 1, title: 'y', level: 9, grade: 3 })
})

test('a visible function must return true, and does not run for anonymous callers if callers are known', async (t) => {
  const open = await serve(
    t,
    people({
      access: {
        allow: 'public',
        visible: {
          salary: ({ request }) => {
            t.not(request?.headers['x-user'], undefined, 'does not run for anonymous callers')
            return true
          }
        }
      }
    })
  )
  t.notMatch((await open('GET /people/1')).payload, /salary/)
  t.match((await open('GET /people/1', 'ada')).json(), { salary: 300 })
  const odd = await serve(t, people({ access: { visible: { salary: () => 'yes' as unknown as boolean } } }))
  t.notMatch((await odd('GET /people/1', 'ada')).payload, /salary/)
  const hooked = await serve(
    t,
    define({
      name: 'people',
      schema: Person,
      id: { generate: 'storage' },
      storage: memory({ items }),
      access: { visible: { salary: ({ request }) => request?.headers['x-role'] === 'hr' } }
    })
  )
  t.match((await hooked('GET /people/1', undefined, undefined, { 'x-role': 'hr' })).json(), { salary: 300 })
  t.notMatch((await hooked('GET /people/1')).payload, /salary/)
})

test('256 combinations of visible properties each return the right properties', async (t) => {
  const properties = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`m${index}`, Type.Integer()]))
  const item = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`m${index}`, index]))
  const many = define({
    name: 'many',
    schema: Type.Object({ id: Type.Integer(), ...properties }),
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, ...item }] }),
    access: {
      ...authentication,
      visible: Object.fromEntries(
        Array.from({ length: 8 }, (_, index) => [
          `m${index}`,
          ({ caller }: { caller: string | undefined }) => (Number(caller) >> index) % 2 === 1
        ])
      )
    }
  })
  const request = await serve(t, many)
  for (const mask of [...Array.from({ length: 256 }, (_, mask) => mask), 0, 5, 255]) {
    t.equal(
      Object.keys((await request('GET /many/1', String(mask))).json()).length,
      1 + mask.toString(2).replaceAll('0', '').length
    )
  }
})

test('visible works with a database storage', async (t) => {
  const database = new DatabaseSync(':memory:')
  t.after(() => database.close())
  const storage = sqlite(database)
  await storage.createTable({ name: 'people', schema: Person, id: { property: 'id', generate: 'storage' } })
  const request = await serve(t, people({ storage, list: { order: ['-salary'] } }))
  for (const { name, salary } of items) t.equal((await request('POST /people', 'hr', { name, salary })).statusCode, 201)
  t.strictSame((await request('GET /people?fields=name', 'ada')).json(), [
    { name: 'Ada' },
    { name: 'Bob' },
    { name: 'Carl' }
  ])
  t.strictSame((await request('GET /people?fields=name', 'hr')).json(), [
    { name: 'Ada' },
    { name: 'Carl' },
    { name: 'Bob' }
  ])
  const { etag } = (await request('GET /people', 'ada')).headers
  t.equal((await request('GET /people', 'ada', undefined, { 'if-none-match': String(etag) })).statusCode, 304)
  t.equal((await request('PUT /people/1', 'ada', { name: 'A' })).statusCode, 200)
  t.match((await request('GET /people/1', 'hr')).json(), { name: 'A', salary: 300 })
})

test('invalid visible options fail at boot', async (t) => {
  const wrong = (visible: unknown): void => {
    people({ access: { visible: visible as Record<string, never> } })
  }
  t.throws(() => wrong({ salry: hr }), { code: 'FST_COLLECTION_UNKNOWN_PROPERTY', message: /visible names "salry"/ })
  t.throws(() => wrong({ id: hr }), { code: 'FST_COLLECTION_BAD_OPTION', message: /is in the URI/ })
  t.throws(() => wrong({ salary: true }), { message: /an object with a function for each property/ })
  t.throws(() => wrong([hr]), { message: /an object with a function for each property/ })
  t.doesNotThrow(() => wrong({ salary: undefined }))
})
