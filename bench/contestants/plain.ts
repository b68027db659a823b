// Fastify as in its guide: schemas for requests and responses, and no other features of HTTP.
import Fastify, { type FastifyInstance } from 'fastify'
import type { Adapter, Entry, Refusal, Storage } from '../../lib/storage/contract.ts'
import { toStorageQuery } from '../storage-query.ts'
import { context } from '../storages.ts'
import { generateId, schemas, shape, type Patch, type Query, type Schemas, type User, type Write } from '../user.ts'

interface Item {
  Params: { id: string }
}

const statuses = { 'not-found': 404, stale: 409, 'not-unique': 409, conflict: 409, unstorable: 422, 'missing-target': 422, referenced: 409 }

function isRefusal (result: Entry<User> | Refusal): result is Refusal {
  return 'refused' in result
}

export function routes (
  app: FastifyInstance,
  name: string,
  { storage, schema }: { storage: Storage<User>; schema: Schemas }
) {
  const { id: params, read, write, patch, query } = schema
  const path = `/${name}`
  const one = `${path}/:id`

  app.get<{ Querystring: Query }>(
    path,
    { schema: { querystring: query, response: { 200: { type: 'array', items: read } } } },
    async (request) => {
      const { entries } = await storage.list(toStorageQuery(request.query), context)
      return entries.map((entry) => entry.item)
    }
  )

  app.post<{ Body: Write }>(path, { schema: { body: write, response: { 201: read } } }, async (request, reply) => {
    const { email, name, password } = request.body
    const entry = await storage.insert(
      { id: generateId(), email, name, password, createdAt: new Date().toISOString() },
      context
    )
    if (isRefusal(entry)) return reply.code(statuses[entry.refused]).send({ message: entry.refused })
    reply.code(201).header('location', `${path}/${entry.id}`)
    return entry.item
  })

  app.get<Item>(one, { schema: { params, response: { 200: read } } }, async (request, reply) => {
    const entry = await storage.find(request.params.id, context)
    if (entry === undefined) return reply.code(404).send({ message: 'absent' })
    return entry.item
  })

  app.put<Item & { Body: Write }>(
    one,
    { schema: { params, body: write, response: { 200: read } } },
    async (request, reply) => {
      const present = await storage.find(request.params.id, context)
      if (present === undefined) return reply.code(404).send({ message: 'absent' })
      const { email, name, password } = request.body
      const { id, createdAt } = present.item
      const entry = await storage.replace(id, { id, email, name, password, createdAt }, present.version, context)
      if (isRefusal(entry)) return reply.code(statuses[entry.refused]).send({ message: entry.refused })
      return entry.item
    }
  )

  app.patch<Item & { Body: Patch }>(
    one,
    { schema: { params, body: patch, response: { 200: read } } },
    async (request, reply) => {
      const present = await storage.find(request.params.id, context)
      if (present === undefined) return reply.code(404).send({ message: 'absent' })
      const entry = await storage.replace(present.id, { ...present.item, ...request.body }, present.version, context)
      if (isRefusal(entry)) return reply.code(statuses[entry.refused]).send({ message: entry.refused })
      return entry.item
    }
  )

  app.delete<Item>(one, { schema: { params } }, async (request, reply) => {
    const refusal = await storage.remove(request.params.id, undefined, context)
    if (refusal !== undefined) return reply.code(statuses[refusal.refused]).send({ message: refusal.refused })
    return reply.code(204).send()
  })
}

export function open () {
  const app = Fastify()
  app.addContentTypeParser(
    'application/merge-patch+json',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error')
  )
  return app
}

export function add (app: FastifyInstance, name: string, adapter: Adapter<User>) {
  const schema = schemas()
  routes(app, name, { storage: adapter(shape(name, schema.item)), schema })
}
