import type { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import { define } from 'fastify-collections'
import { sqlite } from 'fastify-collections/sqlite'

const Slug = Type.Object({
  slug: Type.String({ maxLength: 200 }),
  articleId: Type.String({ format: 'uuid' })
})

const table = { name: 'slugs', schema: Slug, id: { property: 'slug', generate: 'client' } } as const

const context = { signal: new AbortController().signal, scope: undefined }

/** All slugs that articles have had. A definition that is not registered can be used as a typed table. */
export async function slugs (database: DatabaseSync) {
  const adapter = sqlite(database)
  await adapter.createTable(table)
  const { storage } = define({ ...table, storage: adapter })
  return {
    async findArticle (slug: string): Promise<string | undefined> {
      return (await storage.find(slug, context))?.item.articleId
    },
    async keep (slug: string, articleId: string): Promise<void> {
      const result = await storage.replace(slug, { slug, articleId }, undefined, context)
      if ('refused' in result) await storage.insert({ slug, articleId }, context)
    }
  }
}

export function toSlug (title: string): string {
  return (
    title
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '') || 'untitled'
  )
}
