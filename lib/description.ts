import type { FastifySchema } from 'fastify'
import type { Collection } from './definition.ts'
import { itemQuerySchema, querySchema } from './listing/listing.ts'
import type { ActionName } from './options.ts'
import { showsRemoved } from './profiles/profiles.ts'
import type { JsonSchema } from './storage/contract.ts'

// What OpenAPI generators such as @fastify/swagger read from a route. Nothing is validated or serialised by it.

const summaries: Readonly<Record<ActionName, string>> = {
  list: 'A page of the items',
  create: 'Make a new item',
  read: 'One item',
  replace: 'Put a complete representation in the place of the item',
  update: 'Change some members of the item',
  remove: 'Remove the item'
}

/** By action: the content that is sent, and the status and content of success. */
function messages (collection: Collection): Readonly<Record<ActionName, { body?: JsonSchema, status: number, content?: JsonSchema }>> {
  const { schemas, bulk } = collection
  return {
    list: { status: 200, content: { type: 'array', items: schemas.read } },
    create: { body: bulk === undefined ? schemas.create : { anyOf: [schemas.create, { type: 'array', minItems: 1, maxItems: bulk.maximum, items: schemas.create }] }, status: 201, content: schemas.read },
    read: { status: 200, content: schemas.read },
    replace: { body: schemas.replace, status: 200, content: schemas.read },
    update: { body: schemas.patch, status: 200, content: schemas.read },
    remove: showsRemoved(collection) ? { status: 200, content: schemas.read } : { status: 204 }
  }
}

/** Under a prefix, which may have parameters of its own and tells apart collections of one name. */
export function describe (collection: Collection, name: ActionName, prefix: string): FastifySchema & Record<string, unknown> {
  const { body, status, content } = messages(collection)[name]
  const parameters = Object.fromEntries([...prefix.matchAll(/:(\w+)/g)].map(([, parameter]) => [parameter, { type: 'string' }]))
  if (name !== 'list' && name !== 'create') parameters.id = { ...collection.schema.properties?.[collection.id.member] }
  const required = Object.keys(parameters)
  return {
    tags: [collection.name],
    operationId: [...prefix.match(/\w+/g) ?? [], collection.name, name].join('.'),
    summary: summaries[name],
    ...collection.deprecation && { deprecated: true },
    ...required.length > 0 && { params: { type: 'object', required, properties: parameters } },
    ...name === 'list' && { querystring: querySchema(collection.listing, collection.page) },
    ...name === 'read' && { querystring: itemQuerySchema(collection.listing) },
    ...body && { body },
    response: { [status]: content === undefined ? { type: 'null', description: 'No content' } : { description: 'Success', ...content } }
  }
}

/** For the routes that are no part of the documentation: HEAD, OPTIONS, 405. */
export const hidden: FastifySchema & Record<string, unknown> = { hide: true }
