// The browsable collection: what a browser shows of an item or a list, and the forms for what its user may do.

import type { About, Content, Format, Links } from './format.ts'
import { curl } from './html/curl.ts'
import { markup } from './html/escape.ts'
import type { Markup } from './html/escape.ts'
import { itemForms, listForms } from './html/form.ts'
import { fields, page } from './html/page.ts'
import { problemPage } from './html/problem.ts'
import { asking, question } from './html/question.ts'
import { headline, record, relatives } from './html/record.ts'
import { table } from './html/table.ts'
import type { JsonSchema } from '../storage/contract.ts'

/**
 * `text/html`: pages and forms for people with a browser.
 *
 * @example
 * define({ name: 'users', schema: User, storage: memory(), formats: [json, html] })
 */
export const html: Format = {
  name: 'html',
  mediaType: 'text/html; charset=utf-8',
  item: (item, links, schema) => shown({ item, links }, bare(schema)),
  list: (items, links, schema) => shown({ items, links }, bare(schema)),
  describe: () => ({ type: 'string' }),
  page: shown,
  problem: problemPage,
  fields
}

function shown (content: Content, about: About): string {
  const { offer: { name, description }, trail } = about
  const [title, body] = 'item' in content ? itemPage(content, about) : listPage(content, about)
  return page({ title: title === name ? name : `${title} – ${name}`, trail, content: body, description })
}

type Titled = [title: string, body: Markup]

function itemPage ({ item, links }: Extract<Content, { item: object }>, about: About): Titled {
  const title = headline(item, links)
  const partial = about.search !== '' && links.self !== undefined && markup`<p class="hint">Seen in a way of its own. <a href="${links.self.href}">See the item as it is</a></p>`
  return [title, markup`<h1><bdi>${title}</bdi></h1>
${curl(about)}
${partial}
${record(item, about)}
${relatives(links)}
${itemForms(item, links, about)}`]
}

function listPage ({ items, links }: Extract<Content, { items: unknown }>, about: About): Titled {
  const { offer: { name, schemas: { read: { description } } }, search } = about
  return [name, markup`<h1>${name}</h1>
${typeof description === 'string' && markup`<p>${description}</p>`}
${curl(about)}
${question(about)}
${items.length === 0 ? markup`<p class="empty">${search === '' ? 'There are no items.' : 'No item fits.'}</p>` : table(items, links.items, about)}
<div class="below"><p class="count">${items.length > 0 && count(items.length, about)}</p>${pages(links.list)}</div>
${listForms(about)}`]
}

/** To count them all may take the storage long, so that it is asked for. */
function count (length: number, about: About): Markup {
  if (about.total !== undefined) return markup`${length} of ${about.total}`
  const offered = about.offer.counts && markup` · <a href="${asking(about, { count: 'true' })}">Count all</a>`
  return markup`${length} ${length === 1 ? 'item' : 'items'}${offered}`
}

const labels: Readonly<Record<string, string>> = { first: 'First', prev: 'Previous', next: 'Next' }

function pages (links: Links): Markup | undefined {
  const present = Object.entries(labels).filter(([relation]) => links[relation] !== undefined && links[relation].href !== links.self?.href)
  return present.length === 0 ? undefined : markup`<nav class="pages" aria-label="Pages"><ul>${present.map(([relation, label]) => markup`<li><a href="${links[relation]!.href}" rel="${relation}">${label}</a></li>`)}</ul></nav>`
}

/** Where nothing is known but the schema. */
function bare (read: JsonSchema): About {
  const schemas = { create: {}, replace: {}, patch: {}, read }
  const offer = { name: 'items', id: 'id', schemas, mediaTypes: [], takesJson: false, filters: [], sorts: [], search: false, counts: false, limit: { default: 20, maximum: 100 }, description: undefined }
  return { offer, path: '', search: '', origin: '', trail: [], actions: new Set(), fixed: [], related: new Map(), tag: undefined, total: undefined }
}
