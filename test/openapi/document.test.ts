import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import Fastify from 'fastify'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import * as TypeBox from 'typebox'
import collection, { define, json } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { html } from '../../lib/formats/html.ts'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { redirects } from '../../lib/features/redirects.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { within } from '../../lib/features/within.ts'
import { notes, request, users } from '../app.ts'
import type { Registration } from '../app.ts'
import { service } from './service.ts'

type Json = Record<string, unknown>
interface Media {
  schema: Json
  example?: unknown
}
interface Answer {
  description: string
  headers?: Record<string, { $ref: string }>
  content?: Record<string, Media>
}
interface Parameter {
  name: string
  in: string
  required?: boolean
  schema: Json
  example?: unknown
  description?: string
  style?: string
  explode?: boolean
}
interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Answer>
}
interface Document {
  openapi: string
  tags: Array<{ name: string; description: string }>
  components: Record<string, Record<string, Json>>
  paths: Record<string, Record<string, Operation>>
}

function getDocument (app: FastifyInstance): Document {
  return app.swagger() as unknown as Document
}

/** Builds an app with these collections, and its document. */
async function buildDocument (
  t: { after(close: () => Promise<unknown>): void },
  collections: readonly Registration[],
  openapi: object = { openapi: '3.1.0' },
  options: object = {}
): Promise<{ app: FastifyInstance; document: Document }> {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(swagger, { openapi, ...options })
  for (const each of collections) await app.register(collection, each)
  await app.ready()
  return { app, document: getDocument(app) }
}

/** Returns a part of the document, or what it refers to if it is a reference. */
function resolve (document: Document, part: object): Json {
  const { $ref } = part as { $ref?: string }
  if ($ref === undefined) return part as Json
  return $ref
    .slice(2)
    .split('/')
    .reduce<Json>((found, segment) => found[segment] as Json, document as unknown as Json)
}

/** Returns a function that compiles the schemas of a document. */
function createCompiler (document: Document): (schema: Json) => (value: unknown) => string[] {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true, validateSchema: true }))
  ajv.addSchema({ $id: 'https://example.com/document', components: document.components })
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>()
  return (schema) => {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"https://example.com/document#/components')
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Json)
    compiled.set(text, validate)
    return (value) =>
      validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}

const listOperations = (document: Document) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation }))
  )

test('every operation has an id, a tag, a summary, parameters, content and every status', async (t) => {
  const app = await service()
  t.after(() => app.close())
  await app.ready()
  const document = getDocument(app)
  const operations = listOperations(document)
  const ids = operations.map(({ operation }) => operation.operationId)
  t.equal(ids.length, 34)
  t.equal(new Set(ids).size, ids.length)
  t.strictSame(
    document.tags.map(({ name }) => name),
    ['users', 'articles', 'products', 'goods']
  )
  t.equal(document.tags[0]?.description, 'Who reads and writes')
  const statuses = (path: string, method: string) =>
    Object.keys(document.paths[path]![method]!.responses).filter((status) => status !== '2XX').map(Number)
  const shared = [400, 401, 403, 412, 429, 500, 503]
  const withShared = (...more: number[]) => [...shared, ...more].sort((a, b) => a - b)
  t.strictSame(statuses('/users', 'get'), withShared(200, 304, 406, 414))
  const withoutPreconditions = (...more: number[]) => withShared(...more).filter((status) => status !== 412)
  t.strictSame(statuses('/users', 'post'), withoutPreconditions(201, 406, 409, 413, 415, 422))
  t.strictSame(statuses('/users/{id}', 'get'), withShared(200, 304, 404, 406, 414))
  t.strictSame(statuses('/users/{id}', 'put'), withShared(200, 204, 404, 406, 409, 413, 415, 422))
  t.strictSame(statuses('/products/{id}', 'put'), withShared(200, 201, 204, 404, 406, 409, 413, 415, 422, 428))
  t.strictSame(statuses('/users/{id}', 'patch'), withShared(200, 204, 404, 406, 409, 413, 415, 422))
  t.strictSame(statuses('/users/{id}', 'delete'), withShared(204, 404, 409))
  t.equal(Object.keys(document.paths['/users/{id}']!.delete!.responses)[0], '204', 'the usual status is the first')
  t.match(document.paths['/users/{id}']!.delete!.responses['2XX'], { description: /^The deleted item \(200\)/ })
  t.strictSame(statuses('/goods/{id}', 'delete'), withShared(204, 404, 409))
  t.strictSame(statuses('/users/{id}/rename', 'post'), withShared(200, 204, 404, 406, 409, 413, 415, 422))
  t.strictSame(statuses('/users/summary', 'post'), withoutPreconditions(200, 406, 409, 413, 415, 422))
  t.match(document.paths['/users/{id}/rename']!.post, {
    operationId: 'users.rename',
    summary: 'Rename user',
    description: 'Runs the action rename on the item.',
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/UserRenameInput' } } }
    }
  })
  t.match(document.paths['/users/summary']!.post, {
    summary: 'Summary users',
    description: 'Returns how many users there are.',
    requestBody: { required: false },
    responses: {
      200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/UserSummaryOutput' } } } }
    }
  })
  t.strictSame(statuses('/users/{parent}/articles', 'get'), withShared(200, 304, 404, 406, 414))
  for (const { path, operation } of operations) {
    t.ok(operation.summary && operation.description && operation.tags.length === 1, operation.operationId)
    const parameters = operation.parameters.map((parameter) => resolve(document, parameter) as unknown as Parameter)
    t.strictSame(
      parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    )
    t.ok(
      parameters.filter((parameter) => parameter.in === 'path').every(({ example }) => example !== undefined),
      'path parameters have examples'
    )
  }
  const requiresIfMatch = (path: string, method: string) =>
    document.paths[path]![method]!.parameters
      .map((parameter) => resolve(document, parameter) as unknown as Parameter)
      .find(({ name }) => name === 'If-Match')?.required
  t.strictSame(
    ['put', 'patch', 'delete'].map((method) => requiresIfMatch('/products/{id}', method)),
    [true, true, true],
    'If-Match is required'
  )
  t.strictSame(
    ['put', 'patch', 'delete'].map((method) => requiresIfMatch('/users/{id}', method)),
    [false, false, false]
  )
  t.strictSame(Object.keys(document.paths['/users']!.get!.responses['200']!.content!), [
    'application/json',
    'application/hal+json',
    'application/xml'
  ])
  t.strictSame(Object.keys(document.paths['/users']!.post!.requestBody!.content), [
    'application/json',
    'application/xml'
  ])
  t.strictSame(Object.keys(document.paths['/users/{id}']!.patch!.requestBody!.content), [
    'application/merge-patch+json',
    'application/json-patch+json',
    'application/json'
  ])
  t.match(document.paths['/products']!.post!.requestBody!.content['application/json']!.schema, {
    oneOf: [{ $ref: '#/components/schemas/ProductCreate' }, { type: 'array', maxItems: 50 }]
  })
  t.match(document.paths['/products']!.post!.requestBody!.content['application/xml']!.schema, {
    oneOf: [
      { $ref: '#/components/schemas/ProductCreateXml' },
      {
        type: 'array',
        maxItems: 50,
        items: { $ref: '#/components/schemas/ProductCreateXml' },
        xml: { name: 'items', wrapped: true }
      }
    ]
  })
  const getHeaderNames = (path: string, method: string, status: number) =>
    Object.keys(document.paths[path]![method]!.responses[status]!.headers ?? {})
  t.ok(
    ['ETag', 'Link', 'X-Total-Count', 'Cache-Control', 'Vary', 'Cache-Groups'].every((name) =>
      getHeaderNames('/users', 'get', 200).includes(name)
    )
  )
  t.ok(['Location', 'Content-Location', 'ETag'].every((name) => getHeaderNames('/users', 'post', 201).includes(name)))
  t.strictSame(
    Object.keys((document.components.responses!.TooManyRequests as unknown as Answer).headers!).includes('Retry-After'),
    true
  )
  const getQueryParams = (path: string) =>
    document.paths[path]!.get!.parameters.filter((parameter) => parameter.in === 'query')
  t.match(
    getQueryParams('/users/{parent}/articles').find(({ name }) => name === 'expand'),
    { style: 'form', explode: false, schema: { type: 'array', items: { enum: ['writer'] } } }
  )
  const sortable = ['email', 'name', 'role', 'nickname', 'createdAt', 'updatedAt', 'id']
  t.match(
    getQueryParams('/users').find(({ name }) => name === 'sort')?.schema,
    { type: 'array', uniqueItems: true, minItems: 1, maxItems: sortable.length },
    'a property is named once'
  )
  t.match(
    getQueryParams('/users').find(({ name }) => name === 'role.in'),
    {
      explode: false,
      schema: { type: 'array', items: { type: 'string', enum: ['reader', 'author'] } },
      description: 'Only items whose role is one of these'
    }
  )
})

