import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { aboutOf } from './about.ts'
import type { Action } from '../action.ts'
import { notModified, withoutContent } from '../response/response.ts'
import { isNotModified } from '../items/preconditions.ts'
import type { Collection } from '../collection.ts'
import type { Content, Format } from '../formats/format.ts'
import { addCoding } from '../http/entity-tag.ts'
import { Problem } from '../http/problems.ts'
import type { Request } from '../request/request.ts'
import { logRenderFailure } from '../response/write-response.ts'

// For formats that show a person more than the content of an answer. They show what the action would have sent, and what can be asked and done.

interface Row {
  readonly action: Action
  readonly at: 'collection' | 'item'
  /** Whether nothing is changed by it. */
  readonly safe: boolean
}

/** The action, which answers with a page where such a format is asked for; in a collection without one, itself. */
export function paged (collection: Collection, { action, at, safe }: Row): Action {
  if (collection.formats.every(({ page }) => page === undefined)) return action
  return async (collection, request) => {
    const { format: { page, fields: further, join, ...format } } = request
    const plain = safe ? page === undefined ? request : unconditional(request) : held(request)
    if (page === undefined) return action(collection, plain)
    const kept = keeper(format)
    const answer = await action(collection, { ...plain, format: kept.format })
    if (answer instanceof Problem) return answer
    const { etag, 'last-modified': modified, ...fields } = answer.fields
    const content = kept.content()
    if (content === undefined) return { ...answer, fields: etag === undefined ? fields : { ...fields, etag } }
    let text: string
    try {
      text = page(content, await aboutOf(collection, plain, { at, tag: etag, total: fields['x-total-count'] }))
    } catch (thrown) {
      if (safe) throw thrown
      logRenderFailure(request, thrown)
      return withoutContent({ ...answer, fields: etag === undefined ? fields : { ...fields, etag } })
    }
    const tag = addCoding(etag ?? '""', hash('sha256', text).slice(0, digits))
    const shown = { ...fields, ...further, ...etag !== undefined && { etag: tag } }
    // What the page says of the caller and of the collection changes without the item, so that no date can speak for it.
    const isKnown = safe && isNotModified(collection, request, { tag, modified: undefined })
    if (isKnown instanceof Problem) return isKnown
    return isKnown ? notModified(withoutType(shown), answer.applied) : { ...answer, fields: shown, content: text }
  }
}

function withoutType ({ 'content-type': type, ...fields }: Record<string, string>): Record<string, string> {
  return fields
}

/** A format that writes nothing, but keeps what it was to write. */
function keeper (format: Format): { format: Format, content: () => Content | undefined } {
  let content: Content | undefined
  const keep = (given: Content): string => {
    content = given
    return ''
  }
  return {
    format: { ...format, item: (item, links) => keep({ item, links }), list: (items, links) => keep({ items, links }) },
    content: () => content
  }
}

const digits = 16

// RFC 9110 section 8.8.3.3: at the end of a tag, what tells the pages of one version apart.
const ofPage = new RegExp(`-[0-9a-f]{${digits}}(?=(?:-[a-z]+)?")`, 'g')

/** A write is held to the state of the item, whoever the page was for. */
function held (request: Request): Request {
  const { 'if-match': match, 'if-none-match': none } = request.fields
  return match === undefined && none === undefined ? request : { ...request, fields: { ...request.fields, ...match !== undefined && { 'if-match': match.replace(ofPage, '') }, ...none !== undefined && { 'if-none-match': none.replace(ofPage, '') } } }
}

const conditions: IncomingHttpHeaders = { 'if-match': undefined, 'if-none-match': undefined, 'if-modified-since': undefined, 'if-unmodified-since': undefined }

/** Preconditions are asked of the page, once it is made. What a form sends of an empty field asks nothing. */
function unconditional (request: Request): Request {
  const search = request.search.split('&').filter(parameter => !/^[^=]*=?$/.test(parameter)).join('&')
  const query = Object.fromEntries(Object.entries(request.query).filter(([, value]) => value !== ''))
  return { ...request, search, query, fields: { ...request.fields, ...conditions } }
}
