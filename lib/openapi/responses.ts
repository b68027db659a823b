import type { Collection } from '../engine/collection.ts'
import type { ActionInfo, CustomAction } from '../engine/action-info.ts'
import type { Content, ResponseObject } from '../engine/operation-object.ts'
import type { Rule } from '../engine/access/rules.ts'
import type { Components } from './components.ts'
import type { Contents } from './contents.ts'
import { describeHeaders } from './headers.ts'
import type { ResponseHeader } from './headers.ts'
import { describeProblemResponse } from './problem.ts'
import { getOperationName } from './summary.ts'
import type { OperationName } from './summary.ts'

/** An operation, and what the description needs to know about the app. */
export interface OperationContext {
  readonly collection: Collection
  readonly operation: ActionInfo
  /** Whether the document has security requirements. */
  readonly secured: boolean
  /** Whether the app has a rate limit. */
  readonly limited: boolean
}

function takesContent ({ operation }: OperationContext): boolean {
  return operation.takesContent
}

/** A query string has a maximum length, which valid values can exceed, such as those of a long list. */
function takesQueryString ({ operation: { takes, query } }: OperationContext): boolean {
  return takes === 'parameters' || (query !== undefined && takes !== 'query')
}

/** Returns the access rules of the operation, and of reading the item that the collection is nested in. */
function getRules ({ collection: { access, attached: { parent } }, operation }: OperationContext): Rule[] {
  const rules = [...operation.rules.map((name) => access?.allow[name]), parent?.collection.access?.allow.read]
  return rules.filter((rule) => rule !== undefined)
}

function needsCredentials (context: OperationContext): boolean {
  return context.secured || getRules(context).some((rule) => rule !== 'public')
}

function canBeNotFound (context: OperationContext): boolean {
  return context.operation.at === 'item' ||
    context.collection.attached.parent !== undefined ||
    // A predicate can hide that the collection exists.
    getRules(context).some((rule) => typeof rule === 'function')
}

/** Whether requests need If-Match. */
export function requiresMatch ({ collection: { http: { etag } }, operation }: OperationContext): boolean {
  return operation.requiresMatch(etag.required)
}

/** Whether a request can have preconditions. A POST to a list has no use for them. */
function takesPreconditions ({ operation: { at, reads } }: OperationContext): boolean {
  return at === 'item' || reads
}

interface ProblemCase {
  readonly status: number
  readonly applies: (context: OperationContext) => boolean
}

const problemCases: readonly ProblemCase[] = [
  { status: 400, applies: () => true },
  { status: 401, applies: needsCredentials },
  { status: 403, applies: (context) => needsCredentials(context) || context.operation.custom?.safe === false },
  { status: 404, applies: canBeNotFound },
  { status: 406, applies: ({ operation }) => operation.returnsContent },
  { status: 409, applies: ({ operation: { safe, custom } }) => !safe || custom !== undefined },
  { status: 412, applies: takesPreconditions },
  { status: 413, applies: takesContent },
  { status: 414, applies: takesQueryString },
  { status: 415, applies: takesContent },
  { status: 422, applies: ({ operation }) => operation.takes !== undefined },
  {
    status: 428,
    applies: requiresMatch
  },
  { status: 429, applies: ({ limited }) => limited },
  { status: 500, applies: () => true },
  { status: 503, applies: () => true }
]

interface SuccessCase {
  readonly status: number | '2XX'
  readonly description: string
  readonly headers: readonly ResponseHeader[]
  readonly content?: (contents: Contents) => Content
  readonly applies?: (collection: Collection) => boolean
}

const getItemContent = (contents: Contents): Content => contents.item()
const listHeaders = ['ETag', 'Link', 'X-Total-Count'] as const
const itemHeaders = ['ETag', 'Last-Modified', 'Link'] as const
const notModified = 'The client has the current representation'
const selection = 'If the request names fields, the others are left out, even if the schema requires them'
const minimal = 'The write succeeded. The response has no content because the client prefers that'

const created: SuccessCase = {
  status: 201,
  description: 'The created item',
  headers: ['Location', 'Content-Location', ...itemHeaders],
  content: getItemContent
}

const matched: readonly SuccessCase[] = [
  { status: 200, description: 'How many items matched', headers: [], content: (contents) => contents.matched() },
  { status: 204, description: minimal, headers: [] }
]

