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
  readonly links: () => readonly LinkValue[]
}

interface RenderedDocument {
  readonly content: string
  readonly hash: string
  readonly links: string
}

function renderDocument (document: Document): RenderedDocument {
  const content = document.write()
  return {
    content,
    hash: createHash('sha256').update(content).digest('base64url'),
    links: formatLink(document.links())
  }
}

/** Creates the path of a document, with content negotiation and conditional requests. */
export function createDocumentPath (document: Document, problems: string | undefined): ServicePath {
  const { path, mediaTypes } = document
  let rendered: RenderedDocument | undefined
  return {
    path,
    handle (request, reply) {
      const type = negotiate(request.headers.accept, mediaTypes)
      if (type === undefined) {
        return sendProblem(problem('not-acceptable', { properties: { available: mediaTypes } }), problems, reply)
      }
      rendered ??= renderDocument(document)
      const { content, hash, links } = rendered
      const etag = buildEntityTag(hash, String(mediaTypes.indexOf(type)))
      const fields = { etag, 'cache-control': 'no-cache', ...links !== '' && { link: links } }
      const current = { tag: etag, modified: undefined }
      const outcome = evaluatePreconditions({ safe: true, fields: request.headers, current })
      if (outcome === 'failed') return sendProblem(problem('precondition-failed'), problems, reply)
      if (outcome === 'not modified') return send({ status: 304, fields, content: undefined }, reply)
      return send({ status: 200, fields: { ...fields, 'content-type': type }, content }, reply)
    }
  }
}
