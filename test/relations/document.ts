import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import collection from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition } from '../../lib/index.ts'

export type Json = Record<string, unknown>

export interface Schema extends Json {
  $ref?: string
  enum?: unknown[]
  pattern?: string
  items?: Schema
  properties?: Record<string, Schema>
}

export interface Parameter {
  name: string
  description: string
  schema: Schema
}

interface Content {
  content: Record<string, { schema: Schema }>
}

export interface Operation {
  description: string
  parameters: Parameter[]
  requestBody?: Content
  responses: Record<string, Content>
}

export interface Document {
  components: { schemas: Record<string, Schema> }
  paths: Record<string, Record<string, Operation>>
}

interface Closing {
  after (close: () => Promise<unknown>): void
}

/** Registers the collections, and returns the OpenAPI document of the app. */
export async function buildDocument (
  t: Closing,
  definitions: Readonly<Record<string, Definition>>,
  openapi = '3.2.0'
): Promise<Document> {
  const app: FastifyInstance = Fastify()
  t.after(() => app.close())
  await app.register(swagger, {
    openapi: {
      openapi,
      info: {
        title: 'Blog',
        version: '1.0.0',
        description: 'Articles',
        contact: { name: 'Ada', url: 'https://example.com', email: 'ada@example.com' },
        license: { name: 'MIT', url: 'https://example.com/license' }
      },
      servers: [{ url: 'https://blog.invalid' }]
    }
  })
  await app.register(registry)
  for (const definition of Object.values(definitions)) await app.register(collection, definition)
  await app.ready()
  return app.swagger() as unknown as Document
}
