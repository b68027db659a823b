import type { FastifyInstance } from 'fastify'
import collection, { define, json } from 'fastify-collections'
import { html } from 'fastify-collections/html'
import { Task } from '../tasks.ts'

export default async function tasks (app: FastifyInstance): Promise<void> {
  const definition = define({
    name: 'tasks',
    schema: Task,
    storage: app.storage,
    formats: [json, html],
    list: { search: ['title'] }
  })
  await app.storage.createTable(definition)
  await app.register(collection, definition)
}
