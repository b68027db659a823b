import { tracingChannel } from 'node:diagnostics_channel'
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { softDelete } from '../../../lib/features/soft-delete.ts'
import { define } from '../../../lib/index.ts'
import type { AccessOptions, StatementEvent } from '../../../lib/index.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { postgres } from '../../../lib/storage/postgres.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { noServers } from '../../storage/databases.ts'
import type { SqlAdapter } from '../../storage/databases.ts'
import { startPostgres } from '../../storage/servers.ts'
import { sendBatch, serveShop } from './shop.ts'

// The rules of all parts are called before the transaction begins, those of related collections too.

const Article = Type.Object({
  id: Type.String(),
  authorId: Type.String(),
  text: Type.Optional(Type.String())
})

const User = Type.Object({ id: Type.String(), name: Type.Optional(Type.String()) })

const id = { generate: 'client' } as const

test('a reference is never the name of a parameter, nor in a value that contains names', async (t) => {
  const calls: string[] = []
  const storage = memory()
  const { articles, users } = relate({
    articles: define({ name: 'articles', schema: Article, id, storage }),
    users: define({
      name: 'users',
      schema: User,
      id,
      storage,
      access: { allow: ({ action }) => { calls.push(action); return true } }
    })
  }, { articles: { author: { to: 'users', property: 'authorId' } } })
  const app = await serveShop(t, { articles, users })
  const send = (search: string) => sendBatch(app, [
    { id: 'a', method: 'POST', path: '/articles', content: { id: 'author', authorId: 'x', text: 'a1' } },
    { method: 'GET', path: `/articles?${search}` }
  ])
  for (const [search, message] of [
    ['{a#/id}=1', /has a reference in the name of a parameter/],
    ['{a#/id}.name=1', /has a reference in the name of a parameter/],
    ['{a#/id}', /has a reference in the name of a parameter/],
    ['expand={a#/id}', /has a reference in "expand"/],
    ['text=a1&s%6Frt=-{a#/id}', /has a reference in "sort"/],
    ['expand=author&expand.author.sort={a#/text}', /has a reference in "expand.author.sort"/]
  ] as const) {
    const response = await send(search)
    t.equal(response.statusCode, 422, search)
    t.match(response.json(), { code: 'validation-failed', errors: [{ pointer: '/1/path', message }] }, search)
  }
  t.strictSame(calls, [])
  t.match((await send('text={a#/text}&author.id.ne={a#/id}&expand=author')).json(), [{ status: 201 }, { status: 200 }])
})

const Grant = Type.Object({ id: Type.String() })

const Note = Type.Object({ id: Type.String(), deletedAt: Type.Optional(Type.String({ format: 'date-time' })) })

/** Collections whose rules read another collection. */
function defineGranted (storage: SqlAdapter, log: string[]) {
  let app: FastifyInstance
  async function readGrants (name: string): Promise<boolean> {
    log.push(`rule ${name}`)
    const grants = []
    for await (const { item } of app.collection(granted.grants).list()) grants.push(item.id)
    return grants.includes('all')
  }
  const access = (name: string): Pick<AccessOptions, 'allow' | 'scope'> => ({
    allow: async () => readGrants(name),
    scope: async () => { await readGrants(`${name} scope`); return undefined }
  })
  const granted = {
    grants: define({ name: 'grants', schema: Grant, id, storage }),
    notes: define({ name: 'notes', schema: Note, id, storage })
      .with(softDelete({ property: 'deletedAt', allow: async () => readGrants('deleted notes') })),
    ...relate({
      articles: define({ name: 'articles', schema: Article, id, storage, access: access('articles') }),
      users: define({ name: 'users', schema: User, id, storage, access: access('users') })
    }, {
      articles: { author: { to: 'users', property: 'authorId', references: true } },
      users: { articles: { to: 'articles', by: 'authorId' } }
    })
  }
  return { granted, setApp: (served: FastifyInstance) => { app = served } }
}

type Granted = ReturnType<typeof defineGranted>['granted']

async function fill (app: FastifyInstance, { grants, users, notes }: Granted): Promise<void> {
  await app.collection(grants).create({ id: 'all' })
  await app.collection(users).create({ id: 'u', name: 'Ada' })
  await app.collection(notes).create({ id: 'n' })
  await app.collection(notes).remove('n')
}

const parts = (number: number) => [
  { id: 'u', method: 'GET', path: '/users/u' },
  { method: 'POST', path: '/articles', content: { id: `a${number}` }, refs: { '/authorId': 'u#/id' } },
  { method: 'GET', path: `/articles/a${number}?expand=author,author.articles` },
  { method: 'GET', path: '/articles?author.name={u#/name}&author.articles.some.text.null=true&sort=author.name' },
  { method: 'GET', path: '/notes?deleted=true' },
  { method: 'PATCH', path: '/notes/n', content: { deletedAt: null } }
]

const statementChannel = tracingChannel<unknown, StatementEvent>('fastify-collections:statement')

test('no rule of a related collection runs in the transaction of a batch', async (t) => {
  const log: string[] = []
  const storage = sqlite(new DatabaseSync(':memory:'))
  const { granted, setApp } = defineGranted(storage, log)
  for (const definition of Object.values(granted)) await storage.createTable(definition)
  const app = await serveShop(t, granted)
  setApp(app)
  await fill(app, granted)

  const note = ({ text }: StatementEvent): void => {
    log.push(text)
  }
  statementChannel.start.subscribe(note as (message: unknown) => void)
  const response = await sendBatch(app, parts(1))
  statementChannel.start.unsubscribe(note as (message: unknown) => void)

  t.strictSame(response.json().map(({ status }: { status: number }) => status), [200, 201, 200, 200, 200, 200])
  t.match(response.json()[2].content, { author: { name: 'Ada', articles: { items: [{ id: 'a1' }] } } })
  const begins = log.findIndex((text) => text.startsWith('BEGIN'))
  t.ok(begins > 0)
  const rules = log.flatMap((text, index) => text.startsWith('rule') ? [{ text, isEarly: index < begins }] : [])
  t.strictSame(rules.filter(({ isEarly }) => !isEarly), [])
  // That of the action, those of what it refers to, and those about deleted items.
  t.ok(rules.filter(({ text }) => text === 'rule users').length >= 3)
  t.equal(rules.filter(({ text }) => text === 'rule deleted notes').length, 2)
  t.notOk(log.slice(begins).some((text) => text.includes('grants')))
})

test('rules that read the database do not wait for the batches around them', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const storage = postgres(server.pool())
  for (const definition of Object.values(defineGranted(storage, []).granted)) await storage.createTable(definition)
  for (const max of [1, 2, 10]) {
    const { granted, setApp } = defineGranted(postgres(server.pool({ max })), [])
    const app = await serveShop(t, granted)
    setApp(app)
    if (max === 1) await fill(app, granted)
    const numbers = Array.from({ length: 10 }, (_, index) => max * 10 + index)
    const responses = await Promise.all(numbers.map((number) => sendBatch(app, parts(number))))
    t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]), `pool of ${max}`)
    await app.close()
  }
})
