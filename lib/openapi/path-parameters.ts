import type { Collection } from '../collection.ts'
import type { Identity } from '../items/ids.ts'
import type { ActionName } from '../action.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { example } from './examples.ts'

/** As Fastify reads a parameter of a path, unless it is told otherwise. */
const segment: JsonSchema = { type: 'string', minLength: 1, maxLength: 100, pattern: '^[^/]+$' }

function parameter (name: string, schema: JsonSchema, description: string): object {
  const value = example(schema, schema)
  return { name, in: 'path', required: true, description, schema, ...value !== undefined && { example: value } }
}

/** The id as it stands in the URI: who makes it says nothing of how it is asked for. */
function idSchema ({ schema, id: { property } }: { schema: JsonSchema, id: Identity }): JsonSchema {
  // What names the items is one of the properties.
  const { readOnly, immutable, default: value, description, ...rest } = schema.properties![property]!
  return rest
}

/** In the order in which they stand in the path. */
export function pathParameters (collection: Collection, action: ActionName, prefix: string): object[] {
  const { name, parent } = collection
  const outer = [...prefix.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter!).filter(each => parent === undefined || each !== 'parent')
  return [
    ...outer.map(each => parameter(each, segment, `The ${each} in the path`)),
    ...parent === undefined ? [] : [parameter('parent', idSchema(parent.collection), `Which of the ${parent.collection.name}`)],
    ...action === 'list' || action === 'create' ? [] : [parameter('id', idSchema(collection), `Which of the ${name}`)]
  ]
}
