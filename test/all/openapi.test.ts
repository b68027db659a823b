import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Type } from '@sinclair/typebox'
import openapiTS, { astToString } from 'openapi-typescript'
import { test } from 'tap'
import { batch } from '../../lib/doors/batch/batch.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { define } from '../define.ts'
import { nativeCompiler, root, runProgram } from '../example.ts'
import { articles, goods, service } from '../openapi/service.ts'
import { buildDocument } from '../relations/document.ts'
import { listen } from '../wire.ts'
import { lint } from './lint.ts'

// Judges and clients of the OpenAPI document, from other projects.

interface Document {
  readonly paths: Record<string, Record<string, {
    description: string
    readonly requestBody?: { readonly content: Record<string, { example?: unknown }> }
    readonly responses: Record<string, unknown>
  }>>
}

for (const version of ['3.2.0', '3.1.0', '3.0.3']) {
  test(`a document of ${version} passes Spectral with the OpenAPI and OWASP rules, and Redocly`, async (t) => {
    const app = await service(version)
    t.after(() => app.close())
    await app.register(batch, { collections: [articles, goods] })
    await app.ready()
    const document = app.swagger() as unknown as Document
    t.strictSame((await lint(document)).slice(0, 20), [])
    // Of one path: the judges take long for the whole document.
    const broken = structuredClone({ ...document, paths: { '/users': document.paths['/users']! } })
    Reflect.deleteProperty(broken.paths['/users']!.get!, 'description')
    Reflect.deleteProperty(broken.paths['/users']!.get!.responses, '500')
    broken.paths['/users']!.post!.requestBody!.content['application/json']!.example = { nothing: 'of it' }
    const found = (await lint(broken)).map((line) =>
      line.slice(0, line.indexOf(':', line.startsWith('owasp') ? 20 : 0))
    )
    for (const rule of [
      'operation-description',
      'owasp:api8:2023-define-error-responses-500',
      'oas3-valid-media-example',
      'no-invalid-media-type-examples'
    ]) {
      t.ok(found.includes(rule), `${rule} is reported: ${found.join()}`)
    }
  })
}

const text = (maxLength: number) => ({ minLength: 1, maxLength, pattern: '^[^\\u0000]*$' })
const key = { format: 'uuid', maxLength: 36 } as const

/** Rules about what an app adds: see test/openapi/service.ts. */
const aboutApps = /^(?:owasp:api[2489]:2023-(?:read|write|rate|define|inventory)-|security-defined)/

for (const version of ['3.2.0', '3.1.0', '3.0.3']) {
  test(`a document of ${version} with relations in circles passes Spectral and Redocly`, async (t) => {
    const one = memory()
    const document = await buildDocument(t, relate({
      users: define({
        name: 'users',
        schema: Type.Object({ id: Type.String({ ...key, readOnly: true }), name: Type.String(text(80)) }),
        storage: one
      }),
      articles: define({
        name: 'articles',
        schema: Type.Object({
          id: Type.String({ ...key, readOnly: true }),
          title: Type.String(text(80)),
          authorId: Type.Union([Type.String(key), Type.Null()])
        }),
        storage: one
      })
    }, {
      users: { articles: { to: 'articles', by: 'authorId' } },
      articles: { author: { to: 'users', property: 'authorId' } }
    }), version)
    const found = await lint(document)
    t.ok(found.length > 0, 'the app has no security requirements and no rate limit')
    t.strictSame(found.filter((line) => !aboutApps.test(line)), [])
  })
}

test('openapi-typescript leaves QUERY out, as docs/openapi.md says', async (t) => {
  const app = await service('3.2.0')
  t.after(() => app.close())
  await app.ready()
  const types = astToString(await openapiTS(app.swagger() as never))
  t.match(types, 'operations["users.list"]')
  t.notMatch(types, 'users.query')
})

test('openapi-typescript and openapi-fetch build a client that compiles and performs all six actions and custom ones', async (t) => {
  const app = await service()
  t.after(() => app.close())
  const port = await listen(app)
  // From there, the compiler finds the packages.
  const folder = join(import.meta.dirname, '.tap', `client-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      rootDir: root,
      lib: ['es2023', 'es2024.string', 'dom'],
      typeRoots: [join(root, 'node_modules/@types')]
    },
    include: ['*.ts'],
    exclude: []
  }))
  const types = astToString(await openapiTS(app.swagger() as never, { defaultNonNullable: false }))
  writeFileSync(join(folder, 'service.ts'), types)
  writeFileSync(
    join(folder, 'client.ts'),
    `
import createClient from 'openapi-fetch'
import type { components, paths } from './service.ts'

type User = components['schemas']['User']

export async function actions (baseUrl: string): Promise<unknown[]> {
  const client = createClient<paths, 'application/json' | 'application/problem+json'>({ baseUrl, querySerializer: { array: { style: 'form', explode: false } } })
  const made = await client.POST('/users', { body: { email: 'ada@example.com', name: 'Ada', password: 'secret' } })
  if (made.data === undefined) throw new Error(made.error.detail)
  const user: User = made.data
  const path = { id: user.id }
  const list = await client.GET('/users', { params: { query: { limit: 1, sort: ['-name'], 'role.in': ['reader', 'author'], 'createdAt.gte': '2020-01-01T00:00:00Z' } } })
  const read = await client.GET('/users/{id}', { params: { path } })
  const replaced = await client.PUT('/users/{id}', { params: { path, header: { 'If-Match': read.response.headers.get('etag') ?? '' } }, body: { email: user.email, name: 'Ada Lovelace' } })
  const updated = await client.PATCH('/users/{id}', { params: { path }, headers: { 'Content-Type': 'application/merge-patch+json' }, body: { nickname: null, role: 'author' } })
  const refused = await client.POST('/users', { body: { email: 'no address', name: '' } })
  const renamed = await client.POST('/users/{id}/rename', { params: { path }, body: { name: 'Countess' } })
  const summary = await client.POST('/users/summary')
  const removed = await client.DELETE('/users/{id}', { params: { path } })
  // @ts-expect-error the new name is required
  void (() => client.POST('/users/{id}/rename', { params: { path }, body: {} }))
  // @ts-expect-error an address is required
  void (() => client.POST('/users', { body: { name: 'Ada' } }))
  // @ts-expect-error the password is never given
  void user.password
  // @ts-expect-error a precondition is required
  void (() => client.DELETE('/products/{id}', { params: { path: { id: 'ABC-1234' } } }))
  // @ts-expect-error there is no such key
  void (() => client.GET('/users', { params: { query: { 'password.gte': 'a' } } }))
  return [list.data?.map(({ name }) => name), read.data?.name, replaced.data?.name, updated.data?.role, refused.error?.errors?.map(({ pointer }) => pointer), removed.response.status, renamed.data?.name, summary.data?.count]
}
`
  )
  t.strictSame(runProgram(nativeCompiler, '-p', folder), { status: 0, output: '' })
  const { actions } = (await import(pathToFileURL(join(folder, 'client.ts')).href)) as {
    actions: (baseUrl: string) => Promise<unknown[]>
  }
  t.strictSame(await actions(`http://127.0.0.1:${port}`), [
    ['Ada'],
    'Ada',
    'Ada Lovelace',
    'author',
    ['/email', '/name'],
    204,
    'Countess',
    1
  ])
})
