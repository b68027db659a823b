import { Type } from '@sinclair/typebox'
import { define, json } from 'fastify-collections'
import { html } from 'fastify-collections/html'
import type { Database } from './database.ts'

const Task = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  title: Type.String({ minLength: 1, maxLength: 200 }),
  done: Type.Boolean({ default: false }),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

export function defineTasks (database: Database) {
  return define({
    name: 'tasks',
    schema: Task,
    storage: database.storage(),
    formats: [json, html],
    // Everyone who reaches the service may read and write. See "Before you deploy" in README.md.
    access: { allow: 'public' },
    list: { search: ['title'] }
  })
}
