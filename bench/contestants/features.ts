// Fastify with hand-written features like those of the library, for one schema.
import { hash } from 'node:crypto'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify'
import { Malformed } from '../../lib/formats/format.ts'
import { parseIJson } from '../../lib/formats/i-json.ts'
import type { Adapter, Entry, Page, Storage } from '../../lib/storage/contract.ts'
import { toStorageQuery } from '../storage-query.ts'
import { context } from '../storages.ts'
import { generateId, schemas, shape, type Patch, type Query, type Schemas, type User, type Write } from '../user.ts'
import { problem, refuse, refuseBy, isRefusal, type Refusable } from './problem.ts'

interface Item {
  Params: { id: string }
}

/** RFC 9110, section 13.1.2: weak comparison. */
function noneMatches (field: string, tag: string) {
  return field === tag || field === '*' || field.split(',').some((one) => one.trim().replace(/^W\//, '') === tag)
}

/** RFC 9110, section 13.1.1: strong comparison. */
function matches (field: string, tag: string) {
  return field === tag || field === '*' || field.split(',').some((one) => one.trim() === tag)
}

/** Returns why the write is refused, if it is. */
function precondition (request: FastifyRequest, present: Entry<User> | undefined): Refusable | undefined {
  if (present === undefined) return 'not-found'
  const field = request.headers['if-match']
  if (field !== undefined && !matches(field, `"${present.version}"`)) return 'precondition-failed'
  const unwanted = request.headers['if-none-match']
  if (unwanted !== undefined && noneMatches(unwanted, `"${present.version}"`)) return 'precondition-failed'
}

/** RFC 8288: each link keeps every other parameter. */
function links (url: string, { after, sort = 'id' }: Query, { entries, more }: Page<User>) {
  const [path = '', search = ''] = url.split('?', 2)
  const rest =
    after === undefined
      ? search
      : search
        .split('&')
        .filter((parameter) => !parameter.startsWith('after='))
        .join('&')
  const first = `<${path}${rest === '' ? '' : `?${rest}`}>; rel="first"`
  if (!more) return after === undefined ? undefined : first
  const last = entries.at(-1)!.item
  const property = sort.replace('-', '') as keyof User // of the enumeration in the schema
  const position =
    property === 'id' ? `after=${last.id}` : `after=${encodeURIComponent(last[property])}&after=${last.id}`
  return `<${path}?${rest === '' ? '' : `${rest}&`}${position}>; rel="next", ${first}`
}

export function routes (
  app: FastifyInstance,
  name: string,
  { storage, schema }: { storage: Storage<User>; schema: Schemas }
) {
  const { id: params, read, write, patch, query } = schema
  const path = `/${name}`
  const one = `${path}/:id`
  const link = `<${path}>; rel="collection"`

  app.get<{ Querystring: Query }>(
    path,
    { schema: { querystring: query, response: { 200: { type: 'array', items: read }, '4xx': problem } } },
    async (request, reply) => {
      const storageQuery = toStorageQuery(request.query, request.query.count)
      if (storageQuery.after !== undefined && storageQuery.after.length !== storageQuery.order.length) {
        return refuse(reply, 'invalid-query', { detail: 'after is no position in this order.' })
      }
      const page = await storage.list(storageQuery, context)
      let versions = `${page.more} `
      for (const entry of page.entries) versions += `${entry.id} ${entry.version} `
      const tag = `"${hash('sha1', versions, 'base64url')}"`
      reply.header('vary', 'Accept').header('etag', tag)
      const others = links(request.url, request.query, page)
      if (others !== undefined) reply.header('link', others)
      if (page.total !== undefined) reply.header('x-total-count', page.total)
      const field = request.headers['if-none-match']
      if (field !== undefined && noneMatches(field, tag)) return reply.code(304).send()
      return page.entries.map((entry) => entry.item)
    }
  )

  app.post<{ Body: Write }>(
    path,
    { schema: { body: write, response: { 201: read, '4xx': problem } } },
    async (request, reply) => {
      const { email, name, password } = request.body
      const entry = await storage.insert(
        { id: generateId(), email, name, password, createdAt: new Date().toISOString() },
        context
      )
      if (isRefusal(entry)) return refuseBy(reply, entry)
      const location = `${path}/${entry.id}`
      reply
        .code(201)
        .header('etag', `"${entry.version}"`)
        .header('link', link)
        .header('location', location)
        .header('content-location', location)
      return entry.item
    }
  )

  app.get<Item>(one, { schema: { params, response: { 200: read, '4xx': problem } } }, async (request, reply) => {
    const entry = await storage.find(request.params.id, context)
    if (entry === undefined) return refuse(reply, 'not-found')
    const tag = `"${entry.version}"`
    reply.header('etag', tag).header('link', link)
    const field = request.headers['if-none-match']
    if (field !== undefined && noneMatches(field, tag)) return reply.code(304).send()
    return entry.item
  })

  app.put<Item & { Body: Write }>(
    one,
    { schema: { params, body: write, response: { 200: read, '4xx': problem } } },
    async (request, reply) => {
      const present = await storage.find(request.params.id, context)
      const refusal = precondition(request, present)
      if (present === undefined || refusal !== undefined) return refuse(reply, refusal ?? 'not-found')
      const { email, name, password } = request.body
      const { id, createdAt } = present.item
      const entry = await storage.replace(id, { id, email, name, password, createdAt }, present.version, context)
      if (isRefusal(entry)) return refuseBy(reply, entry)
      reply.header('link', link).header('content-location', `${path}/${id}`)
      return entry.item
    }
  )

  app.patch<Item & { Body: Patch }>(
    one,
    { schema: { params, body: patch, response: { 200: read, '4xx': problem } } },
    async (request, reply) => {
      const present = await storage.find(request.params.id, context)
      const refusal = precondition(request, present)
      if (present === undefined || refusal !== undefined) return refuse(reply, refusal ?? 'not-found')
      const { id } = present.item
      const entry = await storage.replace(id, { ...present.item, ...request.body }, present.version, context)
      if (isRefusal(entry)) return refuseBy(reply, entry)
      reply.header('etag', `"${entry.version}"`).header('link', link).header('content-location', `${path}/${id}`)
      return entry.item
    }
  )

  app.register(async (app) => rename(app, path, { storage, schema }))

  app.delete<Item>(one, { schema: { params, response: { '4xx': problem } } }, async (request, reply) => {
    let expected: string | undefined
    if (request.headers['if-match'] !== undefined) {
      const present = await storage.find(request.params.id, context)
      const refusal = precondition(request, present)
      if (refusal !== undefined) return refuse(reply, refusal)
      expected = present?.version
    }
    const refusal = await storage.remove(request.params.id, expected, context)
    if (refusal !== undefined) return refuseBy(reply, refusal)
    return reply.code(204).send()
  })
}

/**
 * A custom action with the checks of the library, in their order: the query string, preconditions, content without
 * duplicate names and inexact numbers, the state of the item, the whole result, and whether it changes anything.
 */
function rename (app: FastifyInstance, path: string, { storage, schema }: { storage: Storage<User>; schema: Schemas }) {
  const { id: params, item: whole, read, rename: body, none: querystring } = schema
  const url = `${path}/:id/rename`
  // The validator compiler of open() returns what Ajv compiles.
  const compile = (schema: object) => {
    return app.validatorCompiler!({ schema, method: 'POST', url, httpPart: 'body' }) as ValidateFunction
  }
  const [validateBody, validateItem] = [compile(body), compile(whole)]
  const link = `<${path}>; rel="collection"`
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, content, done) => done(null, content))

  app.post<Item & { Body: Buffer }>(
    url,
    { schema: { params, querystring, response: { 200: read, '4xx': problem } } },
    async (request, reply) => {
      const renamed = await storage.transaction!(async (inner) => {
        const present = await inner.find(request.params.id, { ...context, lock: true })
        const refusal = precondition(request, present)
        if (present === undefined || refusal !== undefined) return refusal ?? 'not-found'
        const input = parseIJson(request.body)
        if (!validateBody(input)) throw new InvalidContent(validateBody.errors!)
        if (present.item.email === '') return 'conflict'
        const item = { ...present.item, name: (input as Pick<User, 'name'>).name } // as the schema says
        if (!validateItem(item)) throw new InvalidContent(validateItem.errors!)
        if (item.name === present.item.name) return present
        return inner.replace(present.id, item, present.version, context)
      }, context)
      if (typeof renamed === 'string') return refuse(reply, renamed)
      if (isRefusal(renamed)) return refuseBy(reply, renamed)
      reply.header('etag', `"${renamed.version}"`).header('link', link)
      const { prefer } = request.headers
      if (prefer !== undefined && /\breturn=minimal\b/.test(String(prefer))) {
        return reply.code(204).header('preference-applied', 'return=minimal').send()
      }
      reply.header('content-location', `${path}/${renamed.id}`)
      return renamed.item
    }
  )
}

