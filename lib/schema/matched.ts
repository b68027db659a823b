import type { JsonSchema } from '../storage/contract.ts'
import type { ItemType } from './item-type.ts'

/** The schema of the response to a write to several items. */
export function buildMatchedSchema ({ id, schema }: Pick<ItemType, 'id' | 'schema'>): JsonSchema {
  const { type = 'string', format } = schema.properties?.[id.property] ?? {}
  return {
    type: 'object',
    properties: {
      count: { type: 'integer', minimum: 0, description: 'How many items matched' },
      ids: {
        type: 'array',
        items: { type, ...format !== undefined && { format } },
        description: 'The ids of these items, if the request prefers return=representation'
      }
    },
    required: ['count'],
    additionalProperties: false
  }
}
