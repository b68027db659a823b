import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define, defineWith } from '../../lib/index.ts'
import { toCollection } from '../../lib/engine/collection.ts'
import type { Definition } from '../../lib/index.ts'
import type { Feature } from '../../lib/features/index.ts'
import * as features from './all.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, created, modified, notes, request } from '../app.ts'
import { storages } from '../storages.ts'

// The mechanism of features. What each feature does is tested in a file of its own.

const Note = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  text: Type.String(),
  authorId: Type.Optional(Type.String()),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

const Author = Type.Object({ id: Type.String(), name: Type.String() })
const authors = define({ name: 'authors', schema: Author, storage: memory({ items: [{ id: 'ada', name: 'Ada' }] }) })

const all: Readonly<Record<string, Feature<object, unknown>>> = {
  bulk: features.bulk({ maximum: 2 }),
  idempotency: features.idempotency(),
  redirects: features.redirects({ to: ({ id: segment }) => (segment === 'old' ? { href: '/elsewhere' } : undefined) }),
  softDelete: features.softDelete({
    property: 'deletedAt',
    allow: ({ request }) => request?.headers.authorization === 'admin'
  }),
  timeout: features.timeout(60_000)
}

/** Adds the feature of relate(). */
function addRelations (definition: Definition): Definition {
  return relate({ authors, notes: definition }, { notes: { author: { to: 'authors', property: 'authorId' } } }).notes
}

/** Returns a summary of what a client sees of the features. */
async function observe (definition: Definition, parentPath = ''): Promise<string[]> {
  const app = Fastify({ forceCloseConnections: true })
  await app.register(collection, authors)
  await app.register(collection, definition)
  const base = `${parentPath}/notes`
  const seen: string[] = []
  const send = async (target: string, options: Parameters<typeof request>[2] = {}) => {
    const answer = await request(app, target, options)
    const { 'idempotent-replayed': replayed = '', location = '' } = answer.headers
    seen.push(
      [
        target.replace(/[0-9a-f-]{36}/, ':id'),
        answer.statusCode,
        replayed,
        String(location).replace(/[0-9a-f-]{36}/, ':id'),
        answer.json === undefined ? '' : answer.payload.length > 0 ? (answer.json().code ?? '') : ''
      ].join(' ')
    )
    return answer
  }
  const key = { 'idempotency-key': '"k"' }
  const {
    headers: { location }
  } = await send(`POST ${base}`, { content: { text: 'a', authorId: 'ada' }, fields: key })
  await send(`POST ${base}`, { content: { text: 'a', authorId: 'ada' }, fields: key })
  await send(`POST ${base}`, { content: [{ text: 'b' }, { text: 'c' }], fields: { 'idempotency-key': '"many"' } })
  await send(`POST ${base}`, { content: [{ text: 'b' }, { text: 'c' }], fields: { 'idempotency-key': '"many"' } })
  await send(`PATCH ${location}`, { content: { text: 'd' }, fields: key })
  await send(`DELETE ${location}`)
  await send(`GET ${location}`)
  await send(`GET ${base}/old`)
  await send(`GET ${base}?deleted=true`)
  await send(`GET ${base}?deleted=true`, { fields: { authorization: 'admin' } })
  await send(`PATCH ${location}`, { content: { deletedAt: null, text: 'e' }, fields: { authorization: 'admin' } })
  await send(`GET ${location}`)
  const list = await send(`GET ${base}`)
  seen.push(
    list
      .json()
      .map(({ text }: { text: string }) => text)
      .sort()
      .join()
  )
  for (const query of ['expand=author', 'offset=1&count=true']) {
    const { headers, payload } = await send(`GET ${base}?${query}`)
    const embeds = payload.includes('"name":"Ada"')
    seen.push([headers['x-total-count'], embeds].join(' '))
  }
  await app.close()
  return seen
}

test('pairs of features behave the same in both orders', async (t) => {
  const names = Object.keys(all)
  const defineNotes = () => define({ name: 'notes', schema: Note, storage: memory() })
  for (const [index, first] of names.entries()) {
    for (const second of names.slice(index + 1)) {
      const [a, b] = [all[first]!, all[second]!]
      const together = await observe(defineNotes().with(a, b))
      t.strictSame(await observe(defineNotes().with(b, a)), together, `${first} and ${second}`)
      t.strictSame(await observe(defineNotes().with(a).with(b)), together, `${first}, then ${second}`)
    }
    const later = await observe(addRelations(defineNotes().with(all[first]!)))
    t.strictSame(await observe(addRelations(defineNotes()).with(all[first]!)), later, `relations and ${first}`)
  }
})

