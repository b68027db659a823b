// The browsable API: pages of items and lists, with forms for what the caller can do.

import type { PageContext, Content, Format } from './format.ts'
import type { Links } from '../http/link.ts'
import { renderCurl } from './html/curl.ts'
import { canAdd, renderItemForms, renderListForms } from './html/form.ts'
import { renderGroups } from './html/groups.ts'
import { renderHome } from './html/home.ts'
import { getHeadline } from './html/headline.ts'
import { renderItem, renderRelatedLinks } from './html/item.ts'
import { markup } from './html/markup.ts'
import type { Markup } from './html/markup.ts'
import { pageHeaders, renderAside, renderPage } from './html/page.ts'
import { renderProblem } from './html/problem.ts'
import { embedding } from './html/related.ts'
import { buildListUrl, renderQueryForm } from './html/query-form.ts'
import { renderTable } from './html/table.ts'
import type { JsonSchema } from '../storage/contract.ts'

/** No text of V8 is longer. Linters require a limit. */
const maxStringLength = 536_870_888

/**
 * `text/html`: pages and forms for people with a browser.
 *
 * @example
 * define({ name: 'users', schema: User, storage: memory(), formats: [json, html] })
 */
export const html: Format = {
  name: 'html',
  mediaType: 'text/html; charset=utf-8',
  keepsItems: true,
  item: (item, links, schema) => renderContent({ item, links }, createContext(schema)),
  list: (items, links, schema) => renderContent({ items, links }, createContext(schema)),
  describe: () => ({ type: 'string', maxLength: maxStringLength }),
  embed: embedding,
  page: renderContent,
  problem: renderProblem,
  home: renderHome,
  headers: pageHeaders
}

function renderContent (content: Content, context: PageContext): string {
  const { capabilities: { name }, trail } = context
  const { title, body } = 'item' in content ? renderItemPage(content, context) : renderListPage(content, context)
  const fullTitle = title === name ? name : `${title} – ${name}`
  return renderPage({ title: fullTitle, trail, content: body, aside: renderAside(context) })
}

interface TitledBody {
  readonly title: string
  readonly body: Markup
}

function renderItemPage (content: Extract<Content, { item: object }>, context: PageContext): TitledBody {
  const { item, links, isAggregate } = content
  const title = getHeadline(item, links, context.trail)
  if (isAggregate === true) {
    const body = markup`<h1><bdi>${title}</bdi></h1>
${renderCurl(context)}
${renderGroups(item, context)}`
    return { title, body }
  }
  const isPartial = context.search !== '' && links.self !== undefined
  const hint = isPartial &&
    markup`<p class="hint">This is a custom view. <a href="${links.self!.href}">Show the full item</a></p>`
  const body = markup`<h1><bdi>${title}</bdi></h1>
${renderCurl(context)}
${hint}
${renderItem(item, context)}
${renderRelatedLinks(item, links, context)}
${renderItemForms(item, links, context)}`
  return { title, body }
}

function renderListPage ({ items, links }: Extract<Content, { items: unknown }>, context: PageContext): TitledBody {
  const { capabilities: { name, schemas: { read: { description } } }, search } = context
  const table = items.length === 0 ? renderEmptyList(context) : renderTable(items, links.items, context)
  const count = items.length > 0 && renderCount(items.length, links.list, context)
  const forms = renderListForms(context, items.length === 0)
  // There is nothing to search in an empty collection.
  const query = (items.length > 0 || search !== '') && renderQueryForm(context)
  const body = markup`<h1>${name}</h1>
${typeof description === 'string' && markup`<p>${description}</p>`}
${renderCurl(context)}
${items.length > 0 && forms}
${query}
${table}
<div class="below"><p class="count">${count}</p>${renderPageLinks(links.list)}</div>
${items.length === 0 && forms}`
  return { title: name, body }
}

/** Renders what a list without items shows: why it is empty, and what to do next. */
function renderEmptyList (context: PageContext): Markup {
  return markup`<p class="empty">${explainEmptyList(context)}</p>`
}

function explainEmptyList (context: PageContext): Markup {
  const { capabilities, path, search, caller } = context
  const query = new URLSearchParams(search)
  if (query.has('cursor') || query.has('offset')) {
    return markup`There are no items on this page. <a href="${buildListUrl(context, {})}">Go to the first page</a>`
  }
  if (search !== '') return markup`No items match. <a href="${path}">Show all items</a>`
  if (capabilities.authenticates && caller === undefined) {
    return markup`There are no items, or none that you can see. You are not signed in.`
  }
  if (!canAdd(context)) return markup`There are no items.`
  return markup`There are no items. <span data-live hidden>Add the first one below.</span>`
}

/** Counting all items may be slow, so it is only done on demand. */
function renderCount (length: number, { next, prev }: Links, context: PageContext): Markup {
  if (context.total !== undefined) return markup`${length} of ${context.total}`
  const countLink = context.capabilities.counts &&
    markup` · <a href="${buildListUrl(context, { count: 'true' })}">Count all</a>`
  const place = (next !== undefined || prev !== undefined) && ' on this page'
  return markup`${length} ${length === 1 ? 'item' : 'items'}${place}${countLink}`
}

const pageLabels: Readonly<Record<string, string>> = { first: 'First', prev: 'Previous', next: 'Next' }

function renderPageLinks (links: Links): Markup | undefined {
  const items = Object.entries(pageLabels).flatMap(([relation, label]) => {
    const link = links[relation]
    if (link === undefined || link.href === links.self?.href) return []
    return [markup`<li><a href="${link.href}" rel="${relation}">${label}</a></li>`]
  })
  return items.length === 0 ? undefined : markup`<nav class="pages" aria-label="Pages"><ul>${items}</ul></nav>`
}

/** Creates the context of a page for which only the schema is known. */
function createContext (read: JsonSchema): PageContext {
  return {
    capabilities: {
      name: 'items',
      id: 'id',
      schemas: { create: {}, replace: {}, read },
      actions: [],
      mediaTypes: [],
      takesJson: false,
      filters: [],
      sorts: [],
      search: false,
      counts: false,
      limit: { default: 20, maximum: 100 },
      authenticates: false,
      description: undefined
    },
    path: '',
    search: '',
    origin: '',
    trail: [],
    actions: new Set(),
    fixed: [],
    related: new Map(),
    tag: undefined,
    total: undefined,
    caller: undefined
  }
}
