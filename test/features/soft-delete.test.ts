import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { define, problem } from '../../lib/index.ts'
import type { Definition, Options } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import type { SoftDeleteOptions } from '../../lib/features/soft-delete.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { redirects } from '../../lib/features/redirects.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { relate } from '../../lib/relations/relate.ts'
import { within } from '../../lib/features/within.ts'
import { build, created, modified, request } from '../app.ts'
import { storages } from '../storages.ts'

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String(),
  name: Type.String(),
  role: Type.String({ default: 'reader' }),
  password: Type.Optional(Type.String({ writeOnly: true })),
  updatedAt: Type.String({ format: 'date-time', readOnly: true }),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})
const Nullable = Type.Object({
  ...User.properties,
  deletedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { default: null, readOnly: true })
})
const admin = { authorization: 'admin' }

function base (options: Partial<Options<typeof User>> = {}): Definition {
  return define({
    name: 'users',
    schema: User,
    unique: ['email'],
    list: { search: ['name'] },
    storage: memory(),
    ...options
  })
}

function users (options: Partial<Options<typeof User>> = {}): Definition {
  return base(options).with(
    softDelete({ property: 'deletedAt', allow: async ({ request }) => request?.headers.authorization === 'admin' })
  )
}

const ada = { email: 'ada@example.com', name: 'Ada', password: 'secret' }
const bob = { email: 'bob@example.com', name: 'Bob' }

async function code (answer: ReturnType<typeof request>): Promise<string> {
  const { statusCode, payload } = await answer
  return statusCode < 400 ? String(statusCode) : `${statusCode} ${JSON.parse(payload).code}`
}