test('every feature behaves the same on a nested collection in both orders', async (t) => {
  const nested = features.within(authors, 'authorId') as Feature<object>
  const defineNotes = () => define({ name: 'notes', schema: Note, storage: memory() })
  t.strictSame(
    await observe(addRelations(defineNotes()).with(nested), '/authors/ada'),
    await observe(addRelations(defineNotes().with(nested)), '/authors/ada')
  )
  for (const [name, feature] of Object.entries(all)) {
    const together = await observe(defineNotes().with(nested, feature), '/authors/ada')
    t.strictSame(await observe(defineNotes().with(feature, nested), '/authors/ada'), together, name)
    t.match(together[0], /^POST \/authors\/ada\/notes 201/, name)
  }
})

test('all features work together', async (t) => {
  const seen = await observe(
    addRelations(define({ name: 'notes', schema: Note, storage: memory() }).with(...Object.values(all)))
  )
  t.strictSame(seen, [
    'POST /notes 201  /notes/:id ',
    'POST /notes 201 true /notes/:id ',
    'POST /notes 201   ',
    'POST /notes 201 true  ',
    'PATCH /notes/:id 422   idempotency-key-reused',
    'DELETE /notes/:id 204   ',
    'GET /notes/:id 410   gone',
    'GET /notes/old 301  /elsewhere ',
    'GET /notes?deleted=true 403   forbidden',
    'GET /notes?deleted=true 200   ',
    'PATCH /notes/:id 200   ',
    'GET /notes/:id 200   ',
    'GET /notes 200   ',
    'b,c,e',
    'GET /notes?expand=author 200   ',
    ' true',
    'GET /notes?offset=1&count=true 200   ',
    '3 false'
  ])
})

test('with() does not change the definition and opens no second storage', async (t) => {
  let opened = 0
  const storage = modified(() => {
    opened++
    return {}
  })
  const plain = notes({ storage })
  const bulky = plain.with(features.bulk())
  t.equal(opened, 1)
  t.strictSame([plain.features.length, bulky.features.length], [0, 1])
  t.equal(toCollection(bulky).type, toCollection(plain).type, 'the schema is not compiled again')
  const app = await build(t, plain)
  t.equal((await request(app, 'POST /notes', { content: [{ text: 'a' }] })).statusCode, 422)
})

test('with() throws for a feature that cannot be added', async (t) => {
  t.throws(() => notes().with(features.bulk(), features.bulk()), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /"bulk" is added twice/
  })
  t.throws(() => notes().with(features.bulk()).with(features.bulk()), { message: /"bulk" is added twice/ })
  t.throws(() => notes().with(features.bulk({ maximum: 0 })), { message: /bulk: maximum is 0/ })
  const untransacted = modified(({ supports }) => ({ supports: { ...supports, transactions: false, receipts: false } }))
  t.throws(() => notes({ storage: untransacted }).with(features.bulk()), {
    code: 'FST_COLLECTION_UNSUPPORTED',
    message: /all items of a request or none/
  })
  t.throws(() => notes({ storage: untransacted }).with(features.idempotency()), { code: 'FST_COLLECTION_UNSUPPORTED' })
  const parameter = { on: 'list', schema: {}, ofText: (text: string) => text, read: () => ({}) } as const
  const adding = (name: string, parameterName: string): Feature<object> => ({
    name,
    setup (host) {
      host.addQueryParameter(parameterName, parameter)
    }
  })
  t.throws(() => notes().with(adding('one', 'text')), { message: /query parameter "text" has the name of a property/ })
  t.throws(() => notes().with(adding('one', 'mode'), adding('two', 'mode')), {
    message: /two features add the query parameter "mode"/
  })
  for (const name of ['limit', 'cursor', 'offset', 'sort', 'fields', 'count', 'q']) {
    t.throws(() => notes().with(adding('one', name)), {
      message: new RegExp(`adds the query parameter "${name}", which lists have already`)
    })
  }
})

