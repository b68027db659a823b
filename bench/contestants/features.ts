// Fastify with the features of the library written by hand, for one schema, by someone who knows both.
import { hash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Adapter, Entry, Refusal, Storage } from '../../lib/storage/contract.ts'
import { context, page } from '../storages.ts'
import { mint, schemas, shape, type Patch, type Query, type Schemas, type User, type Write } from '../user.ts'

interface Item { Params: { id: string } }

const problem = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.Optional(Type.String()),
  instance: Type.String(),
  errors: Type.Optional(Type.Array(Type.Object({ pointer: Type.String(), detail: Type.String() })))
})

const titles: Record<number, string> = {
  400: 'Bad Request', 404: 'Not Found', 409: 'Conflict', 412: 'Precondition Failed', 422: 'Unprocessable Content', 500: 'Internal Server Error'
}

const statusOf = { absent: 404, stale: 412, taken: 409, conflict: 409 }

function refuse (reply: FastifyReply, status: number, more?: object) {
  return reply.code(status).header('content-type', 'application/problem+json')
    .send({ type: 'about:blank', title: titles[status] ?? 'Error', status, instance: reply.request.url, ...more })
}

function refused (result: Entry<User> | Refusal): result is Refusal {
  return 'refused' in result
}

/** RFC 9110 13.1.2: weak comparison. */
function noneMatches (field: string, tag: string) {
  return field === tag || field === '*' || field.split(',').some(one => one.trim().replace(/^W\//, '') === tag)
}

/** RFC 9110 13.1.1: strong comparison. */
function matches (field: string, tag: string) {
  return field === tag || field === '*' || field.split(',').some(one => one.trim() === tag)
}

/** An empty answer says: go on. */
function precondition (request: FastifyRequest, present: Entry<User> | undefined) {
  if (present === undefined) return 404
  const field = request.headers['if-match']
  if (field !== undefined && !matches(field, `"${present.version}"`)) return 412
}

export function routes (app: FastifyInstance, name: string, { storage, schema }: { storage: Storage<User>, schema: Schemas }) {
  const { read, write, patch, query } = schema
  const path = `/${name}`
  const one = `${path}/:id`

  app.get<{ Querystring: Query }>(path, { schema: { querystring: query, response: { 200: { type: 'array', items: read }, '4xx': problem } } }, async (request, reply) => {
    const { limit, after } = request.query
    const { entries, more } = await storage.list(page(after, limit), context)
    let versions = ''
    for (const entry of entries) versions += `${entry.id} ${entry.version} `
    const tag = `"${hash('sha1', versions, 'base64url')}"`
    reply.header('etag', tag)
    if (more) reply.header('link', `<${path}?limit=${limit}&after=${entries.at(-1)?.id}>; rel="next"`)
    const field = request.headers['if-none-match']
    if (field !== undefined && noneMatches(field, tag)) return reply.code(304).send()
    return entries.map(entry => entry.item)
  })

  app.post<{ Body: Write }>(path, { schema: { body: write, response: { 201: read, '4xx': problem } } }, async (request, reply) => {
    const { email, name, password } = request.body
    const entry = await storage.insert({ id: mint(), email, name, password, createdAt: new Date().toISOString() }, context)
    if (refused(entry)) return refuse(reply, statusOf[entry.refused])
    const location = `${path}/${entry.id}`
    reply.code(201).header('etag', `"${entry.version}"`).header('location', location).header('content-location', location)
    return entry.item
  })

  app.get<Item>(one, { schema: { response: { 200: read, '4xx': problem } } }, async (request, reply) => {
    const entry = await storage.find(request.params.id, context)
    if (entry === undefined) return refuse(reply, 404)
    const tag = `"${entry.version}"`
    reply.header('etag', tag)
    const field = request.headers['if-none-match']
    if (field !== undefined && noneMatches(field, tag)) return reply.code(304).send()
    return entry.item
  })

  app.put<Item & { Body: Write }>(one, { schema: { body: write, response: { 200: read, '4xx': problem } } }, async (request, reply) => {
    const present = await storage.find(request.params.id, context)
    const status = precondition(request, present)
    if (present === undefined || status !== undefined) return refuse(reply, status ?? 404)
    const { email, name, password } = request.body
    const { id, createdAt } = present.item
    const entry = await storage.replace(id, { id, email, name, password, createdAt }, present.version, context)
    if (refused(entry)) return refuse(reply, statusOf[entry.refused])
    reply.header('content-location', request.url)
    return entry.item
  })

  app.patch<Item & { Body: Patch }>(one, { schema: { body: patch, response: { 200: read, '4xx': problem } } }, async (request, reply) => {
    const present = await storage.find(request.params.id, context)
    const status = precondition(request, present)
    if (present === undefined || status !== undefined) return refuse(reply, status ?? 404)
    const entry = await storage.replace(present.id, { ...present.item, ...request.body }, present.version, context)
    if (refused(entry)) return refuse(reply, statusOf[entry.refused])
    reply.header('etag', `"${entry.version}"`).header('content-location', request.url)
    return entry.item
  })

  app.delete<Item>(one, { schema: { response: { '4xx': problem } } }, async (request, reply) => {
    let expected: string | undefined
    if (request.headers['if-match'] !== undefined) {
      const present = await storage.find(request.params.id, context)
      const status = precondition(request, present)
      if (status !== undefined) return refuse(reply, status)
      expected = present?.version
    }
    const refusal = await storage.remove(request.params.id, expected, context)
    if (refusal !== undefined) return refuse(reply, statusOf[refusal.refused])
    return reply.code(204).send()
  })
}

export function open () {
  const app = Fastify()
  const content = formats.default(new Ajv({ allErrors: true }))
  const parameters = formats.default(new Ajv({ coerceTypes: true, useDefaults: true }))
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'body' ? content : parameters).compile(schema))
  app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'))
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-cache').header('vary', 'Accept').header('x-content-type-options', 'nosniff')
    done()
  })
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    if (error.validation === undefined) return refuse(reply, error.statusCode ?? 500)
    if (error.validationContext !== 'body') return refuse(reply, 400, { detail: error.message })
    return refuse(reply, 422, {
      errors: error.validation.map(({ instancePath, message }) => ({ pointer: instancePath, detail: message ?? '' }))
    })
  })
  return app
}

export function add (app: FastifyInstance, name: string, adapter: Adapter<User>) {
  const schema = schemas()
  routes(app, name, { storage: adapter(shape(name, schema.item)), schema })
}