for (const { name, skip, open } of storages) {
  for (const [kind, schema] of [
    ['optional', User],
    ['nullable', Nullable]
  ] as const) {
    const start = async (t: Test, options: object = {}) => {
      const { storage, prepare } = await open(t)
      const definition = users({ storage, schema, ...options } as object)
      await prepare(definition)
      return build(t, definition)
    }

    test(
      `a deleted item returns 410 and is left out of lists, counts, searches and filters: ${name}, ${kind}`,
      { skip },
      async (t) => {
        const changes: string[] = []
        const app = await start(t, {
          hooks: {
            afterCommit: ({ action, before, after }: { action: string; before?: object; after?: object }) => {
              changes.push(`${action} ${before !== undefined} ${after !== undefined}`)
            }
          }
        })
        const { at, tag } = await created(app, '/users', ada)
        await created(app, '/users', bob)
        t.equal(await code(request(app, `DELETE ${at}`, { fields: { 'if-match': '"other"' } })), '412 precondition-failed')
        t.equal(await code(request(app, `DELETE ${at}`, { fields: { 'if-match': tag } })), '204')
        t.same(changes, ['create false true', 'create false true', 'remove true false'])
        for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
          t.equal(
            await code(
              request(
                app,
                `${method} ${at}`,
                method === 'GET' || method === 'DELETE' ? {} : { content: bob, fields: { 'if-match': tag } }
              )
            ),
            '410 gone',
            method
          )
        }
        t.match(await request(app, `HEAD ${at}`), {
          statusCode: 410,
          headers: { 'cache-control': 'no-cache', 'content-type': 'application/problem+json' }
        })
        t.equal(await code(request(app, 'GET /users/none')), '404 not-found')
        t.equal(await code(request(app, 'GET /users/01900000-0000-7000-8000-000000000001')), '404 not-found')
        const names = async (query: string) => {
          const answer = await request(app, `GET /users${query}`)
          return [
            answer
              .json()
              .map((item: { name: string }) => item.name)
              .join(),
            answer.headers['x-total-count']
          ]
        }
        t.same(await names('?count=true'), ['Bob', '1'])
        t.same(await names('?q=ada&count=true'), ['', '0'])
        t.same(await names('?email=ada@example.com'), ['', undefined])
        t.same(await names('?deletedAt.null=false'), ['', undefined])
        t.equal((await request(app, 'QUERY /users', { content: { filter: { name: 'Ada' } } })).payload, '[]')
        t.equal(
          await code(request(app, 'POST /users', { content: ada })),
          '409 not-unique',
          'values of deleted items must still be unique'
        )
        t.equal(
          await code(
            request(app, 'POST /users', { content: { ...bob, email: 'c@example.com', deletedAt: '2026-01-01T00:00:00Z' } })
          ),
          '201',
          'clients cannot set deletedAt'
        )
        t.same(await names('?count=true'), ['Bob,Bob', '2'])
      }
    )

    test(`permitted callers can read and restore deleted items: ${name}, ${kind}`, { skip }, async (t) => {
      const app = await start(t, { etag: { required: true }, cache: 'public, max-age=60' })
      const { at, tag, item } = await created(app, '/users', ada)
      await created(app, '/users', bob)
      t.equal(await code(request(app, `DELETE ${at}`, { fields: { 'if-match': tag } })), '204')
      for (const target of [`GET ${at}?deleted=true`, 'GET /users?deleted=true']) {
        t.equal(await code(request(app, target)), '403 forbidden')
        const answer = await request(app, target, { fields: admin })
        t.equal(answer.statusCode, 200)
        t.equal(answer.headers['cache-control'], 'no-store', 'whatever the cache policy')
      }
      const gone = await request(app, `GET ${at}?deleted=true`, { fields: admin })
      t.match(gone.json(), { name: 'Ada', deletedAt: /^\d{4}-.*Z$/ })
      t.equal(gone.json().updatedAt, gone.json().deletedAt, 'deleting an item changes updatedAt')
      t.notMatch(gone.json(), { password: /./ })
      t.not(gone.headers.etag, tag)
      const list = await request(app, 'GET /users?deleted=true&limit=1&count=true', { fields: admin })
      t.equal(list.headers['x-total-count'], '2')
      t.match(String(list.headers.link), 'deleted=true', 'links to other pages include deleted items')
      t.same(
        (await request(app, 'GET /users?deleted=true&deletedAt.null=false', { fields: admin }))
          .json()
          .map((one: { name: string }) => one.name),
        ['Ada']
      )
      t.same(
        (await request(app, 'GET /users?deleted=false')).json().map((one: { name: string }) => one.name),
        ['Bob']
      )
      t.equal(
        (await request(app, 'QUERY /users?deleted=true', { content: { filter: { name: 'Ada' } }, fields: admin })).headers[
          'content-location'
        ],
        '/users?name=Ada&deleted=true'
      )
      t.equal(
        await code(request(app, 'QUERY /users', { content: { deleted: true }, fields: admin })),
        '422 validation-failed',
        'in the content, it would be read after the access check'
      )
      t.equal(await code(request(app, 'GET /users?deleted=yes', { fields: admin })), '400 invalid-query')
      t.equal(await code(request(app, 'GET /users?deleted=true&deleted=true', { fields: admin })), '400 invalid-query')
      const match = { ...admin, 'if-match': String(gone.headers.etag) }
      t.equal(
        await code(
          request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: { 'if-match': String(gone.headers.etag) } })
        ),
        '410 gone',
        'the caller may not restore'
      )
      t.equal(
        await code(request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: admin })),
        '428 precondition-required'
      )
      t.equal(
        await code(request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: { ...admin, 'if-match': tag } })),
        '412 precondition-failed'
      )
      t.equal(
        await code(request(app, `PATCH ${at}`, { content: { name: 'Eve' }, fields: match })),
        '410 gone',
        'only a patch of deletedAt restores'
      )
      t.equal(
        await code(request(app, `PATCH ${at}`, { content: { deletedAt: '2030-01-01T00:00:00Z' }, fields: match })),
        '410 gone'
      )
      t.equal(
        await code(request(app, `PATCH ${at}`, { content: { deletedAt: null, id: 'x' }, fields: match })),
        '422 validation-failed'
      )
      t.equal(
        await code(request(app, `PUT ${at}`, { content: gone.json(), fields: match })),
        '410 gone',
        'with deletedAt, it stays deleted'
      )
      t.equal(await code(request(app, `DELETE ${at}`, { fields: match })), '410 gone')
      const back = await request(app, `PATCH ${at}`, { content: { deletedAt: null, name: 'Ada II' }, fields: match })
      t.equal(back.statusCode, 200)
      t.strictSame(back.json(), { ...item, name: 'Ada II', updatedAt: back.json().updatedAt })
      t.equal(await code(request(app, `GET ${at}`)), '200')
      t.equal(
        await code(
          request(app, `PATCH ${at}`, {
            content: { deletedAt: '2030-01-01T00:00:00Z' },
            fields: { ...admin, 'if-match': String(back.headers.etag) }
          })
        ),
        '422 validation-failed',
        'deletedAt is readOnly unless the item is deleted'
      )
      const etag = String(back.headers.etag)
      t.equal(await code(request(app, `DELETE ${at}`, { fields: { 'if-match': etag } })), '204')
      const again = {
        ...admin,
        'if-match': String((await request(app, `GET ${at}?deleted=true`, { fields: admin })).headers.etag)
      }
      const put = await request(app, `PUT ${at}`, { content: { email: 'ada@example.com', name: 'Ada III' }, fields: again })
      t.match(put.json(), { name: 'Ada III', role: 'reader' })
      t.equal(put.statusCode, 200)
      t.equal(
        await code(
          request(app, `PATCH ${at}`, {
            content: [{ op: 'test', path: '/name', value: 'Ada III' }],
            type: 'application/json-patch+json',
            fields: { 'if-match': '*' }
          })
        ),
        '200'
      )
    })
  }

  test(`parallel deletes, restores and updates stay consistent: ${name}`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const definition = users({ storage })
    await prepare(definition)
    const app = await build(t, definition)
    const { at } = await created(app, '/users', { ...ada, name: '0' })
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all([
        request(app, `DELETE ${at}`),
        request(app, `PATCH ${at}`, { content: { name: String(round) } }),
        request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: admin }),
        request(app, `DELETE ${at}`),
        request(app, `PATCH ${at}`, { content: { role: String(round) } }),
        request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: admin })
      ])
      t.same(
        answers.map(({ statusCode }) => statusCode).filter((status) => ![200, 204, 410].includes(status)),
        []
      )
      const [, patched, , , promoted] = answers
      const { name, role } = (await request(app, `GET ${at}?deleted=true`, { fields: admin })).json()
      if (patched!.statusCode === 200) t.equal(name, String(round), 'no confirmed change is lost')
      if (promoted!.statusCode === 200) t.equal(role, String(round))
      await request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: admin })
      const alone = await Promise.all([1, 2, 3, 4].map(() => request(app, `DELETE ${at}`)))
      t.same(
        alone.map(({ statusCode }) => statusCode).sort(),
        [204, 410, 410, 410],
        'one request deletes, the others get 410'
      )
      await request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: admin })
    }
  })
}