test('schemas are named by title, by $id or by collection, and no name is used twice', async (t) => {
  const withTitle = (title: string) => ({ schema: Type.Object({ id: Type.String({ readOnly: true }) }, { title }) })
  const plain = notes()
  const collections = [
    plain,
    { ...notes(), prefix: '/v2' },
    { ...notes(), prefix: '/v2/deep' },
    define({ name: 'a', ...withTitle('Thing'), storage: memory() }),
    define({ name: 'b', ...withTitle('Thing'), storage: memory() }),
    define({ name: 'c', ...withTitle('Thing'), storage: memory() }),
    define({ name: 'd', ...withTitle('?!'), storage: memory() }),
    { ...plain, prefix: '/again' }
  ]
  const own = { Problem: { type: 'string' }, NotesItem: { type: 'integer' } }
  const components = { schemas: own, responses: { NotFound: { description: 'Of the app' } } }
  const { app, document } = await buildDocument(t, collections, { openapi: '3.1.0', components })
  const getRef = (path: string) =>
    document.paths[path]!.get!.responses['200']!.content!['application/json']!.schema.$ref
  t.equal(getRef('/notes/{id}'), '#/components/schemas/NotesItem2', 'schemas of the app keep their names')
  t.equal(getRef('/v2/notes/{id}'), '#/components/schemas/V2NotesItem')
  t.equal(getRef('/v2/deep/notes/{id}'), '#/components/schemas/V2DeepNotesItem')
  t.equal(getRef('/a/{id}'), '#/components/schemas/Thing')
  t.equal(getRef('/b/{id}'), '#/components/schemas/Thing2')
  t.equal(getRef('/c/{id}'), '#/components/schemas/Thing3')
  t.equal(getRef('/d/{id}'), '#/components/schemas/DItem')
  t.equal(getRef('/again/notes/{id}'), getRef('/notes/{id}'), 'the same collection has the same name')
  t.strictSame(document.components.schemas!.Problem, { type: 'string' })
  t.strictSame(document.components.responses!.NotFound, { description: 'Of the app' })
  t.match(document.paths['/notes/{id}']!.get!.responses['404'], { $ref: '#/components/responses/NotFound2' })
  t.strictSame(
    components,
    {
      schemas: { Problem: { type: 'string' }, NotesItem: { type: 'integer' } },
      responses: { NotFound: { description: 'Of the app' } }
    },
    'the options of the app are unchanged'
  )
  const yaml = app.swagger({ yaml: true })
  t.notMatch(yaml, /[&*]a\d/, 'nothing is shared in YAML')
  t.match(yaml, /NotesItem2:/)
})

