import type { FastifySchema } from 'fastify'
import type { OpenApi } from './components.ts'

// How @fastify/swagger lets a route change the document that it builds.

/** What it passes to a transform. There is no `openapiObject` if the document is not OpenAPI 3. */
interface TransformInput {
  readonly schema: FastifySchema
  readonly url: string
  readonly openapiObject?: object
}

/** The route config that it reads. */
export interface SwaggerConfig {
  swaggerTransform (input: TransformInput): { schema: FastifySchema, url: string }
}

/** Creates the config of a hidden route. `complete` gets the document with the operations of the routes before it. */
export function createTransformConfig (complete: (document: OpenApi) => void): SwaggerConfig {
  return {
    swaggerTransform ({ schema, url, openapiObject }) {
      // @fastify/swagger always sets the version, the components and the paths, but has no types for them.
      const document = openapiObject as OpenApi | undefined
      if (document !== undefined) complete(document)
      return { schema, url }
    }
  }
}

/** Adds a tag, unless the document has one of this name. */
export function addTag (document: OpenApi, name: string, description: string): void {
  const tags = document.tags ?? []
  if (!tags.some((tag) => tag.name === name)) document.tags = [...tags, { name, description }]
}