test('without allow, no caller can read or restore deleted items', async (t) => {
  const app = await build(t, base().with(softDelete({ property: 'deletedAt' })))
  const { at } = await created(app, '/users', ada)
  await request(app, `DELETE ${at}`)
  t.equal(await code(request(app, 'GET /users?deleted=true', { fields: admin })), '400 invalid-query')
  t.equal(await code(request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: admin })), '410 gone')
  t.equal(await code(request(app, `PUT ${at}`, { content: bob, fields: admin })), '410 gone')
})

test('allow is a rule, as in access.allow', async (t) => {
  const authenticate = ({ request }: { readonly request: FastifyRequest }) => request.headers.authorization
  const property = 'deletedAt'
  const open = (allow: SoftDeleteOptions<'deletedAt'>['allow']) => {
    return build(t, base({ access: { authenticate, allow: 'public' } }).with(softDelete({ property, ...allow && { allow } })))
  }
  for (const [allow, anonymous, authenticated] of [
    ['public', '200', '200'],
    ['authenticated', '401 unauthenticated', '200'],
    [({ caller }) => caller === 'root', '401 unauthenticated', '403 forbidden'],
    [() => 'hidden', '404 not-found', '404 not-found'],
    [({ action }) => action === 'list', '200', '200'],
    [() => { throw problem('forbidden', { detail: 'Ask the archive.' }) }, '403 forbidden', '403 forbidden']
  ] as const satisfies ReadonlyArray<readonly [SoftDeleteOptions['allow'], string, string]>) {
    const app = await open(allow)
    const { at } = await created(app, '/users', ada)
    await request(app, `DELETE ${at}`)
    t.equal(await code(request(app, 'GET /users?deleted=true')), anonymous, String(allow))
    t.equal(await code(request(app, 'GET /users?deleted=true', { fields: admin })), authenticated, String(allow))
    if (anonymous === '403 forbidden') {
      t.equal((await request(app, 'GET /users?deleted=true')).json().detail, 'Ask the archive.')
    }
    const restored = await code(request(app, `PATCH ${at}`, { content: { deletedAt: null }, fields: admin }))
    t.equal(restored, allow === 'public' || allow === 'authenticated' ? '200' : '410 gone', String(allow))
  }
})