test('optional parameters have no example, and query parameters have a usual length', async (t) => {
  const app = await service()
  t.after(() => app.close())
  await app.ready()
  const document = getDocument(app)
  let required = 0
  for (const { operation } of listOperations(document)) {
    for (const given of operation.parameters) {
      const parameter = resolve(document, given) as unknown as Parameter
      const name = `${operation.operationId} ${parameter.name}`
      if (parameter.required === true) {
        required++
        t.not(parameter.example, undefined, name)
      } else {
        t.strictSame([parameter.example, parameter.schema.examples], [undefined, undefined], name)
      }
      const maximum = parameter.name === 'cursor' ? 1024 : 255
      for (const schema of [parameter.schema, (parameter.schema.items ?? {}) as Json]) {
        if (parameter.in === 'query') t.ok(Number(schema.maxLength ?? 0) <= maximum, name)
      }
    }
  }
  t.ok(required > 0)
})

test('of several examples, POST and nested collections use the last, and all others the first', async (t) => {
  const Author = Type.Object({ id: Type.String({ examples: ['ada', 'grace'] }) })
  const Text = Type.Object({
    id: Type.String({ examples: ['a', 'b', 'c'] }),
    authorId: Type.String({ examples: ['ada', 'grace'] }),
    title: Type.Optional(Type.String({ examples: ['Only'] }))
  })
  const authors = define({ name: 'authors', schema: Author, id: { generate: 'client' }, storage: memory() })
  const texts = define({ name: 'texts', schema: Text, id: { generate: 'client' }, storage: memory() })
  const nested = texts.with(within(authors, 'authorId'))
  const { document } = await buildDocument(t, [authors, texts, nested])
  const content = (path: string, method: string): unknown =>
    document.paths[path]![method]!.requestBody!.content['application/json']!.example
  const inPath = (path: string, method: string): unknown[] =>
    document.paths[path]![method]!.parameters.filter((each) => each.in === 'path').map(({ example }) => example)
  t.strictSame(content('/texts', 'post'), { id: 'c', authorId: 'grace', title: 'Only' })
  t.strictSame(content('/texts/{id}', 'put'), { id: 'a', authorId: 'ada', title: 'Only' })
  t.strictSame(inPath('/texts/{id}', 'delete'), ['a'])
  t.match(content('/authors/{parent}/texts', 'post'), { id: 'c' })
  t.match(content('/authors/{parent}/texts/{id}', 'put'), { id: 'c' })
  t.strictSame(inPath('/authors/{parent}/texts/{id}', 'delete'), ['grace', 'c'])
})

test('examples are valid, and exist for every item, list and patch in JSON', async (t) => {
  const app = await service()
  t.after(() => app.close())
  await app.ready()
  const document = getDocument(app)
  const compile = createCompiler(document)
  let count = 0
  const check = (place: string, { schema, example }: Pick<Media, 'schema' | 'example'>): void => {
    if (example === undefined) return
    count++
    t.strictSame(compile(schema)(example), [], place)
  }
  for (const { operation } of listOperations(document)) {
    const { operationId, parameters, requestBody, responses } = operation
    for (const parameter of parameters) check(operationId, resolve(document, parameter) as unknown as Parameter)
    for (const [type, media] of Object.entries(requestBody?.content ?? {})) {
      check(`${operationId} ${type}`, media)
      t.equal(media.example !== undefined, /json$/.test(type), `${operationId} ${type}`)
    }
    for (const [status, answer] of Object.entries(responses)) {
      const { content = {}, headers = {} } = resolve(document, answer) as unknown as Answer
      for (const [type, media] of Object.entries(content)) {
        check(`${operationId} ${status} ${type}`, media)
        t.equal(media.example !== undefined, /json$/.test(type), `${operationId} ${status} ${type}`)
      }
      for (const [name, header] of Object.entries(headers)) check(name, resolve(document, header) as unknown as Media)
    }
  }
  t.ok(count > 300, `${count} examples`)
})

test('OpenAPI 3.2 describes QUERY as the operation query, and 3.1 and 3.0 do not contain it', async (t) => {
  for (const version of ['3.1.0', '3.0.3']) {
    const { document } = await buildDocument(t, [notes()], { openapi: version })
    t.strictSame(Object.keys(document.paths['/notes']!), ['get', 'post'], version)
    t.notOk('Accept-Query' in (document.components.responses!.UnsupportedMediaType as unknown as Answer).headers!)
  }
  const app = await service('3.2.0')
  t.after(() => app.close())
  await app.ready()
  const document = getDocument(app)
  t.strictSame(Object.keys(document.paths['/users']!), ['get', 'post', 'query'])
  t.notOk('query' in document.paths['/users/{id}']!)
  const query = document.paths['/users']!.query!
  t.match(query, { operationId: 'users.query', tags: ['users'], summary: 'Query users', description: /RFC 10008/ })
  t.equal(document.paths['/users']!.get!.operationId, 'users.list')
  const nested = document.paths['/users/{parent}/articles']!.query!
  t.strictSame(
    nested.parameters.map((parameter) => resolve(document, parameter).name),
    ['parent', 'If-None-Match', 'If-Match']
  )
  t.match(Object.keys(query.responses), [
    '200', '304', '400', '401', '403', '406', '412', '413', '415', '422', '429', '500', '503'
  ])
  t.ok('404' in nested.responses)
  t.ok('Content-Location' in query.responses['200']!.headers!)
  for (const status of ['BadRequest', 'UnsupportedMediaType']) {
    t.ok('Accept-Query' in (document.components.responses![status] as unknown as Answer).headers!, status)
  }

  const hidden = await buildDocument(t, [notes()], { openapi: '3.2.0' }, {
    transform: ({ schema, url, route }: { schema: object; url: string; route: { method: string } }) => ({
      schema: { ...schema, hide: route.method === 'GET' || 'hide' in schema },
      url
    })
  })
  t.strictSame(Object.keys(hidden.document.paths['/notes']!), ['post'], 'an app that hides the list hides QUERY as well')
})

