import { Type } from '@sinclair/typebox'
import { define } from 'fastify-collections'
import { action } from 'fastify-collections/action'
import { expand } from 'fastify-collections/expand'
import type { Database } from '../database.ts'
import { formats } from '../formats.ts'
import { ada, grace } from './users.ts'
import type { users } from './users.ts'

const notes = '01900000-0000-7000-8000-000000000011'
const moth = '01900000-0000-7000-8000-000000000012'

const Article = Type.Object(
  {
    id: Type.String({ format: 'uuid', readOnly: true, examples: [notes, moth] }),
    authorId: Type.String({ format: 'uuid', description: 'Who has written it', examples: [ada, grace] }),
    title: Type.String({ minLength: 1, maxLength: 200 }),
    text: Type.String({ maxLength: 100_000, default: '' }),
    status: Type.Union([Type.Literal('draft'), Type.Literal('published')], { default: 'draft', readOnly: true }),
    createdAt: Type.String({ format: 'date-time', readOnly: true }),
    updatedAt: Type.String({ format: 'date-time', readOnly: true })
  },
  { title: 'Article' }
)

const table = { name: 'articles', schema: Article } as const

export async function articles ({ storage }: Database, authors: Awaited<ReturnType<typeof users>>) {
  await storage.createTable(table)
  return define({
    ...table,
    storage,
    formats,
    list: { search: ['title', 'text'] }
  }).with(expand({ author: { collection: authors, property: 'authorId' } }))
}

/** Adds POST /articles/{id}/publish, the only way to change the status. */
export function withPublish (definition: Awaited<ReturnType<typeof articles>>) {
  return definition.with(action('publish', {
    description: 'Publishes a draft.',
    when: ({ item }) => item.status === 'draft' || 'The article is published already.',
    run: ({ item }) => ({ ...item, status: 'published' })
  }))
}

export const firstArticles = [
  {
    id: notes,
    authorId: ada,
    title: 'Notes on the Analytical Engine',
    text: 'It weaves algebraic patterns.',
    status: 'published'
  },
  {
    id: moth,
    authorId: grace,
    title: 'The first bug',
    text: 'A moth, in relay 70.',
    status: 'draft'
  }
] as const