test('PUT that creates returns 410 for a deleted item, or restores it for a permitted caller', async (t) => {
  const prepared: string[] = []
  const Page = Type.Object({
    slug: Type.String(),
    title: Type.String(),
    removed: Type.Optional(Type.String({ format: 'date-time' }))
  })
  const app = await build(
    t,
    define({
      name: 'pages',
      schema: Page,
      id: { property: 'slug', generate: 'client' },
      storage: memory(),
      put: { create: true },
      hooks: {
        beforeValidation: ({ action, item, before }) => {
          prepared.push(`${action} ${before?.removed !== undefined} ${item.removed !== undefined}`)
          return { ...item, title: item.title.trim() }
        }
      }
    }).with(
      softDelete({ property: 'removed', allow: ({ request }) => request?.headers.authorization === 'admin' })
    )
  )
  const put = (fields = {}) => code(request(app, 'PUT /pages/a', { content: { title: ' A ' }, fields }))
  t.equal(await put(), '201')
  t.equal(await put(), '200')
  t.equal(await code(request(app, 'DELETE /pages/a')), '204')
  t.equal(await put(), '410 gone')
  t.equal(await put({ 'if-none-match': '*' }), '410 gone')
  t.equal(await code(request(app, 'POST /pages', { content: { slug: 'a', title: 'A' } })), '409 not-unique')
  t.equal(await put(admin), '200')
  t.same(prepared, ['create false false', 'replace false false', 'create false false', 'replace true false'])
  t.equal((await request(app, 'GET /pages/a')).json().title, 'A')
})

test('expand and nested collections leave out deleted items', async (t) => {
  const Article = Type.Object({
    id: Type.String({ format: 'uuid' }),
    title: Type.String(),
    authorId: Type.String({ format: 'uuid' }),
    gone: Type.Optional(Type.String({ format: 'date-time' }))
  })
  const { authors, articles } = relate({
    authors: users({ name: 'authors' }),
    articles: define({ name: 'articles', schema: Article, storage: memory() })
      .with(bulk(), softDelete({ property: 'gone', allow: () => true }))
  }, { articles: { author: { to: 'authors', property: 'authorId' } } })
  const app = await build(t, [authors, articles, articles.with(within(authors, 'authorId'))])
  const author = await created(app, '/authors', ada)
  const article = await created(app, `${author.at}/articles`, { title: 'One' })
  t.equal(
    await code(request(app, `POST ${author.at}/articles`, { content: [{ title: 'Two' }, { title: 'Three' }] })),
    '201'
  )
  await request(app, `DELETE ${article.at}`)
  t.equal(await code(request(app, `GET ${article.at}`)), '410 gone')
  t.equal((await request(app, `GET ${author.at}/articles`)).json().length, 2)
  t.equal((await request(app, `GET ${author.at}/articles?deleted=true`)).json().length, 3)
  const other = await created(app, '/authors', bob)
  t.equal(
    await code(request(app, `GET ${other.at}/articles/${String(article.item.id)}`)),
    '404 not-found',
    'it never existed under another parent'
  )
  t.equal(
    await code(request(app, `PATCH ${other.at}/articles/${String(article.item.id)}`, { content: { gone: null } })),
    '404 not-found'
  )
  t.equal((await request(app, 'GET /articles?expand=author')).json()[0].author.name, 'Ada')
  await request(app, `DELETE ${author.at}`)
  t.equal((await request(app, 'GET /articles?expand=author')).json()[0].author, null)
  t.equal(await code(request(app, `GET ${author.at}/articles`)), '404 not-found')
})

