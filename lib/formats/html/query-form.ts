import type { PageContext } from '../format.ts'
import { getKind } from './kind.ts'
import { markup, renderAttributes } from './markup.ts'
import type { Markup } from './markup.ts'

// The form that filters and sorts a list. It works without a script.

/** Builds the URL of the list with changed parameters, from its first page. */
export function buildListUrl (
  { path, search }: PageContext,
  changes: Readonly<Record<string, string | undefined>>
): string {
  const parameters = new URLSearchParams(search)
  for (const [name, value] of Object.entries({ cursor: undefined, offset: undefined, ...changes })) {
    if (value === undefined) parameters.delete(name)
    else parameters.set(name, value)
  }
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`
}

/** Renders the form that filters and sorts a list. */
export function renderQueryForm (context: PageContext): Markup {
  const { capabilities, path, search } = context
  const query = new URLSearchParams(search)
  const filters = capabilities.filters.flatMap((filter) => renderFilter(filter, query))
  const general = [
    capabilities.search && renderField({ name: 'q', label: 'Search', type: 'search', value: query.get('q') }),
    capabilities.sorts.length > 0 && renderSort(capabilities.sorts, query.get('sort')),
    renderField({
      name: 'limit',
      label: 'Items per page',
      type: 'number',
      min: 1,
      max: capabilities.limit.maximum,
      placeholder: String(capabilities.limit.default),
      value: query.get('limit')
    })
  ]
  const clear = search !== '' && markup` <a href="${path}">Clear</a>`
  const shown = new Set(['q', 'sort', 'limit', 'cursor', 'offset', ...filters.map(({ name }) => name)])
  const others = [...query].filter(([name]) => !shown.has(name))
  return markup`<form class="query" method="get" action="${path}" role="search" aria-label="Query">
<div class="row">${general}<p class="send"><button>Apply</button>${clear}</p></div>
${filters.length > 0 && renderFilters(filters, query)}
${others.length > 0 && renderOthers(others, context)}
</form>`
}

function renderFilters (filters: readonly NamedControl[], query: URLSearchParams): Markup {
  const active = filters.filter(({ name }) => query.has(name)).length
  const count = active > 0 && ` (${active})`
  return markup`<details${renderAttributes({ open: active > 0 })}><summary>Filters${count}</summary>
<div class="grid">${filters.map(({ control }) => control)}</div></details>`
}

/** Renders the parameters that have no field. Each can be removed. */
function renderOthers (others: ReadonlyArray<[name: string, value: string]>, context: PageContext): Markup {
  const items = others.map(([name, value]) => {
    const input = markup`<input type="hidden" name="${name}" value="${value}">`
    const href = buildListUrl(context, { [name]: undefined })
    return markup`<li><code>${name}=${value}</code>${input} <a href="${href}" aria-label="Remove ${name}">✕</a></li>`
  })
  return markup`<ul class="others" aria-label="Other parameters">${items}</ul>`
}

interface Field {
  readonly name: string
  readonly label: string
  readonly value: string | null
  readonly type: string
  readonly step?: string
  readonly placeholder?: string
  readonly min?: number
  readonly max?: number
}

function renderField ({ name, label, value, ...rest }: Field): Markup {
  const id = `query-${name}`
  const attributes = renderAttributes({ id, name, value: value ?? '', ...rest })
  return markup`<p><label for="${id}">${label}</label><input${attributes}></p>`
}

interface Option {
  readonly value: string
  readonly text: string
}

interface Select {
  readonly name: string
  readonly label: string
  readonly value: string | null
  readonly options: readonly Option[]
}

function renderSelect ({ name, label, value: current, options }: Select): Markup {
  const id = `query-${name}`
  const rendered = options.map(({ value, text }) => {
    return markup`<option${renderAttributes({ value, selected: value === current })}>${text}</option>`
  })
  return markup`<p><label for="${id}">${label}</label><select id="${id}" name="${name}">${rendered}</select></p>`
}

function renderSort (sorts: readonly string[], current: string | null): Markup {
  const options = [{ value: '', text: 'default order' }]
  for (const property of sorts) {
    options.push({ value: property, text: property })
    options.push({ value: `-${property}`, text: `${property}, descending` })
  }
  const isKnown = current === null || options.some(({ value }) => value === current)
  if (!isKnown) options.push({ value: current, text: current })
  return renderSelect({ name: 'sort', label: 'Sort by', value: current, options })
}

interface NamedControl {
  readonly name: string
  readonly control: Markup
}

/** Formats of strings that are filtered by range. */
const rangeFormats = new Set(['date-time', 'date', 'time'])
/** Formats of strings that are filtered by equality. */
const exactFormats = new Set(['uuid'])

type Filter = PageContext['capabilities']['filters'][number]

function renderFilter ({ property, isArray, schema }: Filter, query: URLSearchParams): NamedControl[] {
  const { type, choices, schema: { format = '' } } = getKind(schema)
  const createControl = (
    name: string,
    label: string,
    input: Pick<Field, 'type' | 'placeholder' | 'step'>
  ): NamedControl => {
    return { name, control: renderField({ name, label, value: query.get(name), ...input }) }
  }
  const exact = isArray ? `${property}.contains` : property
  if (type === 'choice') {
    const options = choices.map((choice) => ({ value: String(choice), text: String(choice) }))
    const select = {
      name: exact,
      label: property,
      value: query.get(exact),
      options: [{ value: '', text: 'any' }, ...options]
    }
    return [{ name: exact, control: renderSelect(select) }]
  }
  if (isArray) return [createControl(exact, property, getInput(type, format))]
  if (type === 'string' && exactFormats.has(format)) return [createControl(property, property, { type: 'text' })]
  if (type === 'string' && !rangeFormats.has(format)) {
    return [createControl(`${property}.like`, property, { type: 'text', placeholder: 'text, * for any' })]
  }
  const input = getInput(type, format)
  return [
    createControl(`${property}.gte`, `${property}, from`, input),
    createControl(`${property}.lte`, `${property}, to`, input)
  ]
}

function getInput (type: string, format: string): Pick<Field, 'type' | 'placeholder' | 'step'> {
  if (type !== 'string') return { type: 'number', step: 'any' }
  const example = examples[format]
  return { type: 'text', ...example !== undefined && { placeholder: example } }
}

/** Example values, by format. */
export const examples: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z'
}