test('the schema of QUERY accepts and refuses what the service does', async (t) => {
  const Word = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    text: Type.String({ maxLength: 100 }),
    count: Type.Integer(),
    isRare: Type.Boolean(),
    not: Type.Optional(Type.String()),
    origin: Type.Optional(Type.Object({ language: Type.Union([Type.Literal('la'), Type.Literal('el')]) }))
  }, { title: 'Word' })
  const words = define({ name: 'words', schema: Word, storage: memory(), list: { search: ['text'] } })
  const { app, document } = await buildDocument(t, [words], { openapi: '3.2.0' })
  const { schema, example } = document.paths['/words']!.query!.requestBody!.content['application/json']!
  t.strictSame(schema, { $ref: '#/components/schemas/WordQuery' })
  const validate = createCompiler(document)(schema)
  const queries: Array<[query: unknown, isValid: boolean]> = [
    [example, true],
    [{}, true],
    [{ filter: {} }, true],
    [{ filter: { text: 'a', 'count.gte': 1, isRare: true, 'origin.language.in': ['la'], 'text.null': false } }, true],
    [{ filter: { all: [{ any: [] }, { not: { all: [], any: [{ 'text.like': 'a*' }] } }], 'not.eq': 'a' } }, true],
    [{ filter: { 'id.nin': ['0199a8f0-5c1e-7b3a-9d42-6f1e2a3b4c5d'] }, limit: 100 }, true],
    [{ sort: ['-text', 'count'], fields: ['text'], count: true, q: 'a b', limit: 1 }, true],
    [[], false],
    [{ filter: [] }, false],
    [{ other: 1 }, false],
    [{ filter: { other: 1 } }, false],
    [{ filter: { text: 1 } }, false],
    [{ filter: { 'isRare.gt': true } }, false],
    [{ filter: { 'count.in': [1.5] } }, false],
    [{ filter: { 'origin.language': 'de' } }, false],
    [{ filter: { all: { text: 'a' } } }, false],
    [{ filter: { any: [{ not: [] }] } }, false],
    [{ filter: { not: 'a' } }, false],
    [{ filter: { 'text.like': 'a'.repeat(201) } }, false],
    [{ limit: 0 }, false],
    [{ limit: 101 }, false],
    [{ sort: 'text' }, false],
    [{ sort: [] }, false],
    [{ fields: ['other'] }, false],
    [{ q: ' ' }, false],
    [{ count: 'true' }, false]
  ]
  for (const [query, isValid] of queries) {
    const name = JSON.stringify(query)
    const response = await request(app, 'QUERY /words', { content: query as object })
    t.equal(response.statusCode, isValid ? 200 : 422, name)
    t.equal(validate(query).length === 0, isValid, name)
  }
})

