import { Type } from '@sinclair/typebox'
import { define } from 'fastify-collections'
import { action } from 'fastify-collections/action'
import type { Database } from '../database.ts'
import { formats } from '../formats.ts'
import { ada, grace } from './users.ts'

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

export async function articles ({ storage }: Database) {
  await storage.createTable(table)
  return define({
    ...table,
    storage,
    formats,
    list: { search: ['title', 'text'] }
  })
}

/** POST /articles/{id}/publish, the only way to change the status. */
export const publish = action('publish', {
  description: 'Publishes a draft.',
  when: ({ item }: { item: Readonly<typeof Article.static> }) => {
    return item.status === 'draft' || 'The article is published already.'
  },
  run: ({ item }) => ({ ...item, status: 'published' as const })
})

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