for (const { name, skip, open } of storages) {
  test(`a write hook runs in the transaction of the write: ${name}`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const log: string[] = []
    const audit: Feature<object> = {
      name: 'audit',
      setup (host) {
        host.addHook('onWrite', async ({ action, before, after }, inner) => {
          const { text } = (after ?? before)!.item as { text: string }
          if (text === 'fail') throw new Error('not logged')
          const visible = await inner.find((after ?? before)!.id, {
            signal: new AbortController().signal,
            scope: undefined
          })
          log.push(`${action} ${text} ${visible !== undefined}`)
        })
      }
    }
    const definition = notes({ storage }).with(audit, features.bulk(), features.idempotency())
    await prepare(definition)
    const app = await build(t, definition)
    const { at } = await created(app, '/notes', { text: 'a' })
    await request(app, `PUT ${at}`, { content: { text: 'b' } })
    await request(app, `PATCH ${at}`, { content: { text: 'c' } })
    await request(app, 'POST /notes', { content: [{ text: 'd' }, { text: 'e' }] })
    await request(app, 'POST /notes', { content: { text: 'f' }, fields: { 'idempotency-key': '"f"' } })
    await request(app, `DELETE ${at}`)
    t.strictSame(log, [
      'create a true',
      'replace b true',
      'update c true',
      'create d true',
      'create e true',
      'create f true',
      'remove c false'
    ])
    const before = (await request(app, 'GET /notes?sort=text')).payload
    for (const content of [{ text: 'fail' }, [{ text: 'g' }, { text: 'fail' }]]) {
      t.equal((await request(app, 'POST /notes', { content })).statusCode, 500)
    }
    const { at: other } = await created(app, '/notes', { text: 'x' })
    t.equal((await request(app, `PUT ${other}`, { content: { text: 'fail' } })).statusCode, 500)
    t.equal((await request(app, `GET ${other}`)).json().text, 'x')
    await request(app, `DELETE ${other}`)
    t.equal((await request(app, 'GET /notes?sort=text')).payload, before, 'nothing is stored')
  })
}

test('a feature can add headers, a query parameter, a storage wrapper and a Fastify plugin', async (t) => {
  const calls: string[] = []
  const feature: Feature<object> = {
    name: 'example',
    setup (host) {
      host.register((app) => {
        app.addHook('onSend', async (_request, reply) => {
          reply.header('x-example', host.collection.name)
        })
      })
      host.addQueryParameter('mode', {
        on: 'list',
        schema: { type: 'string' },
        ofText: (text) => text,
        read: (_collection, value) => (value === 'fast' ? { limit: 1 } : 'fast')
      })
      host.wrapRows((storage) => ({
        ...storage,
        find (id, context) {
          calls.push('find')
          return storage.find(id, context)
        }
      }))
      host.wrap('authorized', (next, { name }) => async (operation) => {
        calls.push(name)
        return next(operation)
      })
    }
  }
  const app = await build(t, notes().with(feature))
  const { at } = await created(app, '/notes', { text: 'a' })
  await created(app, '/notes', { text: 'b' })
  const answer = await request(app, 'GET /notes?mode=fast')
  t.match(answer, { statusCode: 200, headers: { 'x-example': 'notes' } })
  t.equal(answer.json().length, 1)
  t.match((await request(app, 'GET /notes?mode=slow')).json(), { code: 'invalid-query', detail: 'mode must be fast.' })
  t.equal((await request(app, `GET ${at}?mode=fast`)).statusCode, 400, 'a parameter of lists only')
  await request(app, `GET ${at}`)
  t.strictSame(calls, ['create', 'create', 'list', 'list', 'read', 'read', 'find'])
  t.equal((await request(app, 'PROPFIND /notes')).headers['x-example'], undefined)
  t.equal((await request(app, 'DELETE /notes')).headers['x-example'], 'notes', 'also with 405')
})

test('a nested definition keeps its parent and features if features are added later', async (t) => {
  const parents = notes({ name: 'parents' })
  const children = notes({ name: 'children' })
  for (const nested of [
    children.with(features.within(parents, 'text'), features.bulk()),
    children.with(features.bulk()).with(features.within(parents, 'text')),
    children.with(features.within(parents, 'text')).with(features.bulk())
  ]) {
    const app = await build(t, [parents, nested])
    const {
      item: { id }
    } = await created(app, '/parents', { text: 'p' })
    t.equal((await request(app, `POST /parents/${id}/children`, { content: [{}, {}] })).statusCode, 201)
    t.equal((await request(app, 'GET /children')).statusCode, 404)
  }
})

