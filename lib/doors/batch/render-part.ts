import type { EntryOutcome, Outcome, PageOutcome } from '../../engine/operation.ts'
import { isNotModified } from '../http/preconditions.ts'
import { isConditional } from '../../http/preconditions.ts'
import { Problem, problem } from '../../http/problems.ts'
import { getSelection } from '../http/select.ts'
import { limitPageLength } from '../../query/page-length.ts'
import { buildPageLinks } from '../http/page-links.ts'
import { buildItemPath } from '../http/links.ts'
import { buildEtag, getRepresentationDate } from '../http/representation.ts'
import { applySelection, getSelectionVersion } from '../http/selection.ts'
import type { Selection } from '../http/selection.ts'
import type { Entry } from '../../storage/contract.ts'
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

/** Renders what a part has led to. */
export function renderPart (part: PreparedPart, outcome: Outcome): PartResult | Problem {
  switch (outcome.kind) {
    case 'entry': return part.method === 'GET' ? renderRead(part, outcome) : renderWritten(part, outcome)
    case 'page': return renderPage(part, outcome)
    case 'output': return renderOutput(part, outcome)
    case 'many': return { status: 201, ...showAll(part, outcome.entries) }
    case 'removed': return { status: 204 }
    case 'moved': return problem('not-found')
    case 'groups': return { status: 200, content: outcome.output }
    // No part has a key of its own, or writes all items that match a filter.
    case 'replayed':
    case 'matched': throw new TypeError(`A part of a batch cannot be ${outcome.kind}.`)
  }
}

function show ({ access: { view } }: PreparedPart, entry: Entry<object>, selection: Selection | undefined): object {
  return applySelection(view.type, entry, selection)
}

function getTag ({ presentation, format, access: { view: { type } } }: PreparedPart, entry: Entry<object>): string {
  return buildEtag(presentation, type.getVersion(entry), format)
}

function renderRead (part: PreparedPart, outcome: EntryOutcome): PartResult | Problem {
  const { entry } = outcome
  const { presentation, format, headers, access: { view: { type } } } = part
  const selection = getSelection(outcome)
  const version = selection === undefined ? type.getVersion(entry) : getSelectionVersion(type, entry, selection)
  const etag = buildEtag(presentation, version, format)
  if (isConditional(headers)) {
    const isKnown = isNotModified({ headers }, { tag: etag, modified: getRepresentationDate(presentation, entry) })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return { status: 304, etag }
  }
  return { status: 200, etag, content: show(part, entry, selection) }
}

/** A caller who may write but not read gets no content. */
function renderWritten (part: PreparedPart, { entry, created }: Pick<EntryOutcome, 'entry' | 'created'>): PartResult {
  const etag = getTag(part, entry)
  const content = canRead(part) ? { content: show(part, entry, undefined) } : {}
  if (!created) return { status: canRead(part) ? 200 : 204, etag, ...content }
  return { status: 201, etag, location: buildItemPath(getCollectionPath(part), entry.id), ...content }
}

function canRead ({ access }: PreparedPart): boolean {
  return access.canRead
}

function showAll (part: PreparedPart, entries: ReadonlyArray<Entry<object>>): Pick<PartResult, 'content'> {
  return canRead(part) ? { content: entries.map((entry) => show(part, entry, undefined)) } : {}
}

/** The path of the collection: that of the part, without the id of an item. */
function getCollectionPath ({ target: { depth }, own: { address: { path } } }: PreparedPart): string {
  return path.split('/').slice(0, depth + 1).join('/')
}

function renderPage (part: PreparedPart, outcome: PageOutcome): PartResult | Problem {
  const { own: { address } } = part
  const { page: found, query, listQuery, lists } = outcome
  const selection = getSelection(outcome)
  const shown = { page: found, items: found.entries.map((entry) => show(part, entry, selection)) }
  const limited = limitPageLength(shown, { query, listQuery })
  if (limited instanceof Problem) return limited
  const { page, items } = limited
  const { next } = buildPageLinks(lists, address, { page, query, listQuery })
  return {
    status: 200,
    content: items,
    ...next && { next: next.href },
    ...page.total !== undefined && { total: page.total }
  }
}

function renderOutput (part: PreparedPart, { output, entry }: Extract<Outcome, { kind: 'output' }>): PartResult {
  if (output !== undefined) {
    return { status: 200, content: part.target.action.custom!.showOutput(output) }
  }
  return entry === undefined ? { status: 204 } : renderWritten(part, { entry, created: false })
}
