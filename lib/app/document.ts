import { createHash } from 'node:crypto'
import { negotiate } from '../http/accept.ts'
import { buildEntityTag } from '../http/entity-tag.ts'
import { formatLink } from '../http/link.ts'
import type { LinkValue } from '../http/link.ts'
import { evaluatePreconditions } from '../http/preconditions.ts'
import { problem } from '../http/problems.ts'
import type { ServicePath } from './path.ts'
import { send, sendProblem } from './reply.ts'

/** Content that is the same for all clients and does not change while the app runs. */
export interface Document {
  readonly path: string
  /** In order of preference. All have the same content. */
  readonly mediaTypes: readonly string[]
  /** Called once, for the first request. */
  readonly write: () => string
  /** The same for people, with a media type of its own. Called for each request, until there is one. */
  readonly findPage?: () => DocumentPage | undefined
  readonly links: () => readonly LinkValue[]
}

interface DocumentPage {
  readonly mediaType: string
  readonly write: () => string
  /** Further headers. */
  readonly headers: Readonly<Record<string, string>>
}

interface RenderedDocument {
  readonly content: string
  readonly hash: string
}

function render (write: () => string): RenderedDocument {
  const content = write()
  return { content, hash: createHash('sha256').update(content).digest('base64url') }
}

/** Creates the path of a document, with content negotiation and conditional requests. */
export function createDocumentPath (document: Document, problems: string | undefined): ServicePath {
  const { path } = document
  let rendered: RenderedDocument | undefined
  let renderedPage: RenderedDocument | undefined
  let links: string | undefined
  let page: DocumentPage | undefined
  return {
    path,
    handle (request, reply) {
      page ??= document.findPage?.()
      const mediaTypes = page === undefined ? document.mediaTypes : [...document.mediaTypes, page.mediaType]
      const type = negotiate(request.headers.accept, mediaTypes)
      if (type === undefined) {
        return sendProblem(problem('not-acceptable', { properties: { available: mediaTypes } }), problems, reply)
      }
      links ??= formatLink(document.links())
      const isPage = page !== undefined && type === page.mediaType
      const { content, hash } = isPage ? renderedPage ??= render(page!.write) : rendered ??= render(document.write)
      const etag = buildEntityTag(hash, String(mediaTypes.indexOf(type)))
      const headers = {
        ...isPage && page?.headers,
        etag,
        'cache-control': 'no-cache',
        ...links !== '' && { link: links }
      }
      const current = { tag: etag, modified: undefined }
      const outcome = evaluatePreconditions({ safe: true, fields: request.headers, current })
      if (outcome === 'failed') return sendProblem(problem('precondition-failed'), problems, reply)
      if (outcome === 'not modified') return send({ status: 304, headers, content: undefined }, reply)
      return send({ status: 200, headers: { ...headers, 'content-type': type }, content }, reply)
    }
  }
}