test('responses match the document: status, headers, media type and content', async (t) => {
  const app = await service('3.2.0')
  t.after(() => app.close())
  await app.ready()
  const document = getDocument(app)
  const compile = createCompiler(document)
  const undocumented = new Set([
    'date',
    'connection',
    'keep-alive',
    'content-length',
    'content-type',
    'x-content-type-options'
  ])
  const seen = new Set<number>()
  const check = async (
    path: string,
    answer: LightMyRequestResponse,
    method: string
  ): Promise<LightMyRequestResponse> => {
    const { responses } = document.paths[path]![method]!
    const documented = responses[answer.statusCode] ?? (answer.statusCode < 300 ? responses['2XX'] : undefined)
    seen.add(answer.statusCode)
    t.ok(documented, `${method} ${path} ${answer.statusCode}`)
    const { headers = {}, content = {} } = resolve(document, documented!) as unknown as Answer
    const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
    t.strictSame(
      Object.keys(answer.headers).filter((name) => !names.has(name) && !undocumented.has(name)),
      [],
      `the headers of ${method} ${path} ${answer.statusCode}`
    )
    const type = String(answer.headers['content-type'] ?? '')
    if (answer.payload !== '') t.ok(content[type], `${method} ${path} ${answer.statusCode} ${type}`)
    if (type.endsWith('json')) {
      t.strictSame(compile(content[type]!.schema)(answer.json()), [], `${method} ${path} ${answer.statusCode} ${type}`)
    }
    return answer
  }
  const example = (path: string, method: string, type = 'application/json'): Json =>
    document.paths[path]![method]!.requestBody!.content[type]!.example as Json
  const send = async (
    target: string,
    path = target.split(' ')[1]!,
    options: Parameters<typeof request>[2] = {}
  ): Promise<LightMyRequestResponse> =>
    check(path, await request(app, target, options), target.split(' ')[0]!.toLowerCase())

  const created = await send('POST /users', '/users', { content: example('/users', 'post') })
  t.equal(created.statusCode, 201, 'the example of the document is valid')
  const [user, tag] = [String(created.headers.location), String(created.headers.etag)]
  await send('POST /users', '/users', { content: example('/users', 'post') })
  await send('POST /users', '/users', { content: '{' })
  await send('POST /users', '/users', { content: { name: 1 } })
  await send('POST /users', '/users', { content: 'x', type: 'text/plain' })
  await send('POST /users', '/users', { content: JSON.stringify('x'.repeat(1_100_000)) })
  await send('GET /users', '/users')
  await send('GET /users?count=true&sort=name,-role&fields=id,name,email,role,createdAt,updatedAt', '/users')
  await send('GET /users', '/users', { fields: { accept: 'application/hal+json' } })
  await send('GET /users', '/users', { fields: { accept: 'application/xml' } })
  await send('GET /users', '/users', { fields: { accept: 'text/csv' } })
  await send('GET /users?nothing=1', '/users')
  const list = await send('GET /users', '/users')
  await send('GET /users', '/users', { fields: { 'if-none-match': String(list.headers.etag) } })
  const queried = await send('QUERY /users', '/users', { content: example('/users', 'query') })
  t.equal(queried.statusCode, 200)
  await send('QUERY /users', '/users', {
    content: example('/users', 'query'),
    fields: { 'if-none-match': String(queried.headers.etag) }
  })
  await send('QUERY /users', '/users', { content: { count: true, filter: { any: [{ name: 'a' }] } } })
  await send('QUERY /users', '/users', { content: { filter: 1 } })
  await send('QUERY /users', '/users', { content: 'x', type: 'text/plain' })
  await send('QUERY /users')
  await send(`GET ${user}`, '/users/{id}')
  await send(`GET ${user}`, '/users/{id}', { fields: { accept: 'application/hal+json' } })
  await send(`GET ${user}`, '/users/{id}', { fields: { 'if-none-match': tag } })
  await send(`GET ${user}`, '/users/{id}', { fields: { 'if-match': '"other"' } })
  await send('GET /users/0199a8f0-5c1e-7b3a-9d42-6f1e2a3b4c5d', '/users/{id}')
  await send(`PUT ${user}`, '/users/{id}', { content: example('/users/{id}', 'put') })
  await send(`PUT ${user}`, '/users/{id}', {
    content: example('/users/{id}', 'put'),
    fields: { prefer: 'return=minimal' }
  })
  for (const type of ['application/merge-patch+json', 'application/json-patch+json']) {
    t.equal(
      (await send(`PATCH ${user}`, '/users/{id}', { content: example('/users/{id}', 'patch', type), type }))
        .statusCode,
      200,
      type
    )
  }
  await send(`PATCH ${user}`, '/users/{id}', { content: { password: null, nickname: null } })
  await send(`PATCH ${user}`, '/users/{id}', {
    content: [{ op: 'test', path: '/name', value: 'other' }],
    type: 'application/json-patch+json'
  })
  await send(`PATCH ${user}`, '/users/{id}', { content: {}, fields: { 'if-match': '"other"' } })

  const rename = { content: example('/users/{id}/rename', 'post') }
  t.equal((await send(`POST ${user}/rename`, '/users/{id}/rename', rename)).statusCode, 409)
  await send(`PATCH ${user}`, '/users/{id}', { content: { role: 'author' } })
  t.equal((await send(`POST ${user}/rename`, '/users/{id}/rename', rename)).statusCode, 200)
  const inHal = { ...rename, fields: { accept: 'application/hal+json' } }
  t.match((await send(`POST ${user}/rename`, '/users/{id}/rename', inHal)).json(), {
    _links: { rename: { href: `${user}/rename`, title: 'Rename' } }
  })
  await send(`POST ${user}/rename`, '/users/{id}/rename', { ...rename, fields: { prefer: 'return=minimal' } })
  await send(`POST ${user}/rename`, '/users/{id}/rename', { content: { name: '' } })
  await send(`POST ${user}/rename`, '/users/{id}/rename', { ...rename, fields: { 'if-match': '"other"' } })
  for (const accept of ['application/json', 'application/hal+json', 'application/xml']) {
    await send('POST /users/summary', '/users/summary', { fields: { accept } })
  }

  const article = { ...example('/articles', 'post'), author: created.json().id }
  const written = await send('POST /articles', '/articles', { content: article })
  t.equal(written.statusCode, 201)
  const expanded = await send(`GET ${written.headers.location}?expand=writer`, '/articles/{id}')
  t.equal(expanded.json().writer.id, created.json().id)
  await send(`GET ${user}/articles?expand=writer`, '/users/{parent}/articles')
  await send('GET /users/0199a8f0-5c1e-7b3a-9d42-6f1e2a3b4c5d/articles', '/users/{parent}/articles')

  t.equal((await send('POST /products', '/products', { content: [example('/products', 'post')] })).statusCode, 201)
  const product = `/products/${example('/products', 'post').sku}`
  await send(`PUT ${product}`, '/products/{id}', { content: example('/products/{id}', 'put') })
  await send('PUT /products/NEW-0001', '/products/{id}', {
    content: { ...example('/products/{id}', 'put'), sku: 'NEW-0001' },
    fields: { 'if-none-match': '*' }
  })
  await send(`DELETE ${product}`, '/products/{id}', { fields: { 'if-match': '*' } })
  await send(`DELETE ${user}`, '/users/{id}', { fields: { prefer: 'return=representation' } })

  const good = await send('POST /goods', '/goods', { content: { label: 'x' } })
  await send('GET /goods?offset=1&limit=9', '/goods')
  await send('POST /goods', '/goods', { content: { label: 1 } })
  await send(`DELETE ${good.headers.location}`, '/goods/{id}')
  t.strictSame(
    [...seen].sort((a, b) => a - b),
    [200, 201, 204, 304, 400, 404, 406, 409, 412, 413, 415, 422, 428]
  )
})

test('a response to a request with fields matches the schema except for required, which the document says', async (t) => {
  const app = await service('3.2.0')
  t.after(() => app.close())
  await app.ready()
  const document = getDocument(app)
  const { schema } = document.paths['/users/{id}']!.get!.responses['200']!.content!['application/json']!
  const { required, ...complete } = resolve(document, schema)
  const content = { email: 'fields@example.com', name: 'Fields' }
  const { location } = (await request(app, 'POST /users', { content })).headers
  const item = (await request(app, `GET ${location}?fields=name`)).json()
  // The collections of the service are those of the other tests.
  await request(app, `DELETE ${location}`)
  t.strictSame(item, { name: 'Fields' })
  t.strictSame(createCompiler(document)(complete)(item), [])
  for (const [path, method] of [['/users', 'get'], ['/users', 'query'], ['/users/{id}', 'get']] as const) {
    const { responses } = document.paths[path]![method]!
    t.match(responses['200']!.description, /If the request names fields, the others are left out/, `${method} ${path}`)
  }
  t.notMatch(document.paths['/users/{id}']!.put!.responses['200']!.description, /fields/)
})

