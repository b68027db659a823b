import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Caller } from '../../engine/access/caller.ts'
import type { Scope } from '../../engine/access/scope.ts'
import type { Presentation } from './presentation.ts'
import type { View } from '../../engine/view.ts'
import type { Format } from '../../formats/format.ts'
import type { Preferences } from '../../http/prefer.ts'
import type { Context, Filter, Id } from '../../storage/contract.ts'

/** Parsed content, which may be any value. The object distinguishes it from a problem. */
export interface ParsedContent {
  readonly value: unknown
}

/** An HTTP request, as the door sees it. */
export interface Request {
  /** The path of the collection or the item, as the client sent it. */
  readonly path: string
  /** What follows the path in the URI, such as the name of a custom action; undefined for the six others. */
  readonly customAction: string | undefined
  /** The query string, as the client sent it, without the question mark. */
  readonly search: string
  /** The path segment of the item; empty for the collection. */
  readonly segment: string
  /** Properties whose values the URI sets, such as the id of the parent of a nested collection. */
  readonly fixed: Readonly<Record<string, Id>> | undefined
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: IncomingHttpHeaders
  /** That of the content, in lower case and without parameters. */
  readonly mediaType: string | undefined
  readonly content: Buffer | undefined
  /** The format of the response. */
  readonly format: Format
  /** What the caller sees. */
  readonly view: View
  readonly presentation: Presentation
  /** Whether a write needs a precondition. */
  readonly requiresMatch: boolean
  readonly preferences: Preferences
  /** Whether a PUT may create the item. */
  readonly canCreate: boolean
  readonly context: RequestContext
  /** What `access.authenticate` returned. */
  readonly caller: Caller | undefined
  /** The rows of the caller, and the values that are set on new ones. The context already has the filter. */
  readonly scope: Scope | undefined
  /** The rows of the parent collection that the caller can read. */
  readonly parentScope: Filter | undefined
  readonly log: FastifyBaseLogger
  readonly original: FastifyRequest
}

/** Returns the whole path of the URI, with the name of a custom action. */
export function getTargetPath ({ customAction }: Pick<Request, 'customAction'>, path: string): string {
  return customAction === undefined ? path : `${path}/${customAction}`
}

/** Returns the path of the collection from a request for an item. */
export function getCollectionPath ({ path }: Pick<Request, 'path'>): string {
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

/** The signal of work that no client can abort. */
export const neverAborted: AbortSignal = new AbortController().signal

/** The context of an HTTP request. The signal needs a listener, so it is created when a storage reads it. */
export class RequestContext implements Context {
  readonly scope: Filter | undefined
  readonly #response: ServerResponse
  #controller: AbortController | undefined
  #ended = false

  /** Takes the response because it closes when the client disconnects. A request closes once its content is read. */
  constructor (response: ServerResponse, scope: Filter | undefined) {
    this.#response = response
    this.scope = scope
  }

  get signal (): AbortSignal {
    return this.#control().signal
  }

  abort (reason: Error): void {
    this.#control().abort(reason)
  }

  /** After this, a closed connection does not abort: each abort creates an error that keeps its request in memory. */
  end (): void {
    this.#ended = true
  }

  #control (): AbortController {
    if (this.#controller === undefined) {
      const controller = new AbortController()
      this.#controller = controller
      if (this.#response.destroyed) controller.abort()
      // It also closes if Fastify has responded, such as after its handlerTimeout.
      else this.#response.once('close', () => { if (!this.#ended) controller.abort() })
    }
    return this.#controller
  }
}
