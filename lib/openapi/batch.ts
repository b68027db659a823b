import type { FastifyInstance } from 'fastify'
import { textPattern } from '../formats/format.ts'
import { problems } from '../http/problems.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { getComponents } from './components.ts'
import type { Components, OpenApi } from './components.ts'
import type { Reference } from '../engine/operation-object.ts'
import { describeHeaderParameters, describeHeaders, maxHeaderSize } from './headers.ts'
import { buildProblemSchema, describeProblem, describeProblemResponse } from './problem.ts'
import { addTag, createTransformConfig } from './swagger-config.ts'
import type { SwaggerConfig } from './swagger-config.ts'

// Describes the operation of a batch. Loaded only if the app has @fastify/swagger.

/** What the description depends on. */
export interface DescribedBatch {
  readonly operationId: string
  readonly maximum: number
  /** Whether requests can have an Idempotency-Key, and whether they must. */
  readonly keys: 'none' | 'optional' | 'required'
  /** Whether the collections require credentials. */
  readonly isProtected: boolean
  /** The paths of the collections, such as `/orders`. */
  readonly paths: readonly string[]
}

/** Creates the config of a hidden route after that of the batch. It completes the operation in the document. */
export function createSwaggerConfig (app: FastifyInstance, describe: () => DescribedBatch): SwaggerConfig {
  return createTransformConfig((document) => completeOperation(app, document, describe()))
}

function completeOperation (app: FastifyInstance, document: OpenApi, described: DescribedBatch): void {
  const components = getComponents(document)
  const isSecured = described.isProtected || (document.security ?? []).length > 0
  for (const item of Object.values(document.paths)) {
    const operation = item.post as { operationId?: string, responses?: object } | undefined
    if (operation?.operationId !== described.operationId) continue
    const { responses, ...kept } = operation
    addTag(document, 'batch', 'Several operations in one transaction')
    item.post = {
      ...kept,
      ...components.convert(buildOperation(components, described, {
        isSecured,
        isLimited: app.hasDecorator('rateLimit')
      }))
    }
  }
}

interface AppInfo {
  readonly isSecured: boolean
  readonly isLimited: boolean
}

function buildOperation (components: Components, described: DescribedBatch, { isSecured, isLimited }: AppInfo): object {
  const { maximum, keys, paths } = described
  const keyHeaders = keys === 'none' ? [] : ['Idempotency-Key'] as const
  const statuses = [
    400, ...isSecured ? [401, 403] : [], 406, 413, 415, 422, ...isLimited ? [429] : [], 500, 503
  ]
  const example = [{ id: 'a', method: 'GET', path: paths[0] }]
  return {
    description: 'Runs all parts in one transaction: all are committed, or none. ' +
      `Parts can be about the collections at ${paths.join(', ')}.`,
    parameters: [
      {
        name: 'dryRun',
        in: 'query',
        description: 'Does everything and then rolls back',
        schema: { type: 'boolean', default: false }
      },
      ...describeHeaderParameters(components, keyHeaders, keys === 'required' ? keyHeaders : [])
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { ...describeParts(components), maxItems: maximum }, example } }
    },
    responses: {
      200: {
        description: 'What each part has led to, in their order',
        headers: describeHeaders(components, ['Cache-Control', 'Vary']),
        content: {
          'application/json': {
            schema: { type: 'array', maxItems: maximum, items: describeResult(components) },
            example: [{ id: 'a', status: 200, content: [] }]
          }
        }
      },
      409: describeRefusal(components),
      ...Object.fromEntries(statuses.map((status) => [status, describeProblemResponse(components, status)]))
    }
  }
}

const text: JsonSchema = { type: 'string', maxLength: maxHeaderSize, pattern: textPattern }
const id: JsonSchema = { type: 'string', maxLength: 64, pattern: '^[A-Za-z0-9_-]{1,64}$' }
const path: JsonSchema = { type: 'string', maxLength: 8192, pattern: '^/[\\x21-\\x7E]*$' }
const index: JsonSchema = { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647 }

function describeParts (components: Components): JsonSchema {
  const part = components.reference('schemas', 'BatchPart', () => ({
    type: 'object',
    description: 'An operation of a batch',
    required: ['method', 'path'],
    additionalProperties: false,
    properties: {
      id: { ...id, description: 'A name for references of later parts' },
      method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
      path: { ...path, description: 'The path of the request. {o#/id} is a value in the result of the part "o"' },
      content: { description: 'The content. In a PATCH, an object is a merge patch and an array a JSON Patch' },
      refs: {
        type: 'object',
        maxProperties: 1000,
        description: 'Values of the content that come from earlier parts: { "/orderId": "o#/id" }'
      },
      ifMatch: { ...text, description: 'The part is refused unless the item has one of these entity tags' },
      ifNoneMatch: { ...text, description: 'The part is refused if the item has one of these entity tags' }
    }
  }))
  return { type: 'array', minItems: 1, items: part }
}

function describeResult (components: Components): Reference {
  return components.reference('schemas', 'BatchResult', () => ({
    type: 'object',
    description: 'What a part of a batch has led to',
    required: ['status'],
    properties: {
      id: { ...id, description: 'That of the part' },
      status: { type: 'integer', format: 'int32', minimum: 200, maximum: 304 },
      etag: { ...text, description: 'The entity tag of the item' },
      location: { ...path, description: 'The path of the created item' },
      content: { description: 'The item, the items of a list, or the output of an action' },
      next: { ...path, description: 'The path of the next page of a list' },
      total: { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
    }
  }))
}

function describeRefusal (components: Components): Reference {
  return components.reference('responses', 'BatchFailed', () => {
    const problem = describeProblem(components)
    const { properties, ...known } = buildProblemSchema()
    const schema = components.reference('schemas', 'BatchProblem', () => ({
      ...known,
      description: 'The problem of a batch (RFC 9457). Nothing was written',
      properties: {
        ...properties,
        code: { type: 'string', enum: Object.keys(problems), description: 'The name of the problem' },
        part: {
          type: 'object',
          required: ['index'],
          description: 'The part that was refused',
          properties: { index, id }
        },
        problem
      }
    }))
    const detail = 'Part 0 was refused: No resource has this path, or it is not visible to the caller. ' +
      'Nothing was written.'
    const example = {
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      detail,
      code: 'batch-failed',
      part: { index: 0 },
      problem: {
        type: 'about:blank',
        title: 'Not Found',
        status: 404,
        detail: 'No resource has this path, or it is not visible to the caller.',
        code: 'not-found'
      }
    }
    return {
      description: 'A part of the batch was refused (batch-failed). ' +
        'A batch with this Idempotency-Key is still running (idempotency-key-in-use)',
      headers: describeHeaders(components, ['Cache-Control', 'Vary', 'Retry-After']),
      content: { 'application/problem+json': { schema, example } }
    }
  })
}