test('a deleted item that moved returns 301', async (t) => {
  const target = { id: '' }
  const app = await build(
    t,
    users().with(redirects({ to: ({ id }) => (id === target.id ? { href: '/people/1' } : undefined) }))
  )
  const { at, item } = await created(app, '/users', ada)
  await request(app, `DELETE ${at}`)
  t.equal(await code(request(app, `GET ${at}`)), '410 gone')
  target.id = String(item.id)
  t.match(await request(app, `GET ${at}`), { statusCode: 301, headers: { location: '/people/1' } })
})

test('softDelete detects writes and restores of other writers', async (t) => {
  let rivals = 0
  let restore = false
  const definition = base({
    storage: modified((storage) => ({
      async replace (id, item, expected, context) {
        const entry = rivals-- > 0 ? await storage.find(id, context) : undefined
        if (entry !== undefined) {
          await storage.replace(id, { ...entry.item, role: `rival ${rivals}` }, entry.version, context)
        }
        return storage.replace(id, item, expected, context)
      },
      async find (id, context) {
        const entry = await storage.find(id, context)
        if (restore && entry === undefined) {
          restore = false
          const whole = { ...context, signal: context.signal, scope: undefined }
          const { deletedAt, ...item } = (await storage.find(id, whole))!.item as { deletedAt: string }
          await storage.replace(id, item, undefined, whole)
        }
        return entry
      }
    }))
  }).with(
    softDelete({
      property: 'deletedAt',
      allow: ({ request }) => {
        if (request?.headers.authorization === undefined) throw Object.assign(new Error('who?'), { statusCode: 401 })
        return true
      }
    })
  )
  const app = await build(t, definition)
  const { at, tag } = await created(app, '/users', ada)
  rivals = 5
  t.equal(await code(request(app, `DELETE ${at}`)), '204')
  t.equal(
    (await request(app, `GET ${at}?deleted=true`, { fields: admin })).json().role,
    'rival 0',
    'the deleted item contains the other writes'
  )
  t.equal(
    await code(request(app, `GET ${at}?deleted=true`)),
    '401 unauthenticated',
    'an error thrown by the permission is sent'
  )
  restore = true
  t.equal(await code(request(app, `PATCH ${at}`, { content: { name: 'x', deletedAt: null }, fields: admin })), '200')
  rivals = 1000
  t.equal(await code(request(app, `DELETE ${at}`)), '409 concurrent-update')
  rivals = 0
  const now = String((await request(app, `GET ${at}`)).headers.etag)
  rivals = 1
  t.equal(await code(request(app, `DELETE ${at}`, { fields: { 'if-match': now } })), '412 precondition-failed')
  t.equal(await code(request(app, `DELETE ${at}`, { fields: { 'if-match': tag } })), '412 precondition-failed')
  const { storage } = definition
  const context = { signal: new AbortController().signal, scope: undefined }
  const id = at.slice('/users/'.length)
  t.strictSame(await storage.remove(id, 'other', context), { refused: 'stale' })
  t.equal(await storage.transaction!(async (inner) => inner.remove(id, undefined, context), context), undefined)
  t.strictSame(await storage.remove(id, undefined, context), { refused: 'not-found' })
})

