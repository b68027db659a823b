import { textPattern } from '../formats/format.ts'
import { getStatusPhrase, problems } from '../http/problems.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { describeHeaders, maxHeaderSize } from './headers.ts'
import type { ResponseHeader } from './headers.ts'
import type { DescribedComponents, Reference } from '../engine/operation-object.ts'
import { toPascalCase } from './names.ts'

// The content of problem responses: RFC 9457.

const text: JsonSchema = { type: 'string', maxLength: maxHeaderSize, pattern: textPattern }
const uri: JsonSchema = { type: 'string', format: 'uri-reference', maxLength: maxHeaderSize }
const pointer: JsonSchema = { type: 'string', format: 'json-pointer', maxLength: maxHeaderSize }

/** Those that only a batch has. */
const batchProblems: readonly string[] = ['batch-failed']

function getCodes (): string[] {
  return Object.keys(problems).filter((name) => !batchProblems.includes(name))
}

const problemProperties: Readonly<Record<string, JsonSchema>> = {
  type: { ...uri, description: 'The type of the problem' },
  title: { ...text, description: 'A summary of the type' },
  status: { type: 'integer', format: 'int32', minimum: 400, maximum: 599 },
  detail: { ...text, description: 'What is wrong with this request, and what to do' },
  instance: { ...uri, description: 'The path of the request' },
  code: { type: 'string', enum: getCodes(), description: 'The name of the problem' },
  errors: {
    type: 'array',
    // The size of the content limits the number of errors.
    maxItems: 100_000,
    description: 'The validation errors, by property',
    items: { type: 'object', required: ['pointer', 'message'], properties: { pointer, message: text } }
  },
  parameter: { ...text, description: 'The name of the invalid query parameter' },
  available: { type: 'array', maxItems: 100, items: { ...text }, description: 'The available media types' },
  operation: {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: 2_147_483_647,
    description: 'The index of the operation in a JSON Patch'
  },
  pointer: { ...pointer, description: 'The location that the operation refers to' }
}

const required = ['type', 'title', 'status', 'detail']

export function buildProblemSchema (): JsonSchema {
  return { type: 'object', description: 'A problem (RFC 9457)', required, properties: problemProperties }
}

/** Headers that only some statuses have. */
const headersByStatus: Readonly<Record<number, readonly ResponseHeader[]>> = {
  401: ['WWW-Authenticate'],
  415: ['Accept', 'Accept-Patch', 'Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After']
}

function getHeaders ({ supportsQuery }: DescribedComponents, status: number): ResponseHeader[] {
  const headers: ResponseHeader[] = ['Link', 'Cache-Control', 'Vary', ...headersByStatus[status] ?? []]
  return supportsQuery && (status === 400 || status === 415) ? [...headers, 'Accept-Query'] : headers
}

/** Describes the content of problems. */
export function describeProblem (components: DescribedComponents): Reference {
  return components.reference('schemas', 'Problem', buildProblemSchema)
}

/** Describes the response of a status, with all its problems. */
export function describeProblemResponse (components: DescribedComponents, status: number): Reference {
  const name = toPascalCase(getStatusPhrase(status))
  return components.reference('responses', name, () => {
    const rows = Object.entries(problems).filter(([name, row]) => {
      return row.status === status && !batchProblems.includes(name)
    })
    const schema = describeProblem(components)
    const [name, row] = rows[0] ?? []
    const example = { type: 'about:blank', title: getStatusPhrase(status), status, detail: row?.detail, code: name }
    return {
      description: rows.map(([name, { title }]) => `${title} (${name})`).join('. '),
      headers: describeHeaders(components, getHeaders(components, status)),
      content: { 'application/problem+json': { schema, example } }
    }
  })
}
