import { pointer } from '../http/json-pointer.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { longestField } from './fields.ts'

// RFC 6902: the content of application/json-patch+json.

const place: JsonSchema = { type: 'string', format: 'json-pointer', maxLength: longestField }

function operation (names: readonly string[], properties: readonly string[]): JsonSchema {
  const known: Readonly<Record<string, JsonSchema>> = { path: place, from: place, value: {} }
  return {
    type: 'object',
    required: ['op', ...properties],
    properties: { op: { type: 'string', enum: names }, ...Object.fromEntries(properties.map(property => [property, known[property]])) }
  }
}

export const jsonPatchSchema: JsonSchema = {
  type: 'array',
  description: 'Operations that are done one after the other: all, or none (RFC 6902)',
  // No more fit into the mebibyte of content that Fastify takes by default.
  maxItems: 40_000,
  items: { oneOf: [operation(['add', 'replace', 'test'], ['path', 'value']), operation(['remove'], ['path']), operation(['move', 'copy'], ['from', 'path'])] }
}

export function jsonPatchExample (name: string, value: unknown): unknown {
  return [{ op: 'add', path: pointer([name]), value }]
}
