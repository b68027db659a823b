import { phraseOf, problems } from '../http/problems.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { headersOf, longestField } from './fields.ts'
import type { AnsweredField } from './fields.ts'
import type { Components, Reference } from './components.ts'
import { pascal } from './names.ts'

// RFC 9457: the content of every refusal.

const text: JsonSchema = { type: 'string', maxLength: longestField, pattern: '^[^\\u0000]*$' }
const uri: JsonSchema = { type: 'string', format: 'uri-reference', maxLength: longestField }
const pointer: JsonSchema = { type: 'string', format: 'json-pointer', maxLength: longestField }

const members: Readonly<Record<string, JsonSchema>> = {
  type: { ...uri, description: 'What kind of problem it is' },
  title: { ...text, description: 'The same, in words' },
  status: { type: 'integer', format: 'int32', minimum: 400, maximum: 599 },
  detail: { ...text, description: 'What happened this time, and what to do about it' },
  instance: { ...uri, description: 'The path of the request' },
  code: { type: 'string', enum: Object.keys(problems), description: 'The name of the problem' },
  errors: {
    type: 'array',
    // Each tells of a part of content that is bounded itself.
    maxItems: 100_000,
    description: 'What does not fit, property by property',
    items: { type: 'object', required: ['pointer', 'message'], properties: { pointer, message: text } }
  },
  parameter: { ...text, description: 'The query parameter that is meant' },
  available: { type: 'array', maxItems: 100, items: { ...text }, description: 'The media types that can be given' },
  operation: { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647, description: 'The number of the operation of a JSON Patch' },
  pointer: { ...pointer, description: 'The place that the operation speaks of' }
}

const required = ['type', 'title', 'status']

/** Admin interfaces read one text, and errors by the names of their fields. */
const byField: JsonSchema = { type: 'object', maxProperties: 100_000, description: 'What does not fit, by the name of the field' }

function schemaOf (profiled: boolean): JsonSchema {
  const properties = profiled
    ? { ...members, errors: { anyOf: [members.errors, byField] }, message: { ...text, description: 'For clients that show one text' } }
    : members
  return { type: 'object', description: 'A problem (RFC 9457)', required, properties }
}

/** Further fields of the answer, by status. */
const fields: Readonly<Record<number, readonly AnsweredField[]>> = {
  401: ['WWW-Authenticate'],
  415: ['Accept', 'Accept-Patch', 'Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After']
}

/** The answer of a status, with all that it can mean. `profiled` where a profile words it. */
export function problemResponse (components: Components, status: number, profiled: boolean): Reference {
  const suffix = profiled ? 'ForProfiles' : ''
  return components.reference('responses', pascal(phraseOf(status)) + suffix, () => {
    const rows = Object.entries(problems).filter(([, row]) => row.status === status)
    const example = { type: 'about:blank', title: phraseOf(status), status, code: rows[0]?.[0] }
    return {
      description: rows.map(([name, { title }]) => `${title} (${name})`).join('. '),
      headers: headersOf(components, ['Cache-Control', 'Vary', ...fields[status] ?? []]),
      content: { 'application/problem+json': { schema: components.reference('schemas', `Problem${suffix}`, () => schemaOf(profiled)), example } }
    }
  })
}
