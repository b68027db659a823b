import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Access, Place } from '../../engine/access/access.ts'
import type { ActionInfo, Taken } from '../../engine/action-info.ts'
import type { Collection } from '../../engine/collection.ts'
import type { AbortableContext, Input, Keyed, Operation, ParsedContent } from '../../engine/operation.ts'
import { getGrammar } from '../../engine/grammar.ts'
import { readKey } from '../../engine/idempotency-key.ts'
import { applyMerge, applyOperations } from '../../engine/patch.ts'
import { digest } from '../../engine/receipts.ts'
import type { Format } from '../../formats/format.ts'
import { parseIJson } from '../../formats/i-json.ts'
import type { Preferences } from '../../http/prefer.ts'
import { Problem } from '../../http/problems.ts'
import type { ListQuery } from '../../query/list-query.ts'
import { emptyTree, parseQuery } from '../../query/parse.ts'
import type { QueryTree } from '../../query/tree.ts'
import { parseContent, readContent, readInput } from './content.ts'
import type { Presentation } from './presentation.ts'

/** What the door has found out about a request; the rest is in the request of Fastify. */
type RequestParts = Pick<
  HttpRequest,
  | 'collection' | 'action' | 'place' | 'mediaType' | 'format' | 'access' | 'presentation' | 'requiresMatch'
  | 'preferences' | 'context' | 'original'
>

/** An HTTP request of an action: what its operation and its response need of it. */
export class HttpRequest implements Input {
  readonly collection: Collection
  readonly action: ActionInfo
  /** The path of the collection or the item, as the client sent it. */
  readonly path: string
  /** The query string, as the client sent it, without the question mark. */
  readonly search: string
  /** The path segment of the item; empty for the collection. */
  readonly segment: string
  /** What the URI of a nested collection says about its items. */
  readonly place: Place | undefined
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: IncomingHttpHeaders
  /** That of the content, in lower case and without parameters. */
  readonly mediaType: string | undefined
  readonly content: Buffer | undefined
  /** The format of the response. */
  readonly format: Format
  /** What the caller may do and see. */
  readonly access: Access
  readonly presentation: Presentation
  /** Whether a write needs a precondition. */
  readonly requiresMatch: boolean
  readonly preferences: Preferences
  readonly context: AbortableContext
  readonly original: FastifyRequest

  constructor (parts: RequestParts) {
    const { action, original } = parts
    const { url } = original
    const { id, '*': rest } = original.params as { id?: string, '*'?: string }
    const queryStart = url.indexOf('?')
    const path = normalizePath(url)
    this.collection = parts.collection
    this.action = action
    // The client may have encoded characters of the name.
    this.path = action.path === undefined ? path : path.slice(0, path.lastIndexOf('/'))
    this.search = queryStart < 0 ? '' : url.slice(queryStart + 1)
    // The wildcard comes first: a prefix may have a parameter `id` as well.
    this.segment = rest ?? id ?? ''
    this.place = parts.place
    this.query = original.query as Readonly<Record<string, unknown>>
    this.headers = original.headers
    this.mediaType = parts.mediaType
    this.content = original.body as Buffer | undefined
    this.format = parts.format
    this.access = parts.access
    this.presentation = parts.presentation
    this.requiresMatch = parts.requiresMatch
    this.preferences = parts.preferences
    this.context = parts.context
    this.original = original
  }

  /** The key belongs to the collection. What is requested is the method, the target, and the bytes of the content. */
  getKeyed (): Keyed | Problem | undefined {
    const { headers, segment, path, search, content, original: { method } } = this
    const key = readKey(headers, { required: false })
    if (typeof key !== 'string') return key
    const target = getTargetPath(this, path) + (search === '' ? '' : `?${search}`)
    return {
      key,
      headers,
      place: segment === '' ? path : getCollectionPath(this),
      fingerprint: digest([method, target, content ?? ''])
    }
  }

  /** The entity tag for a caller who does not see all properties is computed from those that it sees. */
  get defaults (): ListQuery | undefined {
    const needsWholeItems = this.format.hasTags === true && this.access.view.type.hidden !== undefined
    return needsWholeItems ? { needsWholeItems } : undefined
  }

  parseQuery (): QueryTree | Problem {
    const { takes, query } = this.action
    if (this.search === '' && takes !== 'query') return emptyTree
    return parseQuery(getGrammar(this.collection), this, {
      content: takes === 'query' ? this.parseContent() : undefined,
      ...query === 'groups' && { hint: '' }
    })
  }

  parseContent (): ParsedContent | Problem {
    return parsers[this.action.takes!](this)
  }

  applyPatch (item: object): ParsedContent | Problem {
    const patch = parsePatch(this)
    if (patch instanceof Problem) return patch
    // RFC 5789. Most clients send plain JSON, which is read as a merge patch.
    const apply = this.mediaType === 'application/json-patch+json' ? applyOperations : applyMerge
    return apply(this.access.view.type, item, patch.value)
  }
}

const parsers: Readonly<Record<Taken, (request: HttpRequest) => ParsedContent | Problem>> = {
  representation: readContent,
  patch: parsePatch,
  bulkPatch: parsePatch,
  query: (request) => parseContent(request, parseIJson, request.collection.schema),
  input: readInput,
  parameters: ({ action, query }) => ({ value: action.custom!.readQuery!(query) })
}

function parsePatch (request: HttpRequest): ParsedContent | Problem {
  return parseContent(request, parseIJson, request.access.view.type.schema)
}

/** Returns a request with changes. A copy by `{ ...request }` would lose its methods. */
export function changeRequest (request: HttpRequest, changes: Partial<HttpRequest>): HttpRequest {
  return Object.assign(Object.create(request) as HttpRequest, changes)
}

/** Returns the HTTP request of an operation, for features that are about HTTP; undefined if it comes from elsewhere. */
export function getHttpRequest ({ input }: Pick<Operation, 'input'>): HttpRequest | undefined {
  return input instanceof HttpRequest ? input : undefined
}

/** Returns the whole path of the URI, with the name of a custom action. */
export function getTargetPath ({ action }: Pick<HttpRequest, 'action'>, path: string): string {
  return action.path === undefined ? path : `${path}/${action.path}`
}

/** Returns the path of the collection from a request for an item. */
export function getCollectionPath ({ path }: Pick<HttpRequest, 'path'>): string {
  return path.slice(0, path.lastIndexOf('/'))
}

/** Returns the path without what routers ignore: an origin (RFC 9112, section 3.2.2), empty segments, a fragment. */
export function normalizePath (url: string): string {
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  if (isNormal(path)) return path
  return path
    .replace(/#.*/, '')
    .replace(/^[^/]*:\/\/[^/]*/, '')
    .replace(/\/{2,}/g, '/')
    .replace(/(.)\/$/, '$1')
}

function isNormal (path: string): boolean {
  return path.startsWith('/') && !path.endsWith('/') && !path.includes('//') && !path.includes('#')
}
