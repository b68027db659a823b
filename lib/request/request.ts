import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../access/caller.ts'
import type { Answer } from '../response/answer.ts'
import type { Format } from '../formats/format.ts'
import type { Preferences } from '../http/prefer.ts'
import type { Problem } from '../http/problems.ts'
import type { Context, Filter, Id, Storage } from '../storage/contract.ts'

/** Whatever content says. The object tells it from a problem. */
export interface ParsedContent {
  readonly value: unknown
}

/** What an action is asked. */
export interface Request {
  /** The path of the target, as it was sent. */
  readonly path: string
  /** The query of the target, as it was sent, without the question mark. */
  readonly search: string
  /** The path segment that names the item; empty at the collection. */
  readonly segment: string
  /** Properties whose value the URI fixes, such as the one that names the parent of a nested collection. */
  readonly fixed: Readonly<Record<string, Id>> | undefined
  readonly query: Readonly<Record<string, unknown>>
  readonly fields: IncomingHttpHeaders
  readonly content: Buffer | undefined
  /** The format in which the client wants to be answered. */
  readonly format: Format
  readonly preferences: Preferences
  readonly context: RequestContext
  /** Set if a feature has parsed the content before the action. */
  readonly parsed?: ParsedContent | Problem
  /** Set by features: called once in the transaction of the write, with the response. A problem rolls the transaction back. */
  readonly beforeCommit?: (storage: Storage<object>, answer: Answer) => Promise<Problem | undefined>
  /** If a POST has a precondition: 412 if the list has changed since, in the transaction of the write. */
  readonly checkAgain?: (storage: Storage<object>) => Promise<Problem | undefined>
  /** Who is calling, where the definition knows callers. */
  readonly caller: Caller | undefined
  /** The rows of this caller, which are in the scope of the context already, and what a new one has to carry. */
  readonly scope: { readonly filter: Filter, readonly values: Readonly<Record<string, unknown>> } | undefined
  /** For the hooks of the definition, and for the log. */
  readonly original: FastifyRequest
}

/** The path of the collection, at an item. */
export function parentPath ({ path }: Request): string {
  // By hand: every request for an item asks.
  let end = path.length - 1
  while (end > 0 && path.charCodeAt(end) !== slash) end--
  return path.slice(0, end)
}

/** The path of a target, without what a router may forgive: a whole URI (RFC 9112 section 3.2.2), empty segments, a fragment. */
export function pathOf (url: string): string {
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  return isPlain(path) ? path : path.replace(/#.*/, '').replace(/^[^/]*:\/\/[^/]*/, '').replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')
}

const slash = 0x2f
const hash = 0x23

/** Whether there is nothing to forgive. By hand: every request asks. */
function isPlain (path: string): boolean {
  let before = 0
  for (let at = 0; at < path.length; at++) {
    const code = path.charCodeAt(at)
    if (code === hash || (code === slash ? before === slash : at === 0)) return false
    before = code
  }
  return before !== slash
}

/** What a storage gets from the request. The signal costs a listener, so it is created only for a storage that reads it. */
export class RequestContext implements Context {
  readonly scope: Filter | undefined
  readonly #response: ServerResponse
  #controller: AbortController | undefined
  #ended = false

  /** The response tells when the client has gone; a request is closed as soon as its content is read. */
  constructor (response: ServerResponse, scope: Filter | undefined) {
    this.#response = response
    this.scope = scope
  }

  get signal (): AbortSignal {
    return this.#control().signal
  }

  /** Nobody waits for the request any longer. */
  abort (reason: Error): void {
    this.#control().abort(reason)
  }

  /** The storage has done its part. What becomes of the answer is no reason to abort: the error of each would hold on to its request, and slow the collector down. */
  end (): void {
    this.#ended = true
  }

  #control (): AbortController {
    if (this.#controller === undefined) {
      const controller = this.#controller = new AbortController()
      if (this.#response.destroyed) controller.abort()
      // Also where another has answered, such as Fastify after its handlerTimeout.
      else this.#response.once('close', () => { if (!this.#ended) controller.abort() })
    }
    return this.#controller
  }
}
