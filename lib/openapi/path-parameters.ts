import type { Collection } from '../engine/collection.ts'
import type { Identity } from '../schema/ids.ts'
import type { ActionInfo } from '../engine/action-info.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { buildExample, chooseStoredExample } from './examples.ts'
import type { ExampleChoice } from './examples.ts'

/** Fastify matches parameters of up to 100 characters by default. */
const segmentSchema: JsonSchema = { type: 'string', minLength: 1, maxLength: 100, pattern: '^[^/]+$' }

interface PathParameter {
  readonly name: string
  readonly schema: JsonSchema
  readonly description: string
}

function describeParameter ({ name, schema, description }: PathParameter, choice: ExampleChoice): object {
  const example = buildExample(schema, schema, choice)
  return { name, in: 'path', required: true, description, schema, ...example !== undefined && { example } }
}

/** Returns the schema of the id, without what concerns writes. */
function getIdSchema ({ schema, id: { property } }: { schema: JsonSchema, id: Identity }): JsonSchema {
  const { readOnly, immutable, default: value, description, ...rest } = schema.properties![property]!
  return rest
}

/** Describes the parameters of the path, in their order. */
export function buildPathParameters (collection: Collection, action: ActionInfo, prefix: string): object[] {
  const { name, attached: { parent } } = collection
  const parameters: PathParameter[] = []
  for (const [, parameter] of prefix.matchAll(/:(\w+)/g)) {
    if (parent !== undefined && parameter === 'parent') continue
    parameters.push({ name: parameter!, schema: segmentSchema, description: `The ${parameter} in the path` })
  }
  if (parent !== undefined) {
    const { collection } = parent
    parameters.push({
      name: 'parent',
      schema: getIdSchema(collection),
      description: `The id of an item of ${collection.name}`
    })
  }
  if (action.at === 'item') {
    parameters.push({ name: 'id', schema: getIdSchema(collection), description: `The id of an item of ${name}` })
  }
  const choice = chooseStoredExample(collection.attached, action)
  return parameters.map((parameter) => describeParameter(parameter, choice))
}
