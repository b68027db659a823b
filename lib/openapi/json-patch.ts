import { toPointer } from '../http/json-pointer.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { maxHeaderSize } from './headers.ts'

// The content of application/json-patch+json: RFC 6902.

const location: JsonSchema = { type: 'string', format: 'json-pointer', maxLength: maxHeaderSize }

const operationProperties: Readonly<Record<string, JsonSchema>> = { path: location, from: location, value: {} }

function describeOperation (names: readonly string[], properties: readonly string[]): JsonSchema {
  return {
    type: 'object',
    required: ['op', ...properties],
    properties: {
      op: { type: 'string', enum: names },
      ...Object.fromEntries(properties.map((property) => [property, operationProperties[property]]))
    }
  }
}

export const jsonPatchSchema: JsonSchema = {
  type: 'array',
  description: 'Operations that are applied in order, all or none (RFC 6902)',
  // More do not fit in the default bodyLimit of Fastify, 1 MiB.
  maxItems: 40_000,
  items: {
    oneOf: [
      describeOperation(['add', 'replace', 'test'], ['path', 'value']),
      describeOperation(['remove'], ['path']),
      describeOperation(['move', 'copy'], ['from', 'path'])
    ]
  }
}

export function buildJsonPatchExample (name: string, value: unknown): unknown {
  return [{ op: 'add', path: toPointer([name]), value }]
}
