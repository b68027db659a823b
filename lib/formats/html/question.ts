import type { About } from '../format.ts'
import { attributes, markup } from './escape.ts'
import type { Markup } from './escape.ts'
import { kindOf } from './kind.ts'

// What a list is asked, in a form that needs no script.

/** The list, asked otherwise in these parameters; it begins at its first page. */
export function asking ({ path, search }: About, changes: Readonly<Record<string, string | undefined>>): string {
  const parameters = new URLSearchParams(search)
  for (const [name, value] of Object.entries({ cursor: undefined, ...changes })) {
    if (value === undefined) parameters.delete(name)
    else parameters.set(name, value)
  }
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`
}

export function question (about: About): Markup {
  const { offer, path, search } = about
  const asked = new URLSearchParams(search)
  const filters = offer.filters.flatMap(filter => controls(filter, asked))
  const general = [
    offer.search && field({ name: 'q', label: 'Search', type: 'search', value: asked.get('q') }),
    offer.sorts.length > 0 && sorting(offer.sorts, asked.get('sort')),
    field({ name: 'limit', label: 'Items on a page', type: 'number', min: 1, max: offer.limit.maximum, placeholder: String(offer.limit.default), value: asked.get('limit') })
  ]
  const own = new Set(['q', 'sort', 'limit', 'cursor', ...filters.map(({ name }) => name)])
  const others = [...asked].filter(([name]) => !own.has(name))
  const active = filters.filter(({ name }) => asked.has(name)).length
  return markup`<form class="question" method="get" action="${path}" role="search" aria-label="Ask the list">
<div class="row">${general}<p class="send"><button>Apply</button>${search !== '' && markup` <a href="${path}">Clear</a>`}</p></div>
${filters.length > 0 && markup`<details${attributes({ open: active > 0 })}><summary>Filters${active > 0 && ` (${active})`}</summary>
<div class="grid">${filters.map(({ control }) => control)}</div></details>`}
${others.length > 0 && markup`<ul class="others" aria-label="Also asked">${others.map(([name, value]) => markup`<li><code>${name}=${value}</code><input type="hidden" name="${name}" value="${value}"> <a href="${asking(about, { [name]: undefined })}" aria-label="Leave out ${name}">✕</a></li>`)}</ul>`}
</form>`
}

interface Field {
  readonly name: string
  readonly label: string
  readonly value: string | null
  readonly type: string
  readonly placeholder?: string
  readonly min?: number
  readonly max?: number
}

function field ({ name, label, value, ...rest }: Field): Markup {
  return markup`<p><label for="ask-${name}">${label}</label><input${attributes({ id: `ask-${name}`, name, value: value ?? '', ...rest })}></p>`
}

function choice (name: string, label: string, options: ReadonlyArray<readonly [value: string, text: string, chosen: boolean]>): Markup {
  return markup`<p><label for="ask-${name}">${label}</label><select id="ask-${name}" name="${name}">${options.map(([value, text, chosen]) => markup`<option${attributes({ value, selected: chosen })}>${text}</option>`)}</select></p>`
}

function sorting (sorts: readonly string[], asked: string | null): Markup {
  const known = sorts.flatMap(property => [[property, property], [`-${property}`, `${property}, descending`]] as const)
  const other = asked === null || known.some(([value]) => value === asked) ? [] : [[asked, asked] as const]
  return choice('sort', 'Sort by', [['', 'the usual order'], ...known, ...other].map(([value, text]) => [value!, text!, value === asked]))
}

interface Control {
  readonly name: string
  readonly control: Markup
}

/** Formats of texts that are compared, not searched. */
const compared = new Set(['date-time', 'date', 'time'])
const exact = new Set(['uuid'])

function controls ({ property, schema }: About['offer']['filters'][number], asked: URLSearchParams): Control[] {
  const { type, choices, schema: { format = '' } } = kindOf(schema)
  const one = (is: string, label: string, rest: Omit<Field, 'name' | 'label' | 'value'>): Control => {
    const name = is === '' ? property : `${property}.${is}`
    return { name, control: field({ name, label, value: asked.get(name), ...rest }) }
  }
  if (type === 'choice') return [{ name: property, control: choice(property, property, [['', 'any', false], ...choices.map(value => [String(value), String(value), asked.get(property) === String(value)] as const)]) }]
  const range = type !== 'string' || compared.has(format)
  if (!range) return [exact.has(format) ? one('', property, { type: 'text' }) : one('like', property, { type: 'text', placeholder: 'text, * for any' })]
  const input = type === 'string' ? { type: 'text', placeholder: examples[format]! } : { type: 'number', step: 'any' }
  return [one('gte', `${property}, from`, input), one('lte', `${property}, to`, input)]
}

/** What a value of a format looks like. */
export const examples: Readonly<Record<string, string>> = { 'date-time': '2026-01-31T12:00:00Z', date: '2026-01-31', time: '12:00:00Z' }
