import type { Relation } from '../features/feature.ts'
import type { JsonSchema } from '../storage/contract.ts'

/** Describes the parameter `expand`, for OpenAPI. */
export function describeExpand (relations: ReadonlyMap<string, Relation>): JsonSchema {
  const names = [...relations.keys()]
  return {
    type: 'array',
    items: { type: 'string', pattern: `^(?:${names.join('|')})(?:\\.\\w+){0,2}$` },
    minItems: 1,
    maxItems: 20,
    description: `The related items to include: ${names.join(', ')}. ` +
      'A path such as comments.author includes what they refer to, up to 3 levels.'
  }
}