const successCases: Readonly<Record<OperationName, readonly SuccessCase[]>> = {
  list: [
    { status: 200, description: 'A page of items', headers: listHeaders, content: (contents) => contents.list() },
    { status: 304, description: notModified, headers: listHeaders }
  ],
  query: [
    {
      status: 200,
      description: 'A page of items. Content-Location has the equivalent GET, if there is one',
      headers: ['Content-Location', ...listHeaders],
      content: (contents) => contents.list()
    },
    { status: 304, description: notModified, headers: ['Content-Location', ...listHeaders] }
  ],
  aggregate: [
    {
      status: 200,
      description: 'The groups and their figures',
      headers: ['ETag'],
      content: (contents) => contents.groups()
    },
    { status: 304, description: notModified, headers: ['ETag'] }
  ],
  read: [
    { status: 200, description: 'The item', headers: itemHeaders, content: getItemContent },
    { status: 304, description: notModified, headers: itemHeaders }
  ],
  create: [created],
  replace: [
    {
      status: 200,
      description: 'The replaced item',
      headers: ['Content-Location', ...itemHeaders],
      content: getItemContent
    },
    { ...created, applies: ({ put }) => put.create },
    { status: 204, description: minimal, headers: itemHeaders }
  ],
  update: [
    {
      status: 200,
      description: 'The updated item',
      headers: ['Content-Location', ...itemHeaders],
      content: getItemContent
    },
    { status: 204, description: minimal, headers: itemHeaders }
  ],
  remove: [
    { status: 204, description: 'The item was deleted', headers: ['Link'] },
    {
      // A range, because JSON has 200 before 204, and tools show the first status as the usual one.
      status: '2XX',
      description: 'The deleted item (200), if the client prefers that',
      headers: ['Link'],
      content: getItemContent
    }
  ],
  updateMany: matched,
  removeMany: matched
}

/** The responses to GET. */
function getQueryCases ({ name, at, output }: CustomAction): readonly SuccessCase[] {
  if (output === undefined && at === 'collection') {
    return [{ status: 204, description: 'The action succeeded', headers: [] }]
  }
  const content = output === undefined ? getItemContent : (contents: Contents) => contents.output(name, output)
  const headers = output === undefined ? itemHeaders : ['ETag'] as const
  return [
    { status: 200, description: output === undefined ? 'The item' : 'The result of the action', headers, content },
    { status: 304, description: notModified, headers }
  ]
}

function getCustomCases ({ name, at, output }: CustomAction): readonly SuccessCase[] {
  if (output !== undefined) {
    const content = (contents: Contents): Content => contents.output(name, output)
    return [{ status: 200, description: 'The result of the action', headers: [], content }]
  }
  const done: SuccessCase = { status: 204, description: 'The action succeeded', headers: [] }
  if (at === 'collection') return [done]
  return [
    {
      status: 200,
      description: 'The item after the action',
      headers: ['Content-Location', ...itemHeaders],
      content: getItemContent
    },
    { status: 204, description: minimal, headers: itemHeaders }
  ]
}

const commonHeaders: readonly ResponseHeader[] = ['Cache-Control', 'Vary', 'Preference-Applied']

function getHeaders (
  { collection, operation }: OperationContext,
  headers: readonly ResponseHeader[]
): ResponseHeader[] {
  const canCount = collection.lists.parameters.has('count')
  const names = [...headers, ...commonHeaders].filter((name) => name !== 'X-Total-Count' || canCount)
  if (collection.http.groups === undefined) return names
  return [...names, operation.reads ? 'Cache-Groups' : 'Cache-Group-Invalidation']
}

/** Describes all responses of an operation, by status. */
export function buildResponses (
  components: Components,
  context: OperationContext,
  contents: Contents
): Record<string, ResponseObject> {
  const { collection, operation } = context
  const responses: Record<string, ResponseObject> = {}
  const { custom, takes, query, reads } = operation
  const cases = custom === undefined
    ? successCases[getOperationName(operation)]
    : (takes === 'parameters' ? getQueryCases : getCustomCases)(custom)
  for (const { status, description, headers, content, applies } of cases) {
    if (applies?.(collection) === false) continue
    const hasFields = reads && (query === 'list' || query === 'item') && collection.lists.parameters.has('fields')
    const isSelection = status === 200 && hasFields
    responses[status] = {
      description: isSelection ? `${description}. ${selection}` : description,
      headers: describeHeaders(components, getHeaders(context, headers)),
      ...content && { content: content(contents) }
    }
  }
  for (const { status, applies } of problemCases) {
    if (applies(context)) responses[status] = describeProblemResponse(components, status)
  }
  return responses
}