/** For the error handler, like an error of Fastify's own validation. */
class InvalidContent extends Error {
  readonly validationContext = 'body'
  readonly validation: readonly ErrorObject[]

  constructor (validation: readonly ErrorObject[]) {
    super('The content is invalid')
    this.validation = validation
  }
}

const json = /(?:^|,)\s*(?:\*\/\*|application\/(?:\*|json))\s*(?:[;,]|$)/i

export function open () {
  const app = Fastify()
  const content = formats.default(new Ajv({ allErrors: true }))
  const parameters = formats.default(new Ajv({ coerceTypes: 'array', useDefaults: true }))
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'body' ? content : parameters).compile(schema))
  app.addContentTypeParser(
    'application/merge-patch+json',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error')
  )
  app.addHook('onRequest', (request, reply, done) => {
    const { accept, authorization, cookie } = request.headers
    const kept =
      (request.method === 'GET' || request.method === 'HEAD') && authorization === undefined && cookie === undefined
    reply
      .header('cache-control', kept ? 'no-cache' : 'no-store')
      .header('vary', 'Accept')
      .header('x-content-type-options', 'nosniff')
    if (accept !== undefined && !json.test(accept)) refuse(reply, 'not-acceptable')
    else done()
  })
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const { validation, validationContext, message, statusCode } = error
    if (error instanceof Malformed) return refuse(reply, 'malformed-content', { detail: message })
    if (validation === undefined) {
      return refuse(reply, statusCode === undefined || statusCode >= 500 ? 'internal-error' : 'malformed-content')
    }
    if (validationContext === 'params') return refuse(reply, 'not-found')
    if (validationContext !== 'body') return refuse(reply, 'invalid-query', { detail: message })
    return refuse(reply, 'validation-failed', {
      detail: validation.length === 1 ? 'One property is invalid.' : `${validation.length} properties are invalid.`,
      errors: validation.map(({ instancePath, message }) => ({ pointer: instancePath, message: message ?? '' }))
    })
  })
  return app
}

export function add (app: FastifyInstance, name: string, adapter: Adapter<User>) {
  const schema = schemas()
  routes(app, name, { storage: adapter(shape(name, schema.item)), schema })
}