test('schemas use JSON Schema 2020-12: tuples, constants, recursion, and null in a merge patch', async (t) => {
  const Node = Type.Recursive((This) => Type.Object({ name: Type.String(), children: Type.Array(This) }), {
    $id: 'Node'
  })
  const schema = Type.Object(
    {
      id: Type.String({ readOnly: true }),
      tuple: Type.Tuple([Type.String(), Type.Integer({ exclusiveMaximum: 0 })]),
      open: Type.Unsafe<unknown[]>({
        type: 'array',
        items: [{ type: 'boolean' }],
        additionalItems: { type: 'number' }
      }),
      rest: Type.Unsafe<unknown[]>({
        type: 'array',
        prefixItems: [{ type: 'number' }],
        items: { type: 'number', exclusiveMinimum: 3 },
        examples: [[4]]
      }),
      odd: Type.Unsafe<unknown[]>({ type: 'array', items: { type: 'string' }, additionalItems: false }),
      one: Type.Literal('only'),
      some: Type.Union([Type.Literal('a'), Type.Literal('b')]),
      mixed: Type.Union([Type.Literal('a'), Type.Literal(1)]),
      either: Type.Optional(Type.Unsafe<string | number | null>({ type: ['string', 'number', 'null'] })),
      both: Type.Unsafe<string | number>({ type: ['string', 'number'] }),
      null: Type.Null(),
      any: Type.Any(),
      map: Type.Record(Type.String(), Type.Integer({ multipleOf: 5 })),
      sum: Type.Intersect([
        Type.Object({ a: Type.String({ immutable: true }) }),
        Type.Object({ b: Type.Not(Type.String()) })
      ]),
      tree: Node,
      choice: Type.Optional(Type.Union([Type.Unsafe<unknown>({ $ref: 'Node' }), Type.Null()])),
      again: Type.Optional(Type.Unsafe<unknown>({ $ref: 'Node' })),
      alias: Type.Optional(Type.Unsafe<unknown>({ $id: 'Alias', $ref: 'Node' })),
      aliased: Type.Optional(Type.Unsafe<unknown>({ $ref: 'Alias' })),
      self: Type.Optional(Type.Unsafe<unknown>({ $ref: '#/properties/one' })),
      whole: Type.Optional(Type.Array(Type.Unsafe<unknown>({ $ref: '#' }))),
      called: Type.Optional(Type.Array(Type.Unsafe<unknown>({ $ref: 'Odd' }))),
      list: Type.Array(Type.Object({ x: Type.String(), y: Type.Optional(Type.String({ default: 'y' })) }), {
        minItems: 2
      }),
      flag: Type.Boolean(),
      anything: Type.Optional(Type.Unknown({ title: 'Anything' })),
      free: Type.Optional(Type.Union([Type.Any(), Type.String()])),
      limited: Type.Integer({ minimum: 7 }),
      negative: Type.Number({ maximum: -1 })
    },
    { $id: 'Odd', $schema: 'https://json-schema.org/draft/2019-09/schema' }
  )
  const odd = define({ name: 'odd', schema, storage: memory() })
  const { document } = await buildDocument(t, [odd])
  const properties = (name: string): Record<string, Json> =>
    document.components.schemas![name]!.properties as Record<string, Json>
  t.match(properties('Odd').tuple, {
    type: 'array',
    prefixItems: [{ type: 'string' }, { type: 'integer' }],
    items: {},
    maxItems: 2
  })
  t.match(properties('Odd').open, { prefixItems: [{ type: 'boolean' }], items: { type: 'number' } })
  t.match(properties('Odd').rest, { prefixItems: [{ type: 'number' }], items: { type: 'number' } })
  t.strictSame(properties('Odd').odd, { type: 'array', items: { type: 'string', pattern: '^[^\\u0000]*$' } })
  t.match(properties('Odd').one, { const: 'only' })
  t.strictSame(properties('Odd').some, { type: 'string', enum: ['a', 'b'] })
  t.match(properties('Odd').mixed, { anyOf: [{ const: 'a' }, { const: 1 }] })
  t.match(properties('Odd').tree, { $ref: '#/components/schemas/OddNode' })
  t.match(properties('Odd').again, { $ref: '#/components/schemas/OddNode' })
  t.match(properties('Odd').aliased, { $ref: '#/components/schemas/OddAlias' })
  t.match(document.components.schemas!.OddAlias, { $ref: '#/components/schemas/OddNode' })
  t.match(document.components.schemas!.OddNode, {
    properties: { children: { items: { $ref: '#/components/schemas/OddNode' } } }
  })
  t.match(properties('Odd').self, { $ref: '#/components/schemas/Odd/properties/one' })
  t.match(
    [properties('Odd').whole, properties('OddCreate').called],
    [{ items: { $ref: '#/components/schemas/Odd' } }, { items: { $ref: '#/components/schemas/OddCreate' } }]
  )
  t.notOk(JSON.stringify(document).includes('"$id"'))
  t.notOk(JSON.stringify(document).includes('"immutable"'))
  t.match(properties('Odd').sum, {
    allOf: [{ properties: { a: { 'x-immutable': true } } }, { properties: { b: { not: { type: 'string' } } } }]
  })
  const patch = document.components.schemas!.OddPatch!
  t.notOk('required' in patch)
  t.match(properties('OddPatch').either, { type: ['string', 'number', 'null'] })
  t.strictSame(properties('OddPatch').anything, { title: 'Anything' }, 'everything includes null')
  t.strictSame(properties('OddPatch').free, properties('Odd').free)
  t.match(properties('OddPatch').choice, { anyOf: [{ $ref: '#/components/schemas/OddPatchNode' }, { type: 'null' }] })
  t.strictSame(
    properties('OddPatch').list,
    {
      type: 'array',
      minItems: 2,
      items: {
        type: 'object',
        required: ['x'],
        properties: {
          x: { type: 'string', pattern: '^[^\\u0000]*$' },
          y: { type: 'string', pattern: '^[^\\u0000]*$' }
        },
        additionalProperties: false
      }
    },
    'an array is replaced as a whole'
  )
  const content = document.paths['/odd']!.post!.requestBody!.content['application/json']!
  t.strictSame(createCompiler(document)(content.schema)(content.example), [], 'the example is valid')

  const { document: older } = await buildDocument(t, [odd], {})
  t.match(older.openapi, /^3\.0/)
  const was = older.components.schemas!.Odd!.properties as Record<string, Json>
  t.match(was.tuple, { items: {}, maxItems: 2 })
  t.match(was.rest, { items: { type: 'number', minimum: 3, exclusiveMinimum: true } })
  t.match(was.one, { enum: ['only'] })
  t.match(was.either, { anyOf: [{ type: 'string', nullable: true }, { type: 'number' }] })
  t.strictSame((older.components.schemas!.OddPatch!.properties as Record<string, Json>).anything, { title: 'Anything' })
  t.match(was.both, { anyOf: [{ type: 'string' }, { type: 'number' }] })
  t.match(was.choice, { anyOf: [{ $ref: '#/components/schemas/OddNode' }, { nullable: true, enum: [null] }] })
  t.match(was.map, { additionalProperties: { anyOf: [{ type: 'integer' }] } })
  const text = JSON.stringify(older)
  for (const keyword of ['prefixItems', 'patternProperties', 'unevaluatedProperties', '"const"', '"examples"']) {
    t.notOk(text.includes(keyword), keyword)
  }
})