test('restoring an item neither reveals nor removes properties that the caller cannot see', async (t) => {
  const app = await build(
    t,
    base({
      access: { visible: { role: ({ request }) => request?.headers['x-boss'] === 'yes' } }
    }).with(softDelete({ property: 'deletedAt', allow: () => true }))
  )
  const boss = { 'x-boss': 'yes' }
  const posted = await request(app, 'POST /users', { content: { ...ada, role: 'writer' }, fields: boss })
  const at = String(posted.headers.location)
  for (const [method, content] of [
    ['PATCH', { deletedAt: null }],
    ['PUT', { email: ada.email, name: 'Ada II' }]
  ] as const) {
    t.equal(await code(request(app, `DELETE ${at}`)), '204')
    t.notOk('role' in (await request(app, `GET ${at}?deleted=true`)).json())
    t.equal((await request(app, 'GET /users?deleted=true')).json().length, 1)
    t.equal(
      await code(request(app, `${method} ${at}`, { content: { ...content, role: 'admin' } })),
      '422 validation-failed'
    )
    const back = await request(app, `${method} ${at}`, { content })
    t.equal(back.statusCode, 200)
    t.notOk('role' in back.json(), method)
    t.equal((await request(app, `GET ${at}`, { fields: boss })).json().role, 'writer', 'the property is kept')
  }
})

test('invalid softDelete options fail at boot', async (t) => {
  const schema = (deletedAt: ReturnType<typeof Type.Unsafe>) => Type.Object({ ...User.properties, deletedAt })
  const property = 'deletedAt'
  const wrong: Array<[options: object, feature: unknown, code: string, message: RegExp]> = [
    [{}, { property: 'removed' }, 'UNKNOWN_PROPERTY', /softDelete names "removed"/],
    [{}, { property: 'name' }, 'BAD_SCHEMA', /"name" says when an item was deleted\. Make it Type\.Optional/],
    [
      { schema: schema(Type.Unsafe(Type.String({ format: 'date-time' }))) },
      { property },
      'BAD_SCHEMA',
      /"deletedAt" says/
    ],
    [
      { schema: schema(Type.Unsafe(Type.Union([Type.String({ format: 'date-time' }), Type.Null()]))) },
      { property },
      'UNFILLED_PROPERTY',
      /"deletedAt".*Give it a default/
    ],
    [{}, true, 'BAD_OPTION', /softDelete takes an object with property, allow, but got true/],
    [{}, { property, permits: () => true }, 'BAD_OPTION', /softDelete: there is no option "permits"/],
    [{}, { property, allow: true }, 'BAD_OPTION', /allow of softDelete is true\. It must be "public", "authenticated" or a function/],
    [{}, { property, allow: 'authenticated' }, 'BAD_OPTION', /"authenticated", but callers are not identified/],
    [
      { storage: modified(({ supports }) => ({ supports: { ...supports, filter: false } })), unique: [] },
      { property },
      'UNSUPPORTED',
      /softDelete leaves deleted items out/
    ]
  ]
  for (const [options, feature, code, message] of wrong) {
    t.throws(
      () => base(options).with(softDelete(feature as never)),
      { code: `FST_COLLECTION_${code}`, message },
      JSON.stringify([options, feature])
    )
  }
  const untransacted = users({
    storage: modified((storage) => {
      const { transaction, ...rest } = storage
      return { ...rest, supports: { ...rest.supports, transactions: false }, transaction: undefined } as never
    })
  })
  t.equal(untransacted.storage.transaction, undefined)
})

test('a request with an Idempotency-Key is applied once, also with softDelete and timeout', async (t) => {
  const app = await build(t, users().with(idempotency(), timeout(10_000)))
  const fields = { 'idempotency-key': '"one"' }
  const first = await request(app, 'POST /users', { content: ada, fields })
  t.equal(first.statusCode, 201)
  const again = await request(app, 'POST /users', { content: ada, fields })
  t.match(
    [again.statusCode, again.headers.location, again.headers['idempotent-replayed']],
    [201, first.headers.location, 'true']
  )
  t.equal((await request(app, 'GET /users')).json().length, 1)
  t.equal((await request(app, `DELETE ${first.headers.location as string}`)).statusCode, 204)
  t.equal(await code(request(app, `GET ${first.headers.location as string}`)), '410 gone')
})