test('two definitions over one storage fail at boot if their features disagree about its rows', async (t) => {
  const base = define({ name: 'notes', schema: Note, storage: memory() })
  const soft = base.with(features.softDelete({ property: 'deletedAt' }))
  const serve = async (...definitions: Definition[]) => {
    const app = Fastify()
    t.after(() => app.close())
    for (const [index, definition] of definitions.entries()) {
      await app.register(collection, { ...definition, prefix: `/v${index}` })
    }
  }
  const refused = {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /use the same storage, but only "notes" has the feature soft-delete/
  }
  await t.rejects(serve(base, soft), refused)
  await t.rejects(serve(soft, base), refused)
  await t.resolves(serve(soft, soft.with(features.bulk())))
  await t.resolves(serve(base, base.with(features.bulk())))
})

test('defineWith() shares options and features', async (t) => {
  const defineNote = defineWith({ storage: memory(), list: { limit: { default: 1 } } }, features.bulk())
  const first = defineNote({ name: 'first', schema: Note })
  const second = defineNote({ name: 'second', schema: Note, list: { limit: { default: 2 } } }).with(
    features.timeout(60_000)
  )
  const app = await build(t, [first, second])
  for (const name of ['first', 'second']) {
    t.equal(
      (await request(app, `POST /${name}`, { content: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] })).statusCode,
      201
    )
  }
  t.equal((await request(app, 'GET /first')).json().length, 1)
  t.equal((await request(app, 'GET /second')).json().length, 2)
  t.throws(() => defineWith({})({ name: 'third', schema: Note } as never), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /storage is missing/
  })
})

test('a definition extends or replaces the access rules of defineWith()', async (t) => {
  const authenticate = ({ request }: { request: FastifyRequest }) => request.headers['x-user']?.toString()
  const isAdmin = ({ caller }: { caller: string | undefined }) => caller === 'admin'
  const protect = defineWith({ storage: memory(), access: { authenticate, allow: isAdmin } })
  const app = await build(t, [
    protect({ name: 'closed', schema: Note }),
    protect({ name: 'listed', schema: Note, access: { allow: { list: 'public' } } }),
    protect({ name: 'known', schema: Note, access: { allow: { all: 'authenticated' } } }),
    protect({ name: 'open', schema: Note, access: { allow: 'public' } }),
    protect({ name: 'scoped', schema: Note, access: { scope: () => ({ values: { text: 'a' } }) } })
  ])
  const status = async (target: string, user?: string): Promise<number> => {
    return (await request(app, target, { content: { text: 'a' }, fields: user === undefined ? {} : { 'x-user': user } }))
      .statusCode
  }
  for (const name of ['closed', 'scoped']) {
    t.equal(await status(`GET /${name}`), 401, name)
    t.equal(await status(`GET /${name}`, 'ada'), 403, name)
    t.equal(await status(`GET /${name}`, 'admin'), 200, name)
  }
  t.equal(await status('GET /listed'), 200)
  t.equal(await status('POST /listed', 'ada'), 403, 'the rule of the defaults still applies to the other actions')
  t.equal(await status('POST /known', 'ada'), 201, 'a rule for all actions replaces that of the defaults')
  t.equal(await status('POST /known'), 401, 'with the same authenticate')
  t.equal(await status('POST /open'), 201)
})