test('schemas of both generations of TypeBox are documented', async (t) => {
  const Recursive = TypeBox.Type.Object({
    id: TypeBox.Type.String({ readOnly: true }),
    pair: TypeBox.Type.Tuple([TypeBox.Type.String(), TypeBox.Type.Number()])
  })
  const { document } = await buildDocument(t, [
    define({ name: 'new', schema: Recursive, storage: memory() })
  ])
  t.match(document.components.schemas!.NewItem, {
    properties: { pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] } }
  })
})

test('examples come from the schema or are generated, and are omitted if neither is possible', async (t) => {
  const getExample = async (property: Json): Promise<unknown> => {
    const schema = Type.Object({ id: Type.String({ readOnly: true }), property: Type.Unsafe<unknown>(property) })
    const { document } = await buildDocument(t, [define({ name: 'one', schema, storage: memory() })])
    const { example } = document.paths['/one']!.post!.requestBody!.content['application/json']!
    t.equal(
      document.paths['/one/{id}']!.patch!.requestBody!.content['application/json-patch+json']!.example === undefined,
      example === undefined
    )
    return (example as Json | undefined)?.property
  }
  const unusual = { type: 'string', pattern: '^ISBN [0-9]{13}$' }
  t.equal(await getExample(unusual), undefined)
  t.equal(await getExample({ ...unusual, examples: ['ISBN 9780000000000'] }), 'ISBN 9780000000000')
  t.equal(await getExample({ type: 'string', minLength: 10, maxLength: 12 }), 'exampleexa')
  t.equal(await getExample({ type: 'string', maxLength: 3 }), 'exa')
  t.equal(await getExample({ type: 'integer', exclusiveMinimum: 10 }), 11)
  t.equal(await getExample({ type: 'integer', multipleOf: 7, minimum: 20 }), 21)
  t.equal(await getExample({ type: 'number', exclusiveMaximum: 0 }), -0.5)
  t.strictSame(await getExample({ type: 'array', items: { type: 'boolean' }, minItems: 2 }), [true, true])
  t.strictSame(await getExample({ type: 'array' }), [])
  t.strictSame(await getExample({ oneOf: [{ type: 'null' }, { type: 'string', format: 'date' }] }), '2026-01-31')
  t.equal(
    await getExample({ type: 'array', uniqueItems: true, minItems: 2, items: { type: 'boolean' } }),
    undefined,
    'no invalid example'
  )
})

test('custom formats and a subset of the actions are documented', async (t) => {
  const csv = {
    name: 'csv',
    mediaType: 'text/csv',
    item: () => '',
    list: () => '',
    describe: () => ({ type: 'string' })
  }
  const { document } = await buildDocument(t, [
    notes({ formats: [json, csv], actions: ['list', 'remove'] }),
    users({ actions: ['create'], storage: memory() }),
    notes({ name: 'many', formats: [json, html, { ...csv, parse: String }] }).with(bulk())
  ])
  const many = document.paths['/many']!.post!
  t.match(many.requestBody!.content['text/csv']!.schema, { $ref: '#/components/schemas/ManyCreateCsv' })
  const validate = createCompiler(document)(many.responses['201']!.content!['text/html; charset=utf-8']!.schema)
  t.strictSame(validate('<!DOCTYPE html>'), [], 'an item and a list in HTML have the same schema')
  t.strictSame(Object.keys(document.paths), ['/notes', '/notes/{id}', '/users', '/many', '/many/{id}'])
  t.strictSame(Object.keys(document.paths['/notes/{id}']!), ['delete'])
  t.match(document.paths['/notes']!.get!.responses['200']!.content, {
    'text/csv': { schema: { $ref: '#/components/schemas/NotesListCsv' } }
  })
  t.match(document.components.schemas!.NotesListCsv, { type: 'string' })
  t.notOk(
    Object.keys(document.paths['/users']!.post!.responses).some((status) =>
      ['401', '403', '404', '429'].includes(status)
    ),
    'only statuses that this app sends'
  )
})

test('401 and 403 are documented for the actions that require credentials', async (t) => {
  const { document } = await buildDocument(t, [
    notes({
      access: { allow: { all: 'public', create: 'authenticated', list: () => 'hidden' }, authenticate: () => 'ada' }
    })
  ])
  const getRefusals = (path: string, method: string) =>
    Object.keys(document.paths[path]![method]!.responses).filter((status) => ['401', '403', '404'].includes(status))
  t.strictSame(getRefusals('/notes', 'post'), ['401', '403'])
  t.strictSame(getRefusals('/notes', 'get'), ['401', '403', '404'])
  t.strictSame(getRefusals('/notes/{id}', 'get'), ['404'])
  const readers = users({ access: { allow: 'authenticated', authenticate: () => 'ada' } })
  const nested = await buildDocument(t, [notes().with(within(readers, 'text' as never))])
  t.ok(
    '401' in nested.document.paths['/users/{parent}/notes']!.get!.responses,
    'also for a collection in a parent that requires credentials'
  )
})

