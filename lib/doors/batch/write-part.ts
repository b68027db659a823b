import type { ItemRendering, ListRendering, Rendering } from '../../engine/rendering.ts'
import { isConditional } from '../../http/preconditions.ts'
import { Problem, problem } from '../../http/problems.ts'
import { buildItemPath } from '../http/links.ts'
import { buildPageLinks } from '../http/page-links.ts'
import { isNotModified } from '../http/preconditions.ts'
import { buildEtag, getRepresentationDate } from '../http/representation.ts'
import type { PreparedPart } from './prepare-part.ts'

/** What a part has led to, as the response has it. */
export interface PartResult {
  readonly id?: string | undefined
  readonly status: number
  readonly etag?: string
  /** The path of a created item. */
  readonly location?: string
  readonly content?: unknown
  /** The path of the next page of a list. */
  readonly next?: string
  /** How many items match in all, if the part has requested that. */
  readonly total?: number
}

/** Writes what a part has led to. */
export function writePart (part: PreparedPart, rendering: Rendering): PartResult | Problem {
  switch (rendering.kind) {
    case 'item': return writeItem(part, rendering)
    case 'list': return writeList(part, rendering)
    case 'output': return { status: rendering.status, content: rendering.output }
    case 'empty': return { status: rendering.status }
    case 'moved': return problem('not-found')
  }
}

function writeItem (part: PreparedPart, rendering: ItemRendering): PartResult | Problem {
  const { presentation, format, headers, target: { action } } = part
  const etag = buildEtag(presentation, rendering.version, format)
  if (action.reads && isConditional(headers)) {
    const modified = getRepresentationDate(presentation, rendering.modified)
    const isKnown = isNotModified({ headers }, { tag: etag, modified })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return { status: 304, etag }
  }
  return {
    status: rendering.status,
    etag,
    ...rendering.status === 201 && { location: buildItemPath(getCollectionPath(part), rendering.entry.id) },
    ...rendering.hasContent && { content: rendering.show() }
  }
}

/** The path of the collection: that of the part, without the id of an item. */
function getCollectionPath ({ target: { depth }, own: { address: { path } } }: PreparedPart): string {
  return path.split('/').slice(0, depth + 1).join('/')
}

function writeList ({ own: { address } }: PreparedPart, rendering: ListRendering): PartResult | Problem {
  const { found, status } = rendering
  if (!rendering.hasContent) return { status }
  const limited = rendering.showAll()
  if (limited instanceof Problem) return limited
  const { page, items } = limited
  const { next } = found === undefined ? {} : buildPageLinks(found.lists, address, { ...found, page })
  return {
    status,
    content: items,
    ...next && { next: next.href },
    ...page.total !== undefined && { total: page.total }
  }
}
