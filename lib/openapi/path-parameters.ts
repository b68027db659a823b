import type { Collection } from '../collection.ts'
import type { Identity } from '../items/ids.ts'
import type { ActionName } from '../action.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { buildExample } from './examples.ts'

/** Fastify matches parameters of up to 100 characters by default. */
const segmentSchema: JsonSchema = { type: 'string', minLength: 1, maxLength: 100, pattern: '^[^/]+$' }

function describeParameter (name: string, schema: JsonSchema, description: string): object {
  const example = buildExample(schema, schema)
  return { name, in: 'path', required: true, description, schema, ...example !== undefined && { example } }
}

/** Returns the schema of the id, without what concerns writes. */
function getIdSchema ({ schema, id: { property } }: { schema: JsonSchema, id: Identity }): JsonSchema {
  const { readOnly, immutable, default: value, description, ...rest } = schema.properties![property]!
  return rest
}

/** Describes the parameters of the path, in their order. */
export function buildPathParameters (collection: Collection, action: ActionName, prefix: string): object[] {
  const { name, parent } = collection
  const parameters: object[] = []
  for (const [, parameter] of prefix.matchAll(/:(\w+)/g)) {
    if (parent !== undefined && parameter === 'parent') continue
    parameters.push(describeParameter(parameter!, segmentSchema, `The ${parameter} in the path`))
  }
  if (parent !== undefined) {
    const { collection } = parent
    parameters.push(describeParameter('parent', getIdSchema(collection), `The id of an item of ${collection.name}`))
  }
  if (action !== 'list' && action !== 'create') {
    parameters.push(describeParameter('id', getIdSchema(collection), `The id of an item of ${name}`))
  }
  return parameters
}