test('defineWith() merges groups option by option, and an option that is undefined counts as missing', async (t) => {
  const shared = defineWith({
    storage: memory(),
    cache: 'max-age=10',
    list: { limit: { default: 2, maximum: 3 } },
    etag: { required: true },
    access: { authenticate: () => 'ada', allow: { all: 'public', remove: () => false } }
  })
  const byAction = defineWith({ storage: memory(), cache: { list: 'max-age=1', read: 'max-age=2' } })
  const app = await build(t, [
    shared({ name: 'none', schema: Note }),
    shared({ name: 'some', schema: Note, cache: { read: 'max-age=20' }, list: { limit: { default: 1 } }, etag: {} }),
    shared({ name: 'missing', schema: Note, cache: undefined, access: undefined, etag: undefined, list: undefined } as never),
    shared({ name: 'parts', schema: Note, access: { authenticate: undefined, allow: { remove: undefined } } } as never),
    byAction({ name: 'one', schema: Note, cache: 'max-age=5' }),
    byAction({ name: 'other', schema: Note, cache: { list: 'max-age=7' } })
  ])
  const policies = async (name: string) => {
    const created = await request(app, `POST /${name}`, { content: { text: 'a' } })
    const responses = [await request(app, `GET /${name}`), await request(app, `GET ${created.headers.location}`)]
    const removed = await request(app, `DELETE ${created.headers.location}`)
    return [...responses.map(({ headers }) => headers['cache-control']), removed.statusCode]
  }
  t.strictSame(await policies('none'), ['max-age=10', 'max-age=10', 403])
  t.strictSame(await policies('some'), ['max-age=10', 'max-age=20', 403])
  t.strictSame(await policies('missing'), ['max-age=10', 'max-age=10', 403])
  t.strictSame(await policies('parts'), ['max-age=10', 'max-age=10', 403])
  t.strictSame(await policies('one'), ['max-age=5', 'max-age=5', 204])
  t.strictSame(await policies('other'), ['max-age=7', 'max-age=2', 204])
  for (let count = 0; count < 4; count++) await request(app, 'POST /some', { content: { text: 'a' } })
  t.equal((await request(app, 'GET /some')).json().length, 1)
  t.equal((await request(app, 'GET /some?limit=4')).statusCode, 400, 'the maximum of the defaults')
})

test('hooks in routes of defineWith() run before those of a definition, each once', async (t) => {
  const calls: string[] = []
  const hook = (name: string) => async () => { calls.push(name) }
  const [shared, own] = [hook('shared'), hook('own')]
  const refuse = async () => { throw Object.assign(new Error('no'), { statusCode: 401 }) }
  const defineNote = defineWith({
    storage: memory(),
    routes: { all: { onRequest: shared, bodyLimit: 10 }, remove: { onRequest: refuse } }
  })
  const app = await build(t, [
    defineNote({ name: 'one', schema: Note, routes: { all: { logLevel: 'warn' }, remove: { logLevel: 'warn' } } }),
    defineNote({ name: 'two', schema: Note, routes: { all: { onRequest: [own, shared], bodyLimit: 1000 }, list: {} } })
  ])
  t.equal((await request(app, 'GET /one')).statusCode, 200)
  t.strictSame(calls.splice(0), ['shared'])
  t.equal((await request(app, 'DELETE /one/1')).statusCode, 401)
  t.equal((await request(app, 'POST /one', { content: { text: 'longer' } })).statusCode, 413)
  calls.length = 0
  t.equal((await request(app, 'POST /two', { content: { text: 'longer' } })).statusCode, 201)
  t.strictSame(calls, ['shared', 'own'])
})

test('properties that features need are read even if fields does not select them', async (t) => {
  const adding = (name: string, property: string): Feature<object> => ({
    name,
    setup (host) {
      host.addQueryParameter(name, {
        on: 'list',
        schema: { type: 'string' },
        ofText: (text) => text,
        read: () => ({ features: { [name]: 'yes' }, needs: [property] })
      })
      host.wrap('authorized', (next) => async (operation) => {
        const outcome = await next(operation)
        if (!('kind' in outcome) || outcome.kind !== 'page') return outcome
        if (outcome.listQuery.features?.[name] === undefined) return outcome
        const { related } = outcome
        return {
          ...outcome,
          related: {
            dependsOnCaller: false,
            collections: [],
            addition: {
              version: (entry) => `${related?.addition?.version(entry) ?? ''}+${name}`,
              add: (entry) => {
                return { ...related?.addition?.add(entry), [name]: Reflect.get(entry.item, property) ?? null }
              }
            }
          }
        }
      })
    }
  })
  const read: unknown[] = []
  const storage = modified(({ list }) => ({
    list: (query, context) => {
      read.push(query.properties)
      return list(query, context)
    }
  }))
  const app = await build(
    t,
    define({ name: 'notes', schema: Note, storage }).with(
      adding('one', 'text'),
      adding('two', 'deletedAt')
    )
  )
  const {
    item: { id }
  } = await created(app, '/notes', { text: 'a' })
  t.strictSame((await request(app, 'GET /notes?fields=id&one=yes&two=yes')).json(), [{ id, one: 'a', two: null }])
  t.match((await request(app, 'QUERY /notes?one=yes', { content: { fields: ['id'], two: 'yes' } })).json(), [
    { one: 'a', two: null }
  ])
  for (const properties of read) t.strictSame([properties].flat().toSorted(), ['deletedAt', 'id', 'text'])
})
