import { createHash } from 'node:crypto'
import { negotiate } from '../http/accept.ts'
import { entityTag } from '../http/entity-tag.ts'
import { link } from '../http/link.ts'
import type { LinkValue } from '../http/link.ts'
import { evaluate } from '../http/preconditions.ts'
import { problem } from '../http/problems.ts'
import type { Path } from './path.ts'
import { refuse, send } from './reply.ts'

/** What is the same for everybody until the app starts anew. */
export interface Document {
  readonly path: string
  /** The favourite first; the content is the same in each. */
  readonly mediaTypes: readonly string[]
  /** Asked for once, when the app is ready. */
  readonly write: () => string
  readonly links: () => readonly LinkValue[]
}

interface Written {
  readonly content: string
  readonly hash: string
  readonly links: string
}

function once (document: Document): Written {
  const content = document.write()
  return { content, hash: createHash('sha256').update(content).digest('base64url'), links: link(document.links()) }
}

export function documentAt (document: Document, problems: string | undefined): Path {
  const { path, mediaTypes } = document
  let written: Written | undefined
  return {
    path,
    answer (request, reply) {
      const type = negotiate(request.headers.accept, mediaTypes)
      if (type === undefined) return refuse(problem('not-acceptable', { members: { available: mediaTypes } }), problems, reply)
      written ??= once(document)
      const etag = entityTag(written.hash, String(mediaTypes.indexOf(type)))
      const fields = { etag, 'cache-control': 'no-cache', ...written.links !== '' && { link: written.links } }
      const outcome = evaluate({ safe: true, fields: request.headers, current: { tag: etag, modified: undefined } })
      if (outcome === 'failed') return refuse(problem('precondition-failed'), problems, reply)
      if (outcome === 'not modified') return send({ status: 304, fields, content: undefined }, reply)
      return send({ status: 200, fields: { ...fields, 'content-type': type }, content: written.content }, reply)
    }
  }
}
