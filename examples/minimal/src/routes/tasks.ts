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
    // Everyone who reaches the service may read and write. See "Before you deploy" in README.md.
    access: { allow: 'public' },
    list: { search: ['title'] }
  })
  await app.storage.createTable(definition)
  await app.register(collection, definition)
  app.log.warn('Everyone may read and write tasks. Set "access" in src/routes/tasks.ts before you deploy.')
}
