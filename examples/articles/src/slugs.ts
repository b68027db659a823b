import { Type } from '@sinclair/typebox'
import { define } from 'fastify-collections'
import type { Database } from './database.ts'

const Slug = Type.Object({
  slug: Type.String({ maxLength: 200 }),
  articleId: Type.String({ format: 'uuid' })
})

const context = { signal: new AbortController().signal, scope: undefined }

/** All slugs that articles have had. A definition that is not registered can be used as a typed table. */
export function defineSlugs (database: Database) {
  return define({
    name: 'slugs',
    schema: Slug,
    id: { property: 'slug', generate: 'client' },
    storage: database.storage()
  })
}

export type Slugs = ReturnType<typeof createSlugs>

export function createSlugs ({ storage }: ReturnType<typeof defineSlugs>) {
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