test('idempotency, redirects and softDelete are documented', async (t) => {
  const schema = Type.Object({
    id: Type.String({ readOnly: true }),
    removedAt: Type.Optional(Type.String({ format: 'date-time', readOnly: true }))
  })
  const kept = define({ name: 'kept', schema, storage: memory() })
    .with(
      redirects({ to: () => undefined }),
      softDelete({ property: 'removedAt', allow: () => true }),
      idempotency({ actions: ['create'], required: true })
    )
  const { document } = await buildDocument(t, [kept])
  const { get, patch } = document.paths['/kept/{id}']!
  t.ok(['301', '410'].every((status) => status in get!.responses))
  t.ok(get!.parameters.some(({ name }) => name === 'deleted'))
  const post = document.paths['/kept']!.post!
  t.match(
    post.parameters.map((parameter) => resolve(document, parameter)).find(({ name }) => name === 'Idempotency-Key'),
    { in: 'header', required: true }
  )
  t.notOk(
    patch!.parameters.map((parameter) => resolve(document, parameter)).some(({ name }) => name === 'Idempotency-Key')
  )
  const optional = (await buildDocument(t, [notes().with(idempotency())])).document
  t.match(resolve(optional, optional.paths['/notes']!.post!.parameters.at(-1)!), {
    name: 'Idempotency-Key',
    required: false
  })
})

test('the transform of the app is applied, and hidden or moved routes stay so', async (t) => {
  const transform = ({ schema, url }: { schema: object; url: string }) => ({
    schema: { ...schema, hide: url.includes('notes') || 'hide' in schema },
    url: url.replace('/inner', '')
  })
  const { app, document } = await buildDocument(
    t,
    [notes(), { ...users(), prefix: '/inner' }],
    { openapi: '3.1.0' },
    { transform }
  )
  t.strictSame(Object.keys(document.paths), ['/users', '/users/{id}'])
  t.equal(Object.keys(document.paths['/users/{id}']!).length, 4)
  t.match(document.paths['/users']!.get!.responses['304'], { description: 'The client has the current representation' })
  t.notOk(document.components.schemas!.NotesItem, 'a hidden collection adds no schemas')
  t.strictSame(
    document.tags.map(({ name }) => name),
    ['users']
  )
  t.equal((await request(app, 'GET /notes')).statusCode, 200)

  const based = await buildDocument(t, [{ ...notes(), prefix: '/v1' }], {
    openapi: '3.1.0',
    servers: [{ url: 'https://example.com/v1' }],
    tags: [{ name: 'notes', description: 'Own words' }]
  })
  t.strictSame(Object.keys(based.document.paths), ['/notes', '/notes/{id}'])
  t.strictSame(based.document.tags, [{ name: 'notes', description: 'Own words' }])
  const whole = await buildDocument(
    t,
    [{ ...notes(), prefix: '/v1' }],
    { openapi: '3.1.0', servers: [{ url: 'https://example.com/v1' }] },
    { stripBasePath: false }
  )
  t.ok(whole.document.paths['/v1/notes']!.get!.responses['304'])
})

test('the tag of a collection with a page links to it', async (t) => {
  const formats = [json, html]
  const { document } = await buildDocument(t, [
    { ...notes({ formats }), prefix: '/v1' },
    { ...users({ formats }), prefix: '/:tenant' }
  ])
  t.strictSame(
    document.tags.map(({ description }) => description),
    ['The collection notes ([open the page](/v1/notes))', 'The collection users']
  )
})

test("Swagger 2.0 documents the operations, and the app's route config is kept", async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  const configs: unknown[] = []
  app.addHook('onRequest', async (request) => {
    configs.push(request.routeOptions.config)
  })
  await app.register(swagger, { swagger: { info: { title: 'Old', version: '1' } } })
  await app.register(collection, notes({ routes: { all: { config: { mine: 1 } as object } } }))
  await app.ready()
  const { paths } = app.swagger() as unknown as { paths: Record<string, Record<string, { operationId: string }>> }
  t.equal(paths['/notes/{id}']!.put!.operationId, 'notes.replace')
  for (const method of ['GET', 'OPTIONS']) await request(app, `${method} /notes`)
  t.match(configs, [{ mine: 1 }, { mine: 1 }])
})

test('a document of many collections shares common components', async (t) => {
  const count = 60
  const collections = Array.from({ length: count }, (_, index) => users({ name: `users${index}`, storage: memory() }))
  const { document } = await buildDocument(t, collections)
  t.equal(listOperations(document).length, count * 6)
  t.ok(JSON.stringify(document).length / count < 60_000)
})

test('only operations that evaluate preconditions document them, with 412', async (t) => {
  const product = define({
    name: 'products',
    schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), name: Type.String() }),
    storage: memory({ items: [{ id: '01900000-0000-7000-8000-000000000001', name: 'Loom' }] })
  }).with(action('count', {
    on: 'collection', safe: true, output: Type.Object({ count: Type.Integer() }), run: () => ({ output: { count: 1 } })
  }))
  const { app, document } = await buildDocument(t, [product])
  const getHeaders = (path: string, method: string): string[] => {
    const { parameters = [] } = document.paths[path]![method]!
    return parameters.map((parameter) => resolve(document, parameter)).filter((parameter) => parameter.in === 'header')
      .map(({ name }) => String(name))
  }
  const [list, count] = [document.paths['/products']!, document.paths['/products/count']!]
  t.strictSame(getHeaders('/products', 'post'), ['Prefer'])
  t.notOk('412' in list.post!.responses)
  t.ok(getHeaders('/products', 'get').includes('If-Match') && '412' in list.get!.responses)
  t.strictSame(getHeaders('/products/count', 'get'), ['If-None-Match', 'If-Match'])
  t.ok('412' in count.get!.responses)
  t.strictSame([getHeaders('/products/count', 'post'), '412' in count.post!.responses], [[], false])
  t.equal((await request(app, 'GET /products/count', { fields: { 'if-match': '"other"' } })).statusCode, 412)
  const content = { name: 'Reel' }
  const post = async (fields: Record<string, string>) => (await request(app, 'POST /products', { content, fields })).statusCode
  t.strictSame([await post({ 'if-match': '*' }), await post({ 'if-none-match': '"x"' })], [400, 400])
})
